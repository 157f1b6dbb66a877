// Package requestlog collects the requests that a gateway has answered, and publishes them for the
// request log of the auth service.
//
//	request ──Record──▶ buffer ──every 200 ms, or 500 entries──▶ batches ──▶ stream ──▶ auth
//	           │ full
//	           └──▶ dropped and counted
//
// # Invariants
//
//  1. Record does not wait for NATS, and cannot fail. It drops and counts an entry that does not fit into
//     the buffer.
//  2. A company has at most 1,024 of the 16,384 entries of the buffer, adds at most as many in 200 ms,
//     and takes at most half of what is free. So the requests of one company leave room for another's.
//     Requests whose credential proved nothing share the room of 256 entries.
//  3. While NATS is unavailable, a batch is kept and published again under the same id. Each entry has
//     an id of its own, so it is stored once even if it is published twice.
//  4. An entry has no body, no header and no query string. Its texts are bounded, and a segment of its
//     path that cannot be an identifier is left out.
//  5. A refusal that does not count against a rate limit is recorded once a second for each credential
//     and error code. So nobody fills the log by repeating a request that is refused.
//  6. The memory is bounded: it holds at most two buffers.
package requestlog
