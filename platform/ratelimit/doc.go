// Package ratelimit limits how often a key may do something, exactly over all
// processes of an installation.
//
// # How
//
// Each limit has a memory stream in JetStream, <PREFIX>_RATE_<limit>, and each
// key a subject in it, <prefix>.rate.<limit>.<key>. The stream keeps what is
// younger than the window, at most <limit> messages per subject, and refuses
// what is more. So taking one is publishing one empty message: stored is
// allowed, refused is refused, and the server alone decides.
//
//	Take ──known to be full?──▶ refused, without asking
//	  └──▶ publish ──stored──▶ allowed
//	          ├──refused──▶ refused, and known to be full until room can have come back
//	          └──no answer──▶ the fallback: this process counts for itself
//
// Beside it every Limiter remembers what it has let pass in the window, and hears
// from the others, four times a second, what they have (Run). That is what
// Remaining, Reset and the fallback are made from; it costs a request nothing.
//
// # What is approximate
//
// Remaining and Reset lag by up to a quarter of a second behind other processes,
// and a process that has just started knows the past only from then on; requests
// are remembered in grains of a 120th of the window, so Remaining may be too high
// by what one grain holds. The server looks for what is too old four times a
// second, so room comes back up to a quarter of a second late, never early. Reset
// of a refused request takes that into account. While NATS is away every process
// allows the limit by itself. If NATS restarts it forgets; what a process has let
// pass itself in the window still counts in that process. A key whose limit
// changes begins anew in the stream of the new one, likewise.
//
// # Invariants
//
//  1. While NATS answers, and goes on running, at most limit requests per key are
//     allowed in any window, over all processes, however they coincide.
//  2. Room comes back as the oldest request ages out, one for one.
//  3. A Take is one publish, or none: none for a key that is known to be full.
//  4. While NATS does not answer, Take goes on by the fallback: only the requests
//     that were under way wait for it, up to a second, and then one now and then
//     that finds out whether it is back. A metric and a log line tell of it, and
//     it ends by itself.
//  5. Streams that are missing are made by the next Take, in a cluster too, by
//     however many processes at once; the requests of that moment wait for them.
//  6. What is remembered of keys is bounded, whatever their number.
//  7. Two prefixes on one server never count for each other.
package ratelimit
