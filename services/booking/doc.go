// Package booking is the booking service: events, the dates on which they take
// place, and the transactions in which customers book spaces on them.
//
// A purchase is one decision. The dates it names are locked, the rules are asked
// in memory, and the spaces, the transaction, its bookings and their events are
// one commit. Purchases of one date that arrive while another is being committed
// share the next commit, up to 64 of them (package commitqueue).
//
//	                 ┌───────── cancel ─────────▶ is_cancelled, spaces freed ─┐
//	create ──▶ confirmed                                                     ├─ either, both or
//	                 └───────── refund ─────────▶ is_refunded ────────────────┘  none; never back
//
// What has places before it is confirmed is in no list. A purchase by pass is
// pending while its credits are taken (pass_payment.go); what is not confirmed in
// time gives its places back (release.go).
//
//	pay by pass ──▶ pending ── credits taken ──▶ confirmed
//	                   ├────── refused ────────▶ released
//	                   └────── time is up ─────▶ undoing ──▶ released
//	hold ──▶ held ── paid ──▶ confirmed, or pending
//	           └──── time is up, or by hand ──▶ released
//
// Who finds a date full can wait for it; what becomes free is offered to, or booked
// for, those who wait (waitlist_promotion.go).
//
// Names come from a copy of the customers which customer.* events keep; a
// customer met for the first time is fetched from the customer service. So
// reads, and purchases by known customers, need no other service.
//
// Types and decisions are in package model, SQL is in package store, and package convert
// reads and writes the messages. This package has the RPCs, the events and the jobs.
//
// # Invariants
//
//  1. A date never holds more spaces than its capacity, whatever the
//     concurrency, and its count is the sum of the spaces of its bookings that
//     are not cancelled.
//  2. A purchase is stored whole or not at all: its spaces, its bookings and one
//     booking_confirmed for each are one commit.
//  3. Cancelling frees the spaces once and refunding frees none, however often
//     and from how many callers at once; neither flag is ever taken back.
//  4. Every change of a transaction raises its version and publishes an event
//     that carries it.
//  5. A company sees and changes its own data only: an identifier of another
//     company is answered like one that does not exist.
//  6. A transaction is shown to the customer who bought it and to no other, and
//     only once it is confirmed.
//  7. A page of a list costs the same however many transactions there are: it is
//     a walk along one index, and the total a count within it.
//  8. The copy of a customer or company never goes back to an older version,
//     whatever the order and number of deliveries.
//  9. An import can be repeated: a reference that is stored stays as it is, a
//     refused line stores nothing, and the lines beside it are stored.
//  10. What is imported publishes no events.
//  11. A price, a payment and a purchase are stored as they were at the purchase;
//     a card payment has amounts and a currency, a pass payment credits.
//  12. A recurrence is expanded in wall time: a clock change moves no occurrence
//     but one whose time is skipped, which comes later by the gap. It ends, gives
//     at most 1000 dates, and takes bounded work whatever it says. An end in wall
//     time is counted in the event's zone, so a date during which the clocks
//     change is longer or shorter.
//  13. What is cancelled is closed first: from that commit on nobody books it, and
//     every booking of it is cancelled, by the caller or by whoever finds it
//     unfinished. Nothing that is a draft, cancelled or deleted holds a booking
//     that was made after it became so.
//  14. A page of events or registrations that is followed by its cursor holds each
//     row once that was there all the time, whatever is added and removed
//     meanwhile, and costs the same in a table of any size.
//  15. A purchase by pass ends confirmed, with its credits taken once, or undone,
//     with none taken and its places free, whatever fails or dies in between; its
//     payments and the pass service's redemptions reconcile.
//  16. A hold has its places until it is confirmed, released or expires; then they
//     are free, once. It becomes a purchase once, and never after its time.
//  17. A discount code is never used more often than it may, whatever the
//     concurrency; a use by a purchase that does not come about is given back.
//  18. Places that become free go first to those who wait for the date, in the
//     order of their joining, in the commit that frees them. Who is passed over
//     does not fit, or was refused, is told why, and keeps the place in the order.
//  19. Who waits is served once: an entry ends with one booking, or with none; an
//     open offer has its places, and no other entry has any.
//  20. A pricing option that has ended is in no event and sells no more, but to who
//     waits at its price; what was booked keeps it. An event has always one.
//  21. Of an erased customer the bookings, payments and counts stay, without name,
//     address and references, and no older news brings them back.
//  22. After ConfirmCustomerDeletion has answered, no replica commits a purchase, a
//     hold, a confirmation of either, a waitlist entry or an imported line that
//     names the customer. Each of these locks the rows of its customers in the
//     copy for key share in the commit that it decides in; the confirmation first
//     commits the deletion, then waits until nobody holds such a lock.
package booking
