// Package clients uses Interfaces A and B of a running platform as integrators do: through clients that
// are generated from the OpenAPI descriptions, by openapi-typescript and by oapi-codegen. A scenario
// calls every operation. The compilers check that its requests fit the generated types, and a proxy
// checks every response against the description.
//
// The same scenarios test what must hold for every operation: its permission, the separation of
// companies, the rate limit and Idempotency-Key. An operation that is not in a scenario fails these
// tests, so a new one cannot escape them.
package clients
