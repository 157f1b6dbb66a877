// Package auth is the auth service: companies, the credentials of machines, the
// administrators who sign in, and the tokens that all of them get.
//
//	credential:  active ◀──▶ disabled           key:  pending ──▶ active ──▶ retired ──▶ gone
//	               │  └── expired, by time              │ a minute     │ until its last
//	               └── deleted                          │              │ token has expired
//	                                                    └ every verifier learns it
//
//	session:     pending ──▶ live ──▶ ended    invitation:  open ──▶ accepted
//	                └── expired, by time or            ├── revoked
//	                    wrong codes                    └── expired, by time
//
//	reset link:  open ──▶ used
//	               ├── withdrawn, by another one or by hand
//	               └── expired, by time
//
// An administrator (admin_) has sessions (sess_), whose opaque tokens are exchanged
// for access tokens of five minutes. Those of all sessions of an administrator have
// one generation: when one session ends they all die, and the others get new ones.
//
// A credential is an API client (m2m_, Interface A), an API key (key_, Interface
// B) or a service credential (svc_, gRPC). A token says which it is of. Those of
// a key have the scopes that its permissions stand for, and its own rate limit.
//
// A token is signed here and verified everywhere else, without a call to auth. Verifiers
// follow two subjects, of which the identity stream keeps the latest event for ever: the
// public keys, and the least generation of each credential that was revoked.
//
// # Files
//
// The rules (credential.go, administrator.go, session.go, sign_in_limit.go and so on) see no
// context, SQL, proto or clock. server_*.go has the RPCs, each file those of one subject;
// what the three kinds of credentials share is in server_credential.go. store_*.go has the
// SQL, convert*.go the messages. Three things keep state or wait: keyring.go, hashing.go
// and identity_*.go, which keeps the identity stream right.
//
// # Invariants
//
//  1. Of a secret only the hash is kept. It is shown once, where it is made, and
//     is in no log, event or row. A repetition under an idempotency key does
//     nothing and shows none.
//  2. A credential gets a token exactly while it is active: unknown, expired,
//     disabled, deleted and rotated-out ones are answered alike, at the same cost.
//  3. Rotating, disabling, deleting, taking a scope or permission away and changing
//     a key's rate limit raise the generation and publish it in the same commit, so that tokens issued before are revoked
//     everywhere within a second, and stay so after a restart of anything.
//  4. A token lives no longer than its credential, and says what the credential
//     may do, how often, and for which company, at the moment of its issue.
//  5. A key is known to verifiers before it signs, and verifies until the last
//     token that it signed has expired, unless it was revoked. All replicas sign
//     with keys of one set.
//  6. Failures of one credential from one address are slowed down, then refused;
//     right credentials always pass, at once.
//  7. Every change of a company, credential, administrator, session or invitation
//     is in the audit log, in its commit. A line of it is never changed, but that what
//     it says of an erased customer is forgotten; it goes when it is old enough.
//  8. A company sees and changes its own credentials only: an identifier of
//     another company is answered like one that does not exist. What concerns
//     the platform takes platform:admin.
//  9. A session is used by its token alone, and not once it has ended: signed out,
//     idle, too old, or ended by somebody who may. Disabling an administrator and
//     resetting the password end all of them, changing the password the others.
//  10. A password is looked at only when its turn has come: attempts are counted
//     before, for all replicas. An unknown e-mail address costs and reads like a
//     wrong password. Nobody can lock an administrator out of a browser that they
//     have signed in with before, nor of their session.
//  11. A code of TOTP or of recovery is taken once, and none that is older than the
//     last one.
//  12. A company that has an owner who is not disabled keeps one. An e-mail address
//     is one administrator's in the whole installation.
//  13. An invitation is accepted once, within its time, by who has its link, while
//     who made it is an owner.
//  14. A pending sign-in becomes one session at most: by its token, with a right
//     code, in five minutes, after less than five wrong ones, and only while the
//     administrator's password, TOTP and sessions are as they were. One that ends
//     without a code is told to the audit log.
//  15. What somebody else does to an administrator's account is in the audit log
//     and is told to them until they have read it. A reset link works once, within
//     an hour, while who made it is an owner.
//  16. What was published as revoked stays so when the database is restored to an
//     earlier moment, and what is issued from then on counts.
//  17. Nobody gets, gives or brings back more than they have: a credential that is
//     made, changed, rotated or enabled has no scope, rate limit or expiry beyond
//     that of the caller, and no company but the caller's. The platform's own calls
//     and owners in the dashboard are above the limit and the expiry, and only they
//     give the permission that stands for all of them.
//  18. A token that names a company is bound to it, even one of the platform: it
//     calls for no other company, sees nothing of the platform, and changes nothing
//     of it. So is a call whose metadata name a company.
package auth
