// Package outbox publishes an event if, and only if, the transaction that caused it was
// committed.
//
// A service appends events in the transaction that causes them. Each process of the
// service has a relay. While the relay keeps up, the rows are inserted with its lease. The
// commit puts their events into the relay's queue in memory. The relay publishes them from
// there, and deletes the rows that a stream has stored:
//
//	Append ──leased──commit──▶ queued ──published──▶ deleted
//	   │                        │   │
//	   │       NATS is down, or │   └── relay crashed: the lease expires after 8 s
//	   │       too much waits   ▼                                   │
//	   └──without a lease──▶ waiting ◀──────────────────────────────┘
//	                          ▲   │
//	 refused: waits 1 s, 2 s, │   └── claimed by any relay ──▶ queued
//	         4 s … 1 min      └── from any of them
//
// A relay keeps up unless it has just started, NATS did not accept an event, or the queue is
// full or too old. It has then fallen behind: it releases its rows, commits insert rows
// without a lease, and the relay claims the oldest rows of the table until none are left.
// Appends of more than 200 events always go through the table.
//
// # Costs
//
// Append runs one statement for any number of events. While the relay keeps up, an event is
// one insert and one delete, and nothing reads the table. The relay deletes the rows of up to
// 100 ms in one statement. A claim costs an update for each row; it shares its round trip with
// the deletes of the batch before. None of this waits for the disk: if a delete is lost, the
// event is only published again under the same id.
//
// A search for rows without a lease continues after the last row that it has claimed. It does
// not pass the index entries of deleted rows, of which there are many after a backlog. Every
// process searches the rows of the last 5 minutes every 4 s, and the whole table every minute.
//
// # Invariants
//
//  1. An event is published if and only if its transaction has committed.
//
//  2. Every committed event reaches its stream at least once and always under the same
//     id, even if relays crash or lose their connection to NATS.
//
//  3. A relay deletes only rows that it has leased and whose event was acknowledged. It does
//     not begin to publish an event if its lease may end before the publishing does.
//
//  4. An event that no stream accepts does not hold up the others.
//
//  5. A relay that is stopped settles its leased rows.
//
//  6. A transaction of a company sees only that company's events. It can write its own
//     events and those of the installation. The relay publishes for all companies, and its
//     transactions name all of them.
//
//  7. The memory for events that wait is bounded.
//
// The order of events is not guaranteed, not even for one aggregate. A relay that keeps up
// publishes the events of its process about in the order of the commits. One that has fallen
// behind publishes in the order in which the transactions began. Events carry the aggregate's
// version, and consumers keep the highest.
package outbox
