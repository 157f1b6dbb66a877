// Package ratelimit limits the number of requests of a key, exactly and across all
// processes of an installation.
//
// # How it works
//
// Each limit has a memory stream in JetStream, <PREFIX>_RATE_<limit>, and each key has a
// subject in it, <prefix>.rate.<limit>.<key>. The stream keeps messages for the length of
// the window and accepts at most <limit> messages per subject. So a request publishes one
// empty message: if the server stores it, the request is allowed; otherwise it is refused.
//
//	Take ──known to be full?──▶ refused, without a call to NATS
//	  └──▶ publish ──stored──▶ allowed
//	          ├──refused──▶ refused, and known to be full until capacity can have returned
//	          └──no answer──▶ the fallback: this process counts on its own
//
// Each Limiter also remembers the requests that it allowed in the window, and exchanges
// them with the other processes four times a second (Run). Remaining, Reset and the
// fallback come from these numbers, which cost a request nothing.
//
// # Approximations
//
//   - Remaining and Reset are up to a quarter of a second behind other processes. A
//     process that has just started does not know earlier requests.
//   - Requests are remembered in grains of a 120th of the window. So Remaining can be too
//     high by the requests of one grain.
//   - The server removes expired messages four times a second. So capacity returns up to a
//     quarter of a second late, never early. Reset of a refused request includes this.
//   - In a cluster, a request can be refused while others of the same key are being stored,
//     although one more would fit. The next request gets that place.
//   - While NATS is unavailable, every process allows the limit on its own.
//   - If NATS restarts, the stream is empty. Each process still counts the requests that
//     it allowed itself. The same applies when a key's limit changes, because the key then
//     uses another stream.
//
// # Invariants
//
//  1. While NATS keeps running and answers, at most limit requests per key are allowed in
//     any window, across all processes and regardless of their timing.
//  2. As each old request leaves the window, one new request becomes possible.
//  3. A Take makes one publish, or none if the key is known to be full.
//  4. While NATS does not answer, Take uses the fallback. Requests in flight wait for up
//     to one second; later, one request at a time checks whether NATS is back. A metric
//     and a log line report the fallback, and it ends automatically.
//  5. The next Take creates a missing stream, even in a cluster and from several processes
//     at the same time. The requests of that moment wait for it.
//  6. The memory for keys is bounded, regardless of their number.
//  7. Two prefixes on one server never count each other's requests.
package ratelimit
