// Package privacy holds what the services share to export a customer's data and to erase it.
// docs/adr/0011-erasure.md explains the design.
//
//	customer: EraseCustomer ──commit──▶ customer_erased, round 1
//	each service: Participant ── erases, waits for its outbox ──▶ customer_data_erased, round 1
//	customer: after the settling time, if every service has answered ──▶ customer_erased, round 2
//	each service: erases again ──▶ customer_data_erased, round 2
//	customer: removes the customer's events from the event stream ──▶ completed
//
// The second round is necessary because requests that were in progress during the first round can
// have stored data that they had in memory.
//
// # Invariants
//
//  1. A service answers a round only when its database has no personal data of the customer left,
//     and its outbox has no event that names the customer.
//  2. Every step can be repeated. A process that crashes midway leaves the event unacknowledged, and
//     another process repeats all of it.
//  3. From the first round on, a late event about the customer stores nothing personal: its
//     consumer checks Erased in the transaction in which it writes.
//  4. An erasure waits for an unavailable service without a time limit. It never skips a service.
//  5. An export streams: its memory does not grow with the amount of a customer's data.
package privacy
