// Package gatewayb serves Interface B, the REST API under /api/v1 with API keys and permissions. It
// only translates between the interface and the services: it has no business rules and no database.
//
// Invariants:
//
//  1. Every operation except POST /auth/token verifies the token and the permission that routes.go
//     names, before it looks at the rest of the request. The address of a calendar (ical.go) is not an
//     operation: its secret permits the read.
//  2. The services receive the caller's token and authorize the call with it. A client's headers
//     never become metadata of a call. A publishable key is exchanged for such a token, and reaches
//     only the operations that routes.go marks.
//  3. Every request of an API key counts once against its limit, across all replicas, and every
//     response says how many requests are left.
//  4. Every error has the body {error: {code, message, details}} and names fields as the request does.
//  5. Every response matches openapi.yaml.
//  6. Every response of an operation that accepted a credential in test mode has the header
//     Reservation-Mode. No response in live mode has it.
//
// Both gateways have the same files and share package edge.
//
//   - routes.go: the operations, each with its permission and query parameters.
//   - facade_<resource>.go: a method for each operation, with one call and a conversion.
//   - convert_<resource>.go: the conversion of request bodies. Package resource converts responses.
//   - errors.go: the error body, and the fields whose names differ from the services'.
//   - token.go: the token operation.
//   - run.go, config.go: the wiring and the settings.
//
// Only this gateway has page.go, which reads the parameters that all lists share, and convert.go,
// with helpers of the conversions.
package gatewayb
