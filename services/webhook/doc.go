// Package webhook is the webhook service: the endpoints of companies, and the
// delivery of webhook events to them.
//
//	JetStream ─▶ intake ─▶ messages + deliveries, one commit ─▶ acknowledged
//	                            │ leased at once where the endpoint has room
//	                            ▼
//	   claim (SQL, leases) ─▶ queue of an endpoint ─▶ send ─▶ outcomes, in batches
//	        ▲    a wake-up, or the nearest due_at                 │
//	        └─────────────────────────────────────────────────────┘
//
//	             ┌── replay ◀──────────────┬───────────┐
//	             ▼                         │           │
//	made ──▶ pending ──2xx──▶ delivered ───┘           │
//	          ▲   │                                    │
//	          │   └──last retry, 410, or no endpoint──▶ failed
//	          └─fails, retries left
//
// # Invariants
//
//  1. A message makes one delivery for each endpoint that wants it at that moment,
//     however often its domain event is repeated.
//  2. An event is acknowledged only when its deliveries are committed, and a
//     delivery ends only by the commit of its outcome: whatever dies in between,
//     it is sent again. Delivery is at least once.
//  3. The process that sends a delivery holds its lease, and an outcome is written only
//     under that lease. A lease outlives the longest exchange; any process may take
//     an expired one.
//  4. A process has a limited number of requests in flight to each endpoint, and
//     companies and their endpoints take turns: an endpoint that hangs delays
//     its own deliveries only.
//  5. Only a request to the endpoint counts as an attempt. Faults of our own, an open
//     breaker, and the end of a process do not.
//  6. No request goes to an address that is not public, whatever host name leads there;
//     redirects are not followed, and no proxy is used. (A setting allows private
//     addresses, for development.)
//  7. The whole exchange, from dialling to the last byte of the answer, has one
//     time limit, and what is read of an answer is bounded.
//  8. Every request is signed when it is sent, with every secret that is valid at
//     that moment. Secrets are stored encrypted.
//  9. The data of a message follows from its domain event, in one file for each webhook
//     event (package message).
//  10. A company sees its own endpoints and deliveries only: an identifier of
//     another company is answered like one that does not exist.
//  11. There is no message, delivery or attempt about an erased customer, also if an
//     attempt was under way or the event arrives later. Only an erasure ends a delivery
//     without an outcome.
package webhook
