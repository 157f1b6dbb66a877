// Package webhook is the webhook service. It owns the webhook endpoints of companies, and delivers
// webhook events to them.
//
//	JetStream ─▶ intake ─▶ messages + deliveries, one commit ─▶ acknowledged
//	                            │ leased immediately if the endpoint has room
//	                            ▼
//	   claim (SQL, leases) ─▶ queue of an endpoint ─▶ send ─▶ outcomes, in batches
//	        ▲    a wake-up, or the nearest due_at                 │
//	        └─────────────────────────────────────────────────────┘
//
//	             ┌── replay ◀──────────────┬───────────┐
//	             ▼                         │           │
//	created ─▶ pending ──2xx──▶ delivered ─┘           │
//	          ▲   │                                    │
//	          │   └──last retry, 410, or no endpoint──▶ failed
//	          └─fails, retries left
//
// # Invariants
//
//  1. A message creates one delivery for each endpoint that subscribes to it at that moment, no matter
//     how often its domain event is repeated.
//  2. An event is acknowledged only when its deliveries are committed, and a delivery ends only by the
//     commit of its outcome. If a process crashes in between, the delivery is sent again. Delivery is
//     at least once. A process begins no request while 128 deliveries are in flight or without a
//     committed outcome, or while 64 are without one if slow endpoints keep more in flight. So a
//     crash repeats about that many, or at most what was in flight and 64 more.
//  3. The process that sends a delivery holds its lease, and an outcome is written only under that
//     lease. A lease is the only one of its value, and shows which process created it. It ends with
//     its outcome; when its process releases it; when its process has not reported to the database
//     for 2.5 s, which another process has seen at three reports of its own; or at due_at, which is
//     later than the longest exchange. All these instants are by the database's clock.
//     A process begins a request only within 1.6 s of its last report, by a clock that nobody sets.
//     So a process that was paused sends nothing that others have taken over, except requests that
//     it had begun, and their outcomes are not written.
//  4. A process has a limited number of requests in flight to each endpoint, and companies and their
//     endpoints take turns: an endpoint that hangs delays only its own deliveries.
//  5. Only a request to the endpoint counts as an attempt. Faults of the platform, an open breaker,
//     and the end of a process do not.
//  6. No request goes to an address that is not public, regardless of the host name that resolves to
//     it. Redirects are not followed, and no proxy is used. (A setting allows private addresses, for
//     development.)
//  7. The whole exchange, from dialling to the last byte of the response, has one time limit, and the
//     amount that is read of a response is limited.
//  8. Every request is signed when it is sent, with every secret that is valid at that moment. Secrets
//     are stored encrypted.
//  9. The data of a message depends only on its domain event and the records it needs. An opt-in event
//     shows the resource as Interface B does, and the old values of what has changed. A domain event
//     without the state before the change, from an earlier release, creates no message.
//  10. A company sees only its own endpoints and deliveries: an identifier of another company is treated
//     like one that does not exist.
//  11. There is no message, delivery or attempt about an erased customer, even if an attempt was under
//     way or the event arrives later. Only an erasure ends a delivery without an outcome.
//  12. Every message is stored, whether or not an endpoint subscribes to it, with a position. A message
//     becomes visible only after all messages with lower positions, so a reader that continues after
//     the last position that it has read misses none. Positions continue after a restore.
//  13. Every message in test mode says so, in its body and in its JWT. In live mode, neither has the
//     member mode.
package webhook
