// Package idem implements idempotency keys of writes. If a caller repeats a request with the same key,
// it gets the stored response, and the write does not happen again.
//
//	key used before? ──no──▶ run ──ok──▶ response stored in the transaction of the write
//	   │                      └──error──▶ nothing stored, the key stays free
//	   ├─ still running ────▶ 409 IDEMPOTENCY_IN_PROGRESS, retry after 1 s
//	   ├─ other request ────▶ 409 IDEMPOTENCY_KEY_REUSED
//	   └─ same request ─────▶ the stored response
//
// Responses are stored unencrypted. If the response of an operation contains a secret, the operation
// must not run under Do, or must leave the secret out of resp.
//
// # Invariants
//
//  1. With one key, at most one run commits, even if requests are concurrent.
//  2. The response is stored if and only if the effects of the write are.
//  3. Keys of different companies, callers and kinds of resources are independent. Only while a
//     request with a key is running, another kind with the same key is IDEMPOTENCY_IN_PROGRESS.
//  4. A response can be replayed for 24 hours. After that, the key is free.
//  5. With synchronous replication, a response is replayed only after the standby has it.
package idem
