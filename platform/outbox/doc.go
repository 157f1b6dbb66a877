// Package outbox publishes an event if, and only if, the transaction that caused it was
// committed.
//
// A service appends events in the transaction that causes them. Each process of the
// service has a relay. The commit wakes it, and it leases the rows, publishes their events
// and deletes those that a stream has stored:
//
//	Append ─commit─▶ waiting ──lease──▶ leased ──published──▶ deleted
//	                    ▲                 │
//	                    ├── NATS is down ─┤
//	                    ├── refused: waits 1 s, 2 s, 4 s … 1 min
//	                    └── relay crashed: the lease expires after 30 s
//
// # Costs
//
// Append runs one statement for any number of events. A relay needs one round trip to the
// database per batch, which deletes one batch and leases the next. This round trip does
// not wait for the disk: if it is lost, the events are only published again under the same
// id.
//
// # Invariants
//
//  1. An event is published if and only if its transaction has committed.
//  2. Every committed event reaches its stream at least once and always under the same
//     id, even if relays crash or lose their connection to NATS.
//  3. A relay deletes only rows that it has leased and whose event was acknowledged.
//  4. An event that no stream accepts does not hold up the others.
//  5. A relay that is stopped settles its leased rows.
//  6. A transaction of a company sees only that company's events. It can write its own
//     events and those of the installation. The relay publishes for all companies, and its
//     transactions name all of them.
//
// The order of events is not guaranteed, not even for one aggregate: transactions commit
// in a different order from the numbers of their rows. Events carry the aggregate's
// version, and consumers keep the highest.
package outbox
