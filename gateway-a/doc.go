// Package gatewaya serves Interface A, the machine-to-machine REST API with client credentials and
// scopes. It only translates between the interface and the services: it has no business rules and
// no database.
//
// Invariants:
//
//  1. Every operation except POST /token verifies the token and the scope that routes.go names,
//     before it looks at the rest of the request. Only API clients get tokens here, and only their
//     tokens are accepted.
//  2. The services receive the caller's token and authorize the call with it. A client's headers
//     never become metadata of a call.
//  3. GET /customers returns one JSON document of any length in constant memory. A failure in the
//     middle cuts the connection, so a document that ends is complete.
//  4. Every error has the body {message, error: {code, message, details}}, except that form-encoded
//     token requests get the error of RFC 6749.
//  5. Every response matches openapi.yaml.
//
// Both gateways have the same files and share package edge.
//
//   - routes.go: the operations, each with its scope and query parameters.
//   - facade_<resource>.go: a method for each operation, with one call and a conversion.
//   - convert_<resource>.go: the conversion of the resource in both directions.
//   - errors.go: the error body, and the fields whose names differ from the services'.
//   - token.go: the token operation.
//   - run.go, config.go: the wiring and the settings.
//
// Only this gateway has list_customers.go, which serves GET /customers, and clock.go, which formats
// local times.
package gatewaya
