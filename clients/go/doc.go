// Package client calls the reservation platform's Interface B and Interface A.
//
// NewB and NewA return clients with one method for each operation, which oapi-codegen generates from
// the OpenAPI descriptions (packages b and a). The methods end in WithResponse. This package adds what
// every integration needs:
//
//  1. The client gets tokens itself and renews them five minutes before they expire. However many
//     goroutines need one, there is one token request at a time.
//  2. A request that is refused with 401 is sent once more with a new token.
//  3. Every write carries an Idempotency-Key: yours, or a new one. All attempts of one call carry the
//     same key, so a retried write happens once.
//  4. 409 IDEMPOTENCY_IN_PROGRESS, 429, 502, 503, 504 and lost responses are retried, and 500 once:
//     never before Retry-After, at growing random intervals, within Options.Attempts and
//     Options.Patience, until the context ends. Nothing else is retried.
//  5. Every refusal is an *Error. If err is nil, the response is a success, or 304 if you sent
//     If-None-Match.
//
// Methods such as B.Customers read whole lists, page by page, with the filters of the operation. The
// package webhook verifies the webhooks that your program receives.
package client
