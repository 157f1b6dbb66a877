// Package subscription is the subscription service: plans, the subscriptions of customers, their
// periods and their payments.
//
//	                 trial over
//	create ──▶ trialing ──▶ active ◀──────────────── paid or waived ───┐
//	   └─────────────────────▶ │ ───── failed, or overdue ──────▶ past_due
//	                           │                                      │
//	            first day      ▼      resumes                         │ last step of dunning
//	 trialing, active ─────▶ paused ──────────▶ the state before      ▼
//	 trialing, active ── cancel at the period's end ──▶ ending ──▶ ended
//	                                    keep ◀────────────┘           ▲
//	 any state ── cancelled at once, or the customer is deleted ──────┘
//
// The diagram leaves out combinations. A subscription shows the first of these states that applies: ended,
// paused, past_due, ending, trialing, active. So one that was cancelled and is past due shows past_due, and
// ends on its last day.
//
// A job moves subscriptions whose next step is due (advance.go): it begins periods, starts and ends
// pauses, reminds of payments and ends subscriptions. Each step is decided by the rules from the
// subscription, its settings and the time, so that an outage delays steps and loses none.
//
// The credits of a subscription are in the ledger of a customer pass, which the pass service owns. After
// each change, the service sends the whole state of the pass, with the grants of the periods that the
// pass service has not confirmed (pass_sync.go). A plan and its pass type have the same UUID, and so
// have a subscription and its customer pass.
//
// Payments are made outside the platform. The service says what is due, and callers record what was
// paid.
//
// # Invariants
//
//  1. Periods are numbered from 1 without gaps. Each begins on the day after the one before ended, except
//     after past_due, when a gap is allowed (invariant 6). No two periods of a subscription overlap.
//  2. The boundaries of periods are counted on the calendar from an anchor day: the n-th boundary is n
//     intervals after it, and a day that the month does not have becomes the month's last day. A period
//     begins at the start of its first day in the company's zone, also if the clocks change.
//  3. A renewal makes one period, in one commit with its price, its events and the need to grant its
//     credits. Repeating the job, or running several replicas of it, changes nothing.
//  4. After an outage, the job begins every period that it missed, in order. The payment of a period that
//     begins late becomes due when the job runs, and its dunning counts from then. A step of dunning whose
//     time passed during the outage takes effect when the job runs again.
//  5. The credits of each period are granted once, in the order of the periods, even if either service is
//     killed or restored to an earlier moment. A period stores what the pass service has granted for its
//     number. If that was for a lost period with another first day, VerifySubscriptions reports it. After a
//     restore of the pass database, RestoreCustomerPasses or the next renewal sends what it lost.
//  6. A subscription that is past due begins no period. When everything due is paid or waived, the period
//     that contains that day begins; periods in between never existed: they cost nothing and grant
//     nothing.
//  7. A subscription that is past due pays for bookings until the end of its grace period, and then not
//     until it is active again.
//  8. A pause begins and ends at the start of a day. While a subscription is paused, it begins no period and
//     cannot pay for bookings, and dunning waits. At its end, the last day of the current period, and a
//     scheduled end, have moved by the days of the pause, and boundaries are counted from the new end.
//  9. A change of plan now ends the current period on the day before and begins one of the new plan. The
//     unused part of what was paid for it, account credit included, becomes account credit, rounded down to
//     a minor unit: the share of the days left, today included, or of its credits left, if that is smaller.
//  10. Account credit is the sum of its entries, which are only added, and is never negative. A renewal
//     uses as much of it as its price needs. When the subscription ends, the rest is due as a refund.
//  11. For each period, the price is the credit applied and one amount, which is due, paid, waived or
//     cancelled. The amount due of a subscription is the sum of its periods.
//  12. A subscription keeps its terms. A change of a plan affects new subscriptions and changes of plan.
//  13. A subscription does not end by its customer's wish before its minimum term is over, unless the
//     caller waives the term.
//  14. Ended is final. After it, only late payments, refunds, the answers of the pass service and an erasure
//     are stored. The credits left expire.
//  15. Each change raises the version, and publishes its event in the same commit. A state and the dates of
//     its next steps agree. The answers of the pass service raise no version, except after a restore of this
//     database.
//  16. After ConfirmCustomerDeletion has returned, no replica commits a subscription for the customer, and
//     the customer's subscriptions have ended. Their amounts due are cancelled.
//  17. The subscriptions, periods and payments of an erased customer stay, without any free text and
//     without the reference of an import. Free text that arrives after the erasure is not stored.
//  18. A company sees only its own data. An identifier of another company gets the same response as one
//     that does not exist.
//  19. For a company in test mode, its test clock decides every date and time, except retries. A test clock
//     does not delay the jobs of other companies.
//  20. A caller that only has catalog:read sees active plans.
//  21. An import can be repeated. A line whose reference is already stored changes nothing, and an import
//     publishes one subscription_imported for each new subscription.
//  22. Every payment and every refund is a movement in exactly one event. A snapshot has all of them, and nothing
//     of other companies.
package subscription
