// Package bus carries events between the parts, on NATS JetStream.
//
// # Streams
//
//	<PREFIX>_EVENTS    <prefix>.<service>.v1.<event>          kept for 7 days
//	<PREFIX>_IDENTITY  <prefix>.auth.v1.<event>.<key>         the last one per key, for ever
//
// An event's id is its message id, its payload a protobuf message, and its
// company, time, request and trace context are headers. Publishers go through package
// outbox, which publishes what was committed; consumers record what they have
// handled with package inbox, in the commit of its effect. Between the two,
// everything may happen more than once.
//
// # Reading
//
// Consume shares the messages of one durable consumer among all processes of a
// part and repeats each until it was handled; Follow gives every process all of
// them, beginning with the last word on each subject.
//
//	delivered ──Handle ok──▶ acknowledged
//	   ▲  │
//	   │  └──Handle fails──▶ alone ──fails──▶ put back for 1 s, 2 s, 4 s … 1 min
//	   └──────────────────────────────────────────┘
//
// # Invariants
//
//  1. A message published again under the same id within ten minutes is stored once.
//  2. Publish reports a message as acknowledged only after its stream has stored it.
//  3. A message whose handling fails comes back until it succeeds; it never holds
//     up the others, not even those of its own batch.
//  4. Consume returns after the batch in work is finished and settled; messages
//     it had received but not begun go to other processes at once.
//  5. Follow reports having caught up only after it has delivered the last word
//     on every subject that had one.
//  6. After NATS was away, Follow and Consume go on by themselves and miss nothing
//     that the streams have.
//  7. Two prefixes on one server never see each other's messages.
package bus
