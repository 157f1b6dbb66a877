// Package rpc builds gRPC servers and clients, so that access checks, errors, metadata and metrics are
// the same in every service.
//
//	metadata             read by the server             sent by the client
//	authorization        verified, put into ctx         the caller's token, or a Source's (As)
//	x-request-id         put into ctx, new if absent    passed on
//	reservation-company  the company, if the token      the company of As, or the one that
//	                     names none                     the server accepted
//	reservation-origin   event: part of handling an     event, while one is handled
//	                     event; only of a platform
//	                     credential
//	idempotency-key      given to the service           the key of WithIdempotencyKey only
//
// A response to a call with an idempotency key has the trailer idempotency-replayed if it is that of an
// earlier call.
//
// Invariants:
//
//  1. A method that the policy does not name is denied.
//  2. The company comes from the verified token. Only a caller whose token names no company, which
//     requires the scope platform:admin, can name one in the metadata. A token that names a company
//     is bound to it, so a call that names another one is refused. A token that has only scopes of
//     scopes.Platform can call only the methods that need them, and can name no company.
//  3. A caller sees faults, the end of its own deadline, and otherwise just "internal error". The
//     text of other errors never leaves the process.
//  4. An internal error or a panic is logged once, with the whole chain.
//  5. With TLS, a call with a certificate that is not on the server's list is denied before its token
//     is checked. Only health checks are open to every certificate.
//  6. A client sends only the metadata above, regardless of other metadata in the context.
//  7. A call that may have reached a service is not sent again. A call that could not be sent,
//     because the service's last process has just ended, waits up to 3 s for the next process.
//  8. A request is read only after its caller is admitted, and decoded only if it is not larger than
//     its method accepts. If the method needs no token, a larger request is not even received, and
//     the request must arrive within ten seconds.
//  9. A method runs only with requests whose texts and lists are within the bounds that their protos
//     declare.
//  10. No response can break a connection, because the largest fault fits the header list of every
//     client.
//  11. A company has at most half of the calls in progress that the other companies leave of those
//     of a connection, and can always have 64. A further call fails immediately, and another
//     company's call does not wait for it.
package rpc
