// Package token verifies the access tokens that the auth service signs, and
// keeps a service's own token fresh (Source).
//
// A token is a compact JWT, signed with Ed25519. Every part verifies it by
// itself: the auth service is asked for new tokens only. What verifying needs
// to know, the public keys and the revoked credentials, arrives by event and is
// replayed whole to every verifier that starts (Verifier.Run).
//
// Invariants:
//
//  1. Only EdDSA by a key of the auth service is accepted. The header picks
//     among the known keys and nothing else.
//  2. Expiry, revocation and the withdrawal of a key are checked at each use of
//     a token, whether it is cached or not.
//  3. The cache is bounded and matches whole tokens. Only tokens that passed
//     every check enter it.
//  4. Nothing is accepted before the keys and revocations of the past are known.
//  5. A token without a company is accepted only with the scope platform:admin.
//  6. A revocation and a set of keys never go back: the highest generation and
//     the highest version win, in whatever order they arrive.
package token
