// Package outbox publishes an event if, and only if, the transaction that caused it was
// committed.
//
// A service appends events in the transaction that makes them true. A relay, one
// in each process of the service, is woken by the commit, leases the rows,
// publishes them and deletes those that a stream has stored:
//
//	Append ─commit─▶ waiting ──lease──▶ leased ──published──▶ deleted
//	                    ▲                 │
//	                    ├── NATS away ────┤
//	                    ├── refused: waits 1 s, 2 s, 4 s … 1 min
//	                    └── relay died: lease runs out after 30 s
//
// # Costs
//
// An append is one statement for any number of events. A relay at work needs one
// round trip to the database per batch: the deletion of one and the lease of the
// next travel together, and wait for no disk, because losing either only means
// publishing again under the same id.
//
// # Invariants
//
//  1. An event is published if and only if its transaction has committed.
//  2. Every committed event reaches its stream, at least once, always under the
//     same id, however many relays run, die or lose NATS meanwhile.
//  3. A relay deletes only rows that it holds and whose event was acknowledged.
//  4. An event that no stream takes does not hold up the others.
//  5. A relay that is asked to stop settles what it has leased.
//  6. A transaction for a company sees that company's events only, and writes those
//     and the installation's. The relay, which publishes for all companies, names
//     all of them.
//
// The order of events is not promised, not even for one aggregate: transactions
// commit in another order than they number their rows. Events carry the
// aggregate's version, and consumers keep the highest.
package outbox
