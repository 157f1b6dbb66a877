// Package rpc builds gRPC servers and clients, so that access checks, errors, metadata
// and metrics are the same in every part.
//
//	metadata             in, by the server              out, by the client
//	authorization        verified, put into ctx         the caller's token, or a Source's (As)
//	x-request-id         put into ctx, fresh if absent  passed on
//	reservation-company  the company, if the token      the company of As, or the one honoured
//	                     names none
//	idempotency-key      handed to the part             WithIdempotencyKey's, never passed on
//
// Invariants:
//
//  1. A method that the policy does not name is denied.
//  2. The tenant comes from the verified token. Only a token that names no company,
//     which has the scope platform:admin, may name one in the metadata. A token that
//     names a company is bound to it: a call that names another one is refused.
//  3. A caller sees faults, the end of its own deadline, and otherwise
//     "internal error": no text of any other error leaves the process.
//  4. An internal error and a panic are logged once, with the whole chain.
//  5. With TLS, a call by a certificate that is not on the server's list is denied
//     before its token is looked at. Health alone is told to every certificate.
//  6. Nothing but the metadata above leaves through a client, whatever stands
//     in the context.
//  7. A call that may have reached a service is not sent again. One that could
//     not be sent, because the service's last process has just gone, waits for the
//     next for up to 3 s.
//  8. A request is read after its caller is admitted, and decoded only if it is no
//     larger than its method takes. A request that needs no token is not even
//     received if it is larger, and has ten seconds to arrive.
//  9. A method runs only with requests whose texts and lists are within the bounds
//     that their protos declare.
//  10. No answer can break a connection: the largest fault fits the header list of
//     every client.
package rpc
