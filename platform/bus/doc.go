// Package bus carries events between services over NATS JetStream.
//
// # Streams
//
//	<PREFIX>_EVENTS    <prefix>.<service>.v1.<event>          kept for 7 days
//	<PREFIX>_IDENTITY  <prefix>.auth.v1.<event>.<key>         the last one per key, permanently
//	<PREFIX>_REQUESTS  <prefix>.edge.requests_received        kept for 24 hours, at most 64 MiB
//
// An event's id is its message id, its payload is a protobuf message, and its company,
// time, request and trace context are headers. Publishers use package outbox, which
// publishes committed events. Consumers use package inbox to record the events that they
// have handled, in the commit of the effect. Between the two, an event can be delivered
// more than once.
//
// # Reading
//
// Consume shares the messages of one durable consumer among all processes of a service
// and redelivers each message until it has been handled. Follow delivers all messages to
// every process, beginning with the last one of each subject.
//
//	delivered ──Handle ok──▶ acknowledged
//	   ▲  │
//	   │  └──Handle fails──▶ alone ──fails──▶ redelivered after 1 s, 2 s, 4 s … 1 min
//	   └──────────────────────────────────────────┘
//
// # Invariants
//
//  1. A message published again under the same id within ten minutes is stored once.
//  2. Publish reports a message as acknowledged only after its stream has stored it.
//  3. A message whose handling fails is redelivered until it succeeds. It never holds up
//     other messages, not even those of its own batch.
//  4. Consume returns after the current batch is finished and settled. Messages that it
//     has received but not started go to other processes immediately.
//  5. Follow reports that it has caught up only after it has delivered the last message
//     of every subject.
//  6. After an outage of NATS, Follow and Consume continue automatically and miss nothing
//     that the streams contain.
//  7. Two prefixes on one server never see each other's messages.
package bus
