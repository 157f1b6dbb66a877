// Package gatewaya is the edge of Interface A: the machine-to-machine REST API
// with client credentials and scopes. It translates, and nothing else: it has
// no rules and no database. What it promises:
//
//  1. Every operation but POST /token verifies the token and the scope that
//     routes.go names, before anything else about the request is looked at.
//     Tokens are those of API clients: no other credential gets one here, and no
//     other one's token is taken.
//  2. The services get the caller's token and decide by it; no header of a
//     client becomes metadata of a call.
//  3. GET /customers is one JSON document of any length in constant memory. A
//     failure midway cuts the connection; a document that ends is complete.
//  4. Every error has the body {message, error: {code, message, details}}; only
//     form-encoded token requests get RFC 6749's error member.
//  5. What it answers is what openapi.yaml describes.
//
// Both gateways have the same files. What they share is package edge of the platform.
//
//   - routes.go: the operations, each with its scope and its query parameters.
//   - facade_<resource>.go: a method for each operation: one call and a conversion.
//   - convert_<resource>.go: the resource in both directions, field by field.
//   - errors.go: the error body, and the fields that have another name than in a service.
//   - token.go: how a credential gets its token.
//   - run.go, config.go: the wiring and the settings.
//
// Only here, list_customers.go answers GET /customers.
package gatewaya
