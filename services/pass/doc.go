// Package pass is the pass service: pass types, the passes that customers hold,
// and the ledger of their credits.
//
//	              paused
//	             ▲      │            what a reader is told of an active pass
//	       pause │      ▼ resume     depends on the moment:
//	assign ──▶ active ──┴──▶ cancelled   before its start: pending
//	                                     after its last day: expired
//	                                     without uses: exhausted
//
// Active, paused and cancelled are stored; the others follow from the dates, in
// the company's zone, and from the uses.
//
// # Invariants
//
//  1. The remaining uses of a pass are never below zero, and are the sum of its
//     ledger. The ledger is only ever added to; what is forgotten of an entry is
//     its reason.
//  2. A change of a pass, the ledger entries that explain it and its events are
//     one commit.
//  3. A pass expires on its start date plus the validity, counted on the
//     calendar with month ends clamped, and is valid through the end of that day
//     in the company's zone.
//  4. A pass is given only to a customer who exists, of a type that is on offer.
//  5. A pass pays for an event date if it is valid on that date's local day and is
//     not paused, cancelled or exhausted at the moment of booking; it may start
//     later than that moment.
//  6. A company sees its own data only: an identifier of another company is
//     answered like one that does not exist.
//  7. Of an erased customer the passes, credits and payments stay, and no words:
//     none that were there, and none that come later.
//  8. After ConfirmCustomerDeletion has answered, no replica commits a pass for the
//     customer or takes credits in the customer's name; after an archived pass type
//     was answered, no replica commits a pass of it. A commit that does so locks
//     the row it relies on, and the confirmation and the archiving wait for it.
//  9. A redemption takes its credits from one pass and once. A booking's credits go
//     back once and never more than were taken. What was cancelled before it came
//     never takes any.
package pass
