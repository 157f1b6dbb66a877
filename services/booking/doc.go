// Package booking is the booking service: events, the dates on which they take place, and the
// transactions in which customers book spaces on them.
//
// A purchase locks the dates it names, applies the rules in memory, and stores the spaces, the
// transaction, its bookings, their events and the response of its Idempotency-Key in one commit.
// Purchases of a company that arrive while another one is being committed share the next commit, up
// to 64 of them (package commitqueue).
//
//	             ┌──────── cancel ────────▶ is_cancelled, spaces freed ─┐
//	create ──▶ confirmed                                                ├─ one, both or neither;
//	             └──────── refund ────────▶ is_refunded ────────────────┘  never undone
//
// Lists do not show a purchase that has spaces but is not confirmed. A purchase by pass is pending
// while its credits are taken (pass_payment.go). The spaces of a purchase that is not confirmed in
// time are freed (release.go).
//
//	pay by pass ──▶ pending ── credits taken ──▶ confirmed
//	                   ├────── refused ────────▶ released
//	                   └────── timed out ──────▶ undoing ──▶ released
//	hold ──▶ held ── paid ──▶ confirmed, or pending
//	           └──── expired, or released by the caller ──▶ released
//
// A hold that ended without a purchase is copied to ended_holds, where it can be read for 30 days
// (release.go). Its transaction is removed after a day, so that lists and counts of bookings stay fast.
//
// A customer can join the waitlist of a full date. Spaces that become free are offered to, or
// booked for, the waiting customers (waitlist_promotion.go). Entries that still wait when the date
// starts or is cancelled are closed (waitlist_end.go).
//
// Customers' names come from a copy that customer.* events keep up to date. A customer who is not
// in the copy yet is fetched from the customer service. Reads, and purchases by customers in the
// copy, therefore need no other service.
//
// An appointment is a booking of one space on a date that has a staff member and rooms. Its date is made
// in the commit of the purchase, and is cancelled in the commit that frees its space, unless a waiting
// customer takes it. Assignments say whose time a date takes: of one staff member and a unit of each room
// for an appointment, of its teachers and rooms for a class. Package slots computes what is free.
//
//	BookAppointment ──▶ lock staff and rooms ──▶ free? ──▶ date + assignments + purchase ──▶ as above
//	cancelled, expired or undone ──▶ space free ──▶ a waiting customer takes it
//	                                     └────────▶ nobody: date cancelled, staff and rooms free
//
// Package model has the types and decisions, package store the SQL, and package convert the
// conversion of messages. This package has the RPCs, the events and the jobs.
//
// # Invariants
//
//  1. A date never holds more spaces than its capacity, under any concurrency. Its count is the
//     sum of the spaces of its bookings that are not cancelled.
//  2. A purchase is stored completely or not at all: its spaces, its bookings and one
//     booking_confirmed for each booking are one commit.
//  3. A cancellation frees the spaces once, and a refund frees none, however often and however
//     concurrently they are called. Neither flag is ever cleared.
//  4. Every change of a transaction increases its version and publishes an event with that version.
//  5. A company sees and changes only its own data. An identifier of another company gets the same
//     response as one that does not exist.
//  6. A transaction is shown only to the customer who bought it, and only once it is confirmed.
//  7. A page of a list costs the same however many transactions there are: it reads along one
//     index, and the total is a count within that index.
//  8. The copy of a customer or company never returns to an older version, regardless of the order
//     and number of deliveries.
//  9. An import can be repeated. A line whose reference is already stored changes nothing, a refused
//     line stores nothing, and the other lines of the batch are stored.
//  10. An import publishes its events, dates and bookings as events of imports, in its commit, and no others.
//  11. A price, a payment and a purchase are stored with their values at the time of the purchase.
//     A card payment has amounts and a currency; a pass payment has credits.
//  12. A recurrence is expanded in wall time. A clock change does not move occurrences, except that
//     a skipped time moves later by the gap. A recurrence ends, has at most 1000 dates, and takes
//     bounded work for every rule. An end in wall time is counted in the event's zone, so a date
//     during which the clocks change is longer or shorter.
//  13. A date or event that is cancelled is closed first. From that commit on, nobody can book it.
//     Every booking of it is then cancelled, by the caller or by the job that finds it unfinished.
//     A draft, cancelled or deleted event or date has no booking that was made after that change.
//  14. Following the cursor of a list of events or registrations returns each row once, if the row
//     exists the whole time, even if others are added or removed in between. A page costs the same
//     in a table of any size.
//  15. A purchase by pass ends either confirmed, with its credits taken once, or undone, with no
//     credits taken and its spaces free, even if something fails or crashes in between. Its payments
//     reconcile with the redemptions of the pass service.
//  16. A hold has its spaces until it is confirmed, released or expires; then they are freed, once.
//     It becomes a purchase at most once, and never after its expiry. The commit that ends it without
//     a purchase keeps it readable for 30 days. If no caller released it, this commit publishes one
//     hold_expired, or, for the offer of a waitlist entry, the waitlist_ended of the entry.
//  17. A discount code is never used more often than its limit, under any concurrency. A purchase
//     that fails or is undone does not count as a use.
//  18. Spaces that become free go first to the customers who wait for the date, in the order in
//     which they joined, in the commit that frees the spaces. An entry that does not fit or is
//     refused is passed over: the reason is recorded, and the entry keeps its position.
//  19. A waitlist entry is served once: it ends with one booking or with none. An open offer has its
//     spaces, and no other entry has any. Each change of an entry raises its version, and the commit
//     that ends it, in whichever way, publishes one waitlist_ended.
//  20. An ended pricing option is not part of its event and cannot be bought, except by customers who
//     already wait at its price. Existing bookings keep it. An event that has pricing options keeps
//     at least one.
//  21. The bookings, payments and counts of an erased customer stay, without name, address and
//     references. Events that were published before the erasure do not restore them.
//  22. After ConfirmCustomerDeletion has returned, no replica commits a purchase, a hold, a
//     confirmation of either, a waitlist entry or an imported line that names the customer. Each of
//     these locks the rows of its customers in the copy for key share, in the commit in which it
//     decides. The confirmation first commits the deletion, and then waits until nobody holds such
//     a lock.
//  23. The outcomes of a booking agree. Refunds add up to at most what was paid, and the flag is set from
//     the first one on. After a cancellation in time, what is due and what was refunded add up to what was
//     paid. Otherwise money is due only because moves lowered the price.
//  24. Every change of a transaction sets its time of the last change, also a change by the previous
//     release, so that a list by last change returns it.
//  25. Booking rules are applied in the commit that decides, to purchases, holds and waitlist
//     entries. Holds and offers that exist are confirmed regardless. Imports are not limited.
//  26. If an event allows one booking per customer, no customer attends a date with two bookings
//     that are confirmed, held or pending, except through imports and bookings made before the rule.
//     The decision reads them under the lock of the date.
//  27. A whole course is booked as one line: every date that is to come at the commit, or none. The
//     parts of its price, its discount and its credits add up to those of the line, and the largest
//     parts come first.
//  28. A caller that only has catalog:read sees published events and their dates, and no others.
//  29. The events of one change of an event show each difference once: every event begins with the
//     state in which the one before it ended.
//  30. For a company in test mode, its test clock decides everything that depends on the time, and is
//     shown as the time of each creation and change. Jobs find what is due by it. Domain events, the
//     timeouts of purchases by pass, retries, and how long ended holds are kept follow the real time.
//     A test clock changes nothing for other companies, and does not delay their jobs.
//  31. A booking has the credits that the pass service took. The commit that confirms a purchase by a pass
//     with unlimited bookings sets them to 0, before its events, and nothing is returned later.
//  32. No staff member, and no unit of a room, has two active assignments at a time, buffers included. A
//     constraint of the database keeps this, for every writer. The service decides before it, under the
//     locks of the staff members and rooms, so that callers see a refusal and never the constraint.
//  33. The time of an assignment is that of its date with the buffers, and it is active exactly while its
//     date is scheduled, of an event that is not deleted, and has the person or room. A trigger keeps this
//     in the commit that changes the date.
//  34. The date, the staff member, the rooms and the booking of an appointment are made in one commit. The
//     date has one space. If a commit frees this space and no waiting customer takes it, the commit cancels
//     the date. If the waitlist is too long for one commit, the last of its commits does.
//  35. A move gives the booking of an appointment another date in one commit, which takes the new slot and
//     frees the old one. The booking, its price and its identifiers stay.
//  36. A slot is free if all of this is true: the appointment lies within a shift of a staff member who
//     offers the type, and no holiday overlaps it. With its buffers it overlaps no time off and no
//     assignment of that person, and for each requirement a unit of a room is free throughout. It is on
//     the grid, after the notice and within the horizon. BookAppointment decides by the same function as FindSlots.
//  37. Shifts, holidays and the grid are wall time in their own zones. A shift that begins before a clock
//     change ends at its wall time after it, so it is longer or shorter. Time off is an instant to an
//     instant.
//  38. Among several free staff members, the one with the fewest minutes of dates that start in the calendar
//     week of the slot is chosen, then the fewest on its day, then the lowest UUID. Held slots count, and
//     the slot of an appointment that is being moved does not.
//  39. Time off that is accepted without keep_bookings overlaps no assignment, buffers included. No
//     assignment is made during time off afterwards, and no waiting customer takes a date during it.
//  40. Every appointment that becomes visible publishes one appointment_booked, every move one
//     appointment_moved, and every cancellation one appointment_cancelled, in the same commit.
//  41. An entry of a calendar has one identifier for its life, and every change of its time, status, staff
//     or rooms increases its sequence. Only the secret of a calendar opens it, and only its SHA-256 is
//     stored.
//  42. A move takes the new spaces, frees the old ones and offers them to the waitlist in one commit, which
//     publishes one booking_moved. The booking, its identifier, its transaction and its purchase time stay.
//     A move that is refused changes nothing.
//  43. A move, a swap or a transfer locks the transactions by id, then the customers for key share, then the
//     dates by id: those that a booking leaves or enters, or the date of the transferred booking. It decides
//     after that.
//  44. The amount paid for a booking is that of its purchase and of the moves that raised its price. A
//     rise is first taken from what is due, and a fall becomes due. The amount due and the refunds never
//     exceed the amount paid.
//  45. The credits of a booking are those that its redemption holds, also after moves. If a move needs
//     more, their change is stored before they are taken. Then either the move is committed and the credits are
//     taken, or neither, even if something crashes in between. A move that needs fewer is committed first, and
//     the rest is returned once.
//  46. After the end of free cancellation, a move to another date, or a swap, is committed only if the policy
//     is waived. Otherwise no late move lowers a price or credits. A late cancellation leaves the amount that
//     earlier moves made due.
//  47. A transfer changes who attends or who manages a booking in one commit, with one booking_transferred.
//     The purchase, its payments and its refunds stay the purchaser's.
//  48. A swap moves both bookings or neither, and changes no price and no credits.
//  49. Every change of a booking adds one entry to its history in the same commit: who, when, and the booking
//     before and after. Entries never change, except that an erasure removes free text.
//  50. A date that has started is booked, or a booking of it moved, swapped or transferred, only with a reason
//     and within 31 days of the start. The same holds for a move to it. Its booking window does not apply, and
//     all other rules do, so a move or swap from such a date also needs the policy to be waived. The reason is
//     in the history.
//  51. The movements of a booking add up to what was paid less what was refunded, and never change. If nothing is
//     left, their amounts without tax add up to 0. Every event with a booking has all of them.
//  52. A snapshot, with the events that were published since it began, leads to the present state of every event,
//     date and booking. It shows only the company's own.
package booking
