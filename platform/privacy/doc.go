// Package privacy holds what the services share to export the data of a customer and to
// erase it. docs/adr/0011-erasure.md says why it works as it does.
//
//	customer: EraseCustomer ──commit──▶ customer_erased, round 1
//	each service: Participant ── erases, waits for its outbox ──▶ customer_data_erased, round 1
//	customer: after the settling time, all of them being there ──▶ customer_erased, round 2
//	each service: the same once more ──▶ customer_data_erased, round 2
//	customer: removes what the event stream has ──▶ completed
//
// The second round finds what requests that were under way during the first have
// stored since, out of what they had in memory.
//
// # Invariants
//
//  1. A service answers a round only after its database has nothing personal left
//     of the customer, and its outbox no event that names them.
//  2. Everything can be repeated: a process that dies midway leaves the event
//     unacknowledged, and another one does all of it again.
//  3. From the first round on a late event about the customer stores nothing
//     personal: its consumer asks Erased in the transaction in which it writes.
//  4. An erasure waits for a service that is away, however long; it never leaves
//     it out.
//  5. An export streams: its memory does not grow with what a customer has.
package privacy
