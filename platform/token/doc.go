// Package token verifies the access tokens that the auth service signs, and keeps a service's
// own token fresh (Source).
//
// A token is a compact JWT, signed with Ed25519. Every service verifies tokens locally; it calls
// the auth service only to get new ones. The public keys and the revoked credentials arrive as
// events, and every verifier that starts receives all that still apply (Verifier.Run).
//
// Invariants:
//
//  1. Only EdDSA signatures by a key of the auth service are accepted. The header only selects one
//     of the known keys.
//  2. Expiry, revocation and the withdrawal of a key are checked at each use of a token, whether or
//     not it is cached.
//  3. The cache is bounded and compares whole tokens. Only tokens that have passed every check
//     enter it.
//  4. No token is accepted before the past keys and revocations are known.
//  5. A token without a company is accepted only with the scope platform:admin, or if
//     all its scopes are those of scopes.Platform.
//  6. Revocations and key sets never go back to an earlier state: the highest generation and the
//     highest version win, regardless of the order of arrival.
//  7. A token with networks is valid only in them, and one whose networks cannot be read is invalid.
//     An address that cannot be read is in no network.
package token
