// Package idem gives a write an idempotency key: whoever repeats a request under
// the same key gets the first answer and causes nothing a second time.
//
//	key seen before? ──no──▶ run ──ok──▶ answer stored in the commit of the write
//	   │                      └──error──▶ nothing stored, the key stays free
//	   ├─ being run now ────▶ 409 IDEMPOTENCY_IN_PROGRESS, try again after 1 s
//	   ├─ other request ────▶ 409 IDEMPOTENCY_KEY_REUSED
//	   └─ same request ─────▶ the stored answer
//
// Answers are stored as they were given, in plain. An operation whose answer
// holds a secret does not run under Do, or leaves the secret out of resp.
//
// # Invariants
//
//  1. Under one key at most one run commits, whatever the concurrency.
//  2. The answer is stored if and only if the effects are.
//  3. Keys of different companies and of different callers never meet.
//  4. An answer can be replayed for 24 hours; after that the key is free.
package idem
