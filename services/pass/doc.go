// Package pass is the pass service: pass types, the passes that customers hold, and the ledger of
// their credits.
//
//	              paused
//	             ▲      │                  an active pass is shown as
//	       pause │      ▼ resume           pending    before its start date
//	assign ──▶ active ──┴──▶ cancelled     expired    after its last day
//	                                       exhausted  when it has no uses left
//
// Active, paused and cancelled are stored. The other statuses follow from the dates, in the
// company's zone, and from the uses, at the time of reading.
//
// # Invariants
//
//  1. The remaining uses of a pass are never below zero and are the sum of its ledger. Ledger
//     entries are only added. Erasing a customer removes the reason of an entry and nothing else. Only
//     a reset of test data deletes entries.
//  2. A change of a pass, the ledger entries that explain it and its events are one commit.
//  3. A pass expires on its start date plus the validity, counted on the calendar; a day that the
//     month does not have becomes the month's last day. The pass is valid through the end of its
//     expiry date in the company's zone. A pass that never expires has the expiry date 9999-12-31,
//     which a pause does not move.
//  4. A pass is assigned only to a customer who exists, and only if its type is on offer. A pass can be imported
//     if its type is archived.
//  5. A pass pays for an event date if it is valid on that date's local day and is not paused,
//     cancelled or exhausted at the time of booking. It can start after the time of booking. A subscription
//     can name times between which its pass counts as paused.
//  6. A company sees only its own data. An identifier of another company gets the same response as
//     one that does not exist.
//  7. The passes, credits and payments of an erased customer stay, without any free text. Free text
//     that arrives after the erasure is not stored.
//  8. After ConfirmCustomerDeletion has returned, no replica commits a pass for the customer or takes
//     credits in the customer's name. After a request that archives a pass type has returned, no
//     replica assigns a pass of it. Each such commit locks the row that it relies on, and the
//     confirmation and the archiving wait for it.
//  9. A redemption takes its credits once and from one pass. A booking's credits are returned once,
//     all that it holds, and never more than were taken. A redemption that was cancelled before it
//     arrived never takes any.
//  10. Redemptions of one commit are decided in the order of the request, each as if it came alone
//     after the others. A refused one changes nothing. A pass that several of them use has one
//     event and one new version.
//  11. A pass with unlimited uses always has 999999. Its redemptions and returns add entries without
//     credits, and invariant 9 holds for the credits of its bookings. A booking takes 0 credits from the
//     pass of a subscription with unlimited uses.
//  12. A caller with catalog:read instead of passes:read sees only the pass types on offer.
//  13. For a company in test mode, the current day and the times of creations and changes are those of
//     its test clock. Domain events have the real time.
//  14. Each period of a subscription is granted once, in order and without gaps. A grant is one commit with
//     the ledger entries that explain it: unused credits above the rollover expire, and new ones are added.
//     Grants never change. Only the creation of the pass is announced as an assignment.
//  15. An older or equal version of a subscription or of a plan changes no state. The response has the version,
//     the last period and the grants of the ledger, so that the caller notices if either database was restored.
//  16. Only the plan changes its pass type, and only the subscription changes the type, the dates, the status
//     and the payment of its pass. The credits can also be adjusted. Pass types of plans are neither sold on
//     their own nor in the catalog.
//  17. A subscription's pass that is cancelled has no credits, unless its uses are unlimited: those left
//     expire, and so do those returned or granted later. After a customer is deleted, a subscription can only
//     cancel its pass.
//  18. A change of what a booking costs is decided once, and takes or returns only the difference. A change
//     that was cancelled before it arrived, or that arrives after the booking was returned, changes nothing.
//     A cancelled change leaves the booking with the credits that it held before. Fewer credits are returned
//     regardless of the status of the pass.
//  19. Every entry of a ledger is in exactly one event.
//  20. A snapshot shows the types, passes and ledgers of the company, and nothing of others.
//  21. An import creates a pass once for each reference. Its ledger has the uses with which the pass was assigned,
//     and the difference to those left as an adjustment. A dry run decides each pass as the import does, and changes
//     nothing.
package pass
