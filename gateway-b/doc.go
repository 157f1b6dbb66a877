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
package gatewayb
