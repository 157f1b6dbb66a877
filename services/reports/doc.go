// Package reports is the reports service: what a company takes, how its dates are attended, which credits are
// outstanding, and which customers come. It owns nothing. Its read models follow the events of the services
// that own the data, and can be built again from their snapshots at any time.
//
//	events ──▶ facts ──▶ sums ──▶ reports
//	snapshots ──┘
//
// A fact is what the service knows of one booking, event date, customer pass, subscription or customer: its
// newest version, or each entry of something that is only added to. A fact has contributions: the rows of sums
// that it adds to, as a pure function. When a fact changes, one transaction takes the old contributions off the
// sums and adds the new ones. A report reads only sums.
//
// The read models of a company have a generation. A rebuild creates the next one, applies the events to both
// from then on, reads the snapshots, and then switches the reports over in one commit. The old generation is
// deleted in the background. Snapshots do not have what was deleted, so the next generation begins with the
// deletions that the current one knows: an earlier event that arrives later brings nothing back.
//
//	building ── snapshots read ──▶ current ── the next one is complete ──▶ retired: deleted
//	   └── the company was deleted or reset: deleted
//
// # Facts and sums
//
//	fact                                  sums that it adds to
//	booking and its movements of money    takings, product_takings; attendance of its date, or of its event on a day
//	date, with the attendance of it       event_attendance, monthly_attendance
//	customer pass and its ledger          takings, product_takings; credits, monthly_credits
//	movement of a subscription            takings, product_takings
//	booking, its date and its customer    active_days, activity
//	customer                              created_customers
//
// attendance has a row for each date. When a date changes, the transaction takes the old date with this row off
// event_attendance and adds the new date, so moving a date moves its attendance. The date of an appointment changes
// with its booking, so a booking of type appointment has its own day, and there is no fact of its date.
//
// A report by event reads whole months from monthly_attendance, and the other days of its spans from
// event_attendance. The sums include events that are drafts or deleted, and reports leave these out. So a change of
// the status of an event changes no sums.
//
// # Customers
//
// The days on which a customer is active divide time into pairs of consecutive days. The first pair begins
// with 0001-01-01 and the last one ends with 9999-12-31. activity counts the customers of each pair. For any
// day x, a customer who is ever active has exactly one pair with day < x <= next_day. With a span from f to t,
// and the span before from b to f-1, that gives exact numbers from a part of an index:
//
//	active      day < f, f <= next_day <= t
//	lost        b <= day < f, next_day > t
//	returned    0001-01-01 < day < b, f <= next_day <= t
//
// # Credits
//
// Outstanding credits at the end of a day are the sum of all changes up to it. credits has the changes by day,
// and monthly_credits by month, so that the balance of a day is the sum of the months before its month and of
// the days of its month. The credits that are left of a pass expire on the day after its expiry date. A pass that is
// cancelled, or that has unlimited uses, adds nothing, also for the time before. A changed expiry date changes
// earlier balances too.
//
// The worth of credits is a function of the balance of a pass, so its changes add up to the worth of what is
// left. Credits of a subscription are valued when a report is read, by the present price of their plan.
//
// # Applying changes
//
// A transaction locks the row of the company in progress, reads what is known of the changed facts, computes
// the outcome (outcomeOf) and writes it: a fixed number of statements for any number of facts. Events of a
// company, and messages of its snapshots, are applied in such transactions, each of which takes milliseconds.
//
// # As of
//
// Every 2 s, the service asks the owners up to when they have published the events of their commits, and then how
// many events the stream has. When it has applied these events, the read models have every change up to that
// time. An owner that does not answer, or whose events wait, holds up as_of and not the reports. A generation has
// every change from before its build, so as_of is never earlier.
//
// # Invariants
//
//  1. Every sum equals the sum of the contributions of the facts of its generation, after each commit.
//  2. A fact is that of the highest version that the service has seen. Events and snapshots can arrive in any
//     order, more than once, and at the same time. Entries that are only added (movements of money, ledger
//     entries) are stored once, by their number.
//  3. After all events have been consumed, a generation that events kept up equals one that is built from the
//     snapshots, without the dates of deleted events, which no report shows.
//  4. A taking counts on the day that its owner recorded. Neither a change of the company's time zone nor a
//     change of the clocks moves it.
//  5. A date counts on its local day in its own time zone. Moving the date moves its attendance.
//  6. Reports answer from one generation, which is complete, or say that they are not complete yet. A rebuild
//     never shows less than before.
//  7. A company sees only its own reports. Rebuilding or catching up with one company does not hold up the
//     events of another.
//  8. The service stores no names or addresses of customers, only identifiers. Titles of events, pass types and
//     plans are stored to label rows.
//  9. The span before has the same number of whole calendar months if the span consists of whole months, and
//     otherwise the same number of days. It ends on the day before the span.
//  10. A customer is active on the local day of a date if they attend it with a booking that is neither cancelled
//     nor a no-show. Lost and returned customers are counted exactly, also for spans of years, without reading
//     a row for each customer.
//  11. A rebuild continues after a crash at the step that it had reached, and starts over if its generation is
//     gone. Repeating the command while it runs starts no second one.
//  12. A company in test mode has reports of its own. Resetting its data deletes them in the same way.
//  13. Reports have every change that was committed before the time in as_of.
package reports
