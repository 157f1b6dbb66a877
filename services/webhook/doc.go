// Package webhook is the webhook service: the endpoints of companies, and the
// delivery of what has happened to them.
//
//	JetStream ─▶ intake ─▶ messages + deliveries, one commit ─▶ acknowledged
//	                            │ leased at once where the endpoint has room
//	                            ▼
//	   claim (SQL, leases) ─▶ queue of an endpoint ─▶ send ─▶ outcomes, in batches
//	        ▲    a wake-up, or the nearest due_at                │
//	        └────────────────────────────────────────────────────┘
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
//  1. A message makes one delivery per endpoint that wanted it at that moment,
//     however often its event comes.
//  2. An event is acknowledged only when its deliveries are committed, and a
//     delivery ends only by the commit of its outcome: whatever dies in between,
//     it is sent again. Delivery is at least once.
//  3. Whoever sends a delivery holds its lease, and an outcome is written only
//     under that lease. A lease outlives the longest exchange; any expired one may
//     be taken, by any process.
//  4. An endpoint has at most so many requests in flight per process, and room
//     goes round, by company and then by endpoint: a hanging endpoint holds up
//     its own deliveries alone.
//  5. An attempt is what was tried at the endpoint. Faults of our own, waiting at
//     an open breaker, and a process's end burn none.
//  6. No request goes to an address that is not public, whatever name led there;
//     redirects are not followed, and no proxy is used. (A setting opens private
//     addresses, for development.)
//  7. The whole exchange, from dialling to the last byte of the answer, has one
//     time limit, and what is read of an answer is bounded.
//  8. Every request is signed anew, with every secret that is valid at that
//     moment. Secrets are stored encrypted.
//  9. What is sent follows from the event alone, in one place per event.
//  10. A company sees its own endpoints and deliveries only: an identifier of
//     another company is answered like one that does not exist.
//  11. About an erased customer there is no message, delivery or attempt, whatever
//     was under way or comes late. This alone ends a delivery otherwise than by its
//     outcome.
package webhook
