// Package gatewayb is the edge of Interface B: the REST API under /api/v1 with API
// keys and permissions. It translates, and nothing else: it has no rules and no
// database. What it promises:
//
//  1. Every operation but POST /auth/token verifies the token and the permission
//     that routes.go names, before anything else about the request is looked at.
//  2. The services get the caller's token and decide by it; no header of a client
//     becomes metadata of a call.
//  3. Every request of an API key counts once against its limit, over all
//     replicas, and every answer says what is left.
//  4. Every error has the body {error: {code, message, details}}, and names fields
//     as the request did.
//  5. What it answers is what openapi.yaml describes.
//
// Both gateways have the same files. What they share is package edge of the platform.
//
//   - routes.go: the operations, each with its permission and its query parameters.
//   - facade_<resource>.go: a method for each operation: one call and a conversion.
//   - convert_<resource>.go: the resource in both directions, field by field.
//   - errors.go: the error body, and the fields that have another name than in a service.
//   - token.go: how a credential gets its token.
//   - run.go, config.go: the wiring and the settings.
//
// Only here, page.go reads the parameters that lists share, and convert.go has what the
// conversions share.
package gatewayb
