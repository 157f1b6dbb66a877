// Package auth is the auth service. It owns companies, the credentials of machines, the
// administrators who sign in to the dashboard, and the tokens that all of them get.
//
//	credential:  active ◀──▶ disabled           key:  pending ──▶ active ──▶ retired ──▶ deleted
//	               │  └── expired, by time              │ a minute     │ until its last
//	               └── deleted                          │              │ token has expired
//	                                                    └ every verifier learns it
//
//	session:     pending ──▶ live ──▶ ended    invitation:  open ──▶ accepted
//	                └── expired, by time or            ├── revoked
//	                    wrong codes                    └── expired, by time
//
//	reset link:  open ──▶ used
//	               ├── withdrawn, by a newer link or by an owner
//	               └── expired, by time
//
// An administrator (admin_) has sessions (sess_). Their opaque tokens are exchanged for access
// tokens that live five minutes. The access tokens of all sessions of an administrator share one
// generation: when one session ends, all are revoked, and the other sessions get new ones.
//
// A credential is an API client (m2m_, Interface A), an API key (key_, Interface B) or a service
// credential (svc_, gRPC). A token names the kind of its credential. The token of an API key has
// the scopes of the key's permissions and the key's own rate limit.
//
// A publishable key (pub_) is different: it has no secret, because web pages show
// it. gateway-b exchanges it for a token that reads what the company publishes, and nothing else.
//
// Tokens are signed here and verified in every other service without a call to auth. Verifiers
// follow two subjects of the identity stream, which keeps the latest event of each subject
// permanently: the public keys, and the lowest valid generation of each revoked credential.
//
// # Files
//
// The rules (credential.go, administrator.go, session.go, sign_in_limit.go and so on) use no
// context, SQL, proto or clock. Each server_*.go has the RPCs of one subject, and
// server_credential.go has what the three kinds of credentials share. store_*.go has the SQL and
// convert*.go the conversion of messages. Three parts keep state or wait: keyring.go, hashing.go
// and identity_*.go, which keeps the identity stream correct.
//
// # Invariants
//
//  1. Only the hash of a secret is stored. The secret is shown once, in the response that
//     creates it, and is in no log, event or row. The replay of a request with an idempotency
//     key does nothing and shows no secret.
//  2. A credential or publishable key gets a token exactly while it is active. Unknown, expired,
//     disabled and deleted credentials and secrets that have ended get the same response at the
//     same cost.
//  3. Rotating a credential without an overlap, ending its previous secret, disabling or deleting
//     it, removing a scope or permission, and changing a rate limit, the allowed networks or the
//     origins of a publishable key raise the generation and publish it in the same commit. Tokens
//     issued before are revoked everywhere within a second, and stay revoked after any restart.
//  4. A token lives no longer than its credential and the secret that it was issued for. It
//     carries what the credential may do, how often, from which networks, and for which company,
//     at the moment of issue.
//  5. Verifiers know a key before it signs. It verifies until the last token that it signed has
//     expired, unless it was revoked. All replicas sign with the same set of keys.
//  6. Failures of one credential from one address are slowed down, then refused. Valid
//     credentials always succeed, without a delay.
//  7. Every change of a company, credential, administrator, session or invitation is in the
//     audit log, in the same commit. Every change that a credential makes in another service is
//     in it once, after the event of the change was published. An entry never changes, except
//     that what it says of an erased customer is removed. It is deleted when its retention is
//     over.
//  8. A company sees and changes only its own credentials: an identifier of another company is
//     treated like one that does not exist. Requests about the platform need platform:admin. A
//     credential of the platform that has only directory:read can read which companies and
//     credentials there are, and nothing else.
//  9. A session can be used only with its token, and not after it has ended: by sign-out, by
//     inactivity, by age, or by somebody with the right to end it. Disabling an administrator or
//     resetting the password ends all sessions; changing the password ends all other sessions.
//  10. An attempt is counted, across all replicas, before its password is checked, and a password
//     is checked only if no earlier failures delay it. An unknown e-mail address costs and reads
//     like a wrong password. Nobody can lock an administrator out of a browser in which they have
//     signed in before, or out of their session.
//  11. A TOTP or recovery code is accepted once, and no TOTP code older than the last accepted
//     one.
//  12. A company with an enabled owner always keeps one. An e-mail address belongs to at most one
//     administrator in the whole installation.
//  13. An invitation is accepted once, before it expires, by somebody with its link, and only
//     while the administrator who created it is an owner.
//  14. A pending sign-in becomes at most one session: with its token and a right code, within
//     five minutes, after fewer than five wrong codes, and only while the administrator's
//     password, TOTP and sessions are unchanged. A sign-in that ends without a code is recorded
//     in the audit log.
//  15. Actions of others on an administrator's account are in the audit log, and the administrator
//     is notified until they have read the notice. A reset link works once, within an hour, and
//     only while the administrator who created it is an owner.
//  16. Everything that was published as revoked stays revoked when the database is restored to an
//     earlier moment. Tokens issued after the restore are valid.
//  17. Callers cannot grant more than they have: a credential that is created, changed, rotated or
//     enabled has no scope, rate limit or expiry beyond the caller's, and only the caller's
//     company. The platform's own calls and owners in the dashboard have no rate limit or expiry,
//     and only they can grant the permission that includes all others. A publishable key grants
//     nothing: what it reads is public.
//  18. A token that names a company is bound to it, even a token of the platform: it cannot be
//     used for another company, and neither reads nor changes anything of the platform. The same
//     holds for a call whose metadata name a company.
//  19. A credential has at most two valid secrets: the current one and, for at most seven days
//     after a rotation, the one before it. A rotation ends an older one only if it is forced.
//     A rotation by a process of an earlier release ends every secret before it.
//  20. A credential gets no token from outside its allowed networks, and its tokens carry them.
//     Only a caller with a valid secret learns of the networks, and such a refusal is not counted
//     as a failure.
//  21. A request is in the request log of the company of its credential, at most once, and in no
//     other. The log has no body, no header and no value of a query. A request for a token without a
//     valid secret is in the log of the credential that it names, if that exists.
//  22. The access token of an administrator has the scopes of their role (platform/roles) and no others, and
//     that of a teacher names the staff member to whose dates it is confined. A change of either revokes it.
//     A process of the previous release issues no tokens to the front desk and to teachers.
package auth
