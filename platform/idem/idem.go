package idem

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/pg"
)

// Kept is how long a response can be replayed.
const Kept = 24 * time.Hour

// maxKey is the longest key, in characters.
const maxKey = 255

var (
	errReused = fault.New(fault.Conflict, fault.ReasonIdempotencyKeyReused,
		"the idempotency key was used for a different request; use a new key")
	errInProgress = fault.New(fault.Conflict, fault.ReasonIdempotencyInProgress,
		"the first request with this idempotency key is still in progress; try again later").After(time.Second)
)

type requestKey struct{ key, caller, kind string }

type ctxKey struct{}

// WithKey returns ctx with the idempotency key of the request; "" means no key. kind is the kind of
// resource that the request is about, such as "events". Keys of different callers, and of different
// kinds, are independent.
func WithKey(ctx context.Context, key, caller, kind string) context.Context {
	if key == "" {
		return ctx
	}
	return context.WithValue(ctx, ctxKey{}, requestKey{key: key, caller: caller, kind: kind})
}

// Key returns the idempotency key of ctx, or "".
func Key(ctx context.Context) string {
	k, _ := ctx.Value(ctxKey{}).(requestKey)
	return k.key
}

// The first kind of resource with which a caller uses a key has the row of the caller, like every request
// of the previous release. Further kinds have rows of their own, whose caller ends with the kind. One lock
// protects all of them.
//
// lockSQL is a separate statement, so that the next one sees the rows that the previous holder of a
// lock committed.
const (
	lockSQL = `select pg_try_advisory_xact_lock(hashtextextended(
			concat_ws(e'\x1f', 'idempotency', (select app_company()), n.caller, n.key), 0))
		from unnest($1::text[], $2::text[]) with ordinality n(caller, key, i) order by n.i`

	// The company is joined, because PostgreSQL does not use an expression with an index of a table
	// with row-level security. The lock is a write, so the commit of a replay waits for the
	// synchronous standby, which then also has the stored response. It blocks nobody.
	findSQL = `select n.i, found.caller, found.kind, found.request_hash, found.response
		from unnest($1::text[], $2::text[], $3::text[]) with ordinality n(caller, key, own, i)
		cross join (select coalesce(app_company(), '00000000-0000-0000-0000-000000000000') as id offset 0) company
		cross join lateral (select k.caller, k.kind, k.request_hash, k.response from idempotency_keys k
			where k.company_id = company.id and k.caller = any (array[n.caller, n.own]) and k.key = n.key and k.expires_at > now() offset 0 for key share) found`

	// Replace a row that has expired but is not pruned yet.
	saveSQL = `insert into idempotency_keys as i (company_id, caller, key, kind, request_hash, response, expires_at)
		select coalesce((select app_company()), '00000000-0000-0000-0000-000000000000'),
			n.caller, n.key, n.kind, n.request_hash, n.response, now() + make_interval(secs => $6)
		from unnest($1::text[], $2::text[], $3::text[], $4::bytea[], $5::bytea[]) n(caller, key, kind, request_hash, response)
		on conflict (company_id, caller, key) do update set kind = excluded.kind, request_hash = excluded.request_hash,
			response = excluded.response, created_at = excluded.created_at, expires_at = excluded.expires_at
		where i.expires_at <= now()`
)

// Do runs fn, which fills resp, at most once per idempotency key of ctx. If the key was used before,
// it fills resp with the stored response and does not run fn. It stores the response in tx, so that
// it commits with the effects of fn. If fn fails, Do returns its error unchanged and stores nothing.
// Without a key, it just runs fn.
//
// Keys belong to the company of tx's scope. The fault is IDEMPOTENCY_IN_PROGRESS while another
// transaction holds the key, and IDEMPOTENCY_KEY_REUSED if the key was used for another request.
func Do[R proto.Message](ctx context.Context, tx *pg.Tx, req proto.Message, resp R, fn func() error) error {
	r, err := RequestOf(ctx, req)
	if err != nil {
		return err
	}
	if r == nil {
		return fn()
	}
	if err := tx.Pipeline(ctx, Lookup(r)...); err != nil {
		return fmt.Errorf("idempotency: %w", err)
	}
	if replayed, err := r.Replay(resp); replayed || err != nil {
		return err
	}
	if err := fn(); err != nil {
		return err
	}
	if err := r.Respond(resp); err != nil {
		return err
	}
	tx.Queue(Save(r))
	return nil
}

func (k requestKey) check() error {
	if !utf8.ValidString(k.key) || utf8.RuneCountInString(k.key) > maxKey {
		return fault.InvalidParameter("Idempotency-Key", "max_length", "must be valid UTF-8 of at most 255 characters")
	}
	for _, r := range k.key {
		if r < ' ' || r == 0x7f {
			return fault.InvalidParameter("Idempotency-Key", "format", "must not contain control characters")
		}
	}
	return nil
}

// hashOf returns a hash of the name and the content of a request's message.
func hashOf(req proto.Message) ([]byte, error) {
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("idempotency: %w", err)
	}
	sum := sha256.New()
	sum.Write([]byte(req.ProtoReflect().Descriptor().FullName()))
	sum.Write([]byte{0})
	sum.Write(body)
	return sum.Sum(nil), nil
}

const pruneBatch = 1000

// pruneSQL deletes the oldest responses that expired between $3 and $1, and returns how many, and when the last of
// them expired. The next call starts there, because the index keeps the deleted ones for as long as a backup sees them.
const pruneSQL = `with gone as (delete from idempotency_keys where ctid = any(array(
		select ctid from idempotency_keys where expires_at between $3 and $1
		order by expires_at limit $2 for update skip locked)) returning expires_at)
	select count(*), coalesce(max(expires_at), $3) from gone`

// Seen reports whether the key of ctx was used before, and if so fills resp with the stored response.
// It locks the key until the end of tx. Use it in requests with several transactions, of which the
// last one runs under Do. The faults are those of Do.
func Seen(ctx context.Context, tx *pg.Tx, req, resp proto.Message) (bool, error) {
	r, err := RequestOf(ctx, req)
	if r == nil || err != nil {
		return false, err
	}
	if err := tx.Pipeline(ctx, Lookup(r)...); err != nil {
		return false, fmt.Errorf("idempotency: %w", err)
	}
	return r.Replay(resp)
}

// Prune deletes the responses that expired before now.
func Prune(ctx context.Context, db *pg.DB, now time.Time) error {
	var from time.Time
	for {
		var n int64
		err := db.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
			return tx.QueryRow(ctx, pruneSQL, now, pruneBatch, from).Scan(&n, &from)
		})
		if err != nil {
			return fmt.Errorf("idempotency: prune: %w", err)
		}
		if n < pruneBatch {
			return nil
		}
	}
}
