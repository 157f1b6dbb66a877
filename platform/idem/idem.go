package idem

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/pg"
)

// Kept is how long an answer can be replayed.
const Kept = 24 * time.Hour

// maxKey is the longest key, in characters.
const maxKey = 255

var (
	errReused = fault.New(fault.Conflict, fault.ReasonIdempotencyKeyReused,
		"the idempotency key was used for a different request; use a new key")
	errInProgress = fault.New(fault.Conflict, fault.ReasonIdempotencyInProgress,
		"the first request with this idempotency key is still in progress; try again later").After(time.Second)
)

type keyed struct{ key, caller string }

type ctxKey struct{}

// WithKey marks the request of ctx with the idempotency key its caller sent; ""
// is none. Keys of different callers never meet.
func WithKey(ctx context.Context, key, caller string) context.Context {
	if key == "" {
		return ctx
	}
	return context.WithValue(ctx, ctxKey{}, keyed{key: key, caller: caller})
}

// Key returns the idempotency key of ctx, or "".
func Key(ctx context.Context) string {
	k, _ := ctx.Value(ctxKey{}).(keyed)
	return k.key
}

// lockSQL is a statement of its own: the one after it sees what the previous
// holder of the lock has committed.
const (
	lockSQL = `select pg_try_advisory_xact_lock(hashtextextended(
		concat_ws(e'\x1f', 'idempotency', app_company(), $1::text, $2::text), 0))`

	findSQL = `select request_hash, response from idempotency_keys
		where company_id = coalesce((select app_company()), '00000000-0000-0000-0000-000000000000')
		and caller = $1 and key = $2 and expires_at > now()`

	// An expired row that was not pruned yet gives way.
	storeSQL = `insert into idempotency_keys as i (company_id, caller, key, request_hash, response, expires_at)
		values (coalesce(app_company(), '00000000-0000-0000-0000-000000000000'),
			$1, $2, $3, $4, now() + make_interval(secs => $5))
		on conflict (company_id, caller, key) do update set request_hash = excluded.request_hash,
			response = excluded.response, created_at = excluded.created_at, expires_at = excluded.expires_at
		where i.expires_at <= now()`
)

// Do runs fn, which fills resp, once per idempotency key of ctx; when the key
// was seen before, it fills resp with the answer given then and does not run fn.
// The answer is stored in tx and so commits with the effects of fn; an error of
// fn comes back unchanged and nothing is stored. Without a key it just runs fn.
//
// The company is that of tx's scope. The faults are IDEMPOTENCY_IN_PROGRESS,
// while another transaction has the key, and IDEMPOTENCY_KEY_REUSED, when the
// key belongs to another request.
func Do[R proto.Message](ctx context.Context, tx *pg.Tx, req proto.Message, resp R, fn func() error) error {
	k, ok := ctx.Value(ctxKey{}).(keyed)
	if !ok {
		return fn()
	}
	if err := k.check(); err != nil {
		return err
	}
	hash, err := hashOf(req)
	if err != nil {
		return err
	}
	stored, found, err := k.find(ctx, tx, hash)
	if err != nil {
		return err
	}
	if found {
		if err := proto.Unmarshal(stored, resp); err != nil {
			return fmt.Errorf("idempotency: stored response: %w", err)
		}
		return nil
	}
	if err := fn(); err != nil {
		return err
	}
	return k.store(ctx, tx, hash, resp)
}

func (k keyed) check() error {
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

// hashOf identifies a request: its message's name and its content.
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

// find takes the key's lock until the end of tx and looks for a stored answer,
// in one round trip.
func (k keyed) find(ctx context.Context, tx *pg.Tx, hash []byte) (response []byte, found bool, err error) {
	var batch pgx.Batch
	var locked bool
	batch.Queue(lockSQL, k.caller, k.key).QueryRow(func(row pgx.Row) error { return row.Scan(&locked) })
	var storedHash []byte
	batch.Queue(findSQL, k.caller, k.key).QueryRow(func(row pgx.Row) error {
		err := row.Scan(&storedHash, &response)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		found = err == nil
		return err
	})
	if err := tx.SendBatch(ctx, &batch).Close(); err != nil {
		return nil, false, fmt.Errorf("idempotency: %w", err)
	}
	switch {
	case found && string(storedHash) != string(hash):
		return nil, false, errReused
	case found:
		return response, true, nil
	case !locked:
		return nil, false, errInProgress
	}
	return nil, false, nil
}

func (k keyed) store(ctx context.Context, tx *pg.Tx, hash []byte, resp proto.Message) error {
	response, err := proto.MarshalOptions{}.MarshalAppend([]byte{}, resp)
	if err != nil {
		return fmt.Errorf("idempotency: %w", err)
	}
	tag, err := tx.Exec(ctx, storeSQL, k.caller, k.key, hash, response, Kept.Seconds())
	if err != nil {
		return fmt.Errorf("idempotency: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return errInProgress
	}
	return nil
}

const pruneBatch = 1000

const pruneSQL = `delete from idempotency_keys where (company_id, caller, key) in
	(select company_id, caller, key from idempotency_keys where expires_at <= $1 limit $2 for update skip locked)`

// Seen reports whether the key of ctx was seen before, and if so fills resp with
// the answer given then. Until the end of tx nobody else gets further with the key
// than this. It is for requests of several transactions, of which the last one is
// under Do. The faults are those of Do.
func Seen(ctx context.Context, tx *pg.Tx, req, resp proto.Message) (bool, error) {
	k, ok := ctx.Value(ctxKey{}).(keyed)
	if !ok {
		return false, nil
	}
	if err := k.check(); err != nil {
		return false, err
	}
	hash, err := hashOf(req)
	if err != nil {
		return false, err
	}
	stored, found, err := k.find(ctx, tx, hash)
	if err != nil || !found {
		return false, err
	}
	return true, proto.Unmarshal(stored, resp)
}

// Request returns whose key ctx has, the key, and what identifies req.
func Request(ctx context.Context, req proto.Message) (caller, key string, hash []byte, err error) {
	k, _ := ctx.Value(ctxKey{}).(keyed)
	hash, err = hashOf(req)
	return k.caller, k.key, hash, err
}

// Reused is the fault of a key that belongs to another request.
func Reused() error { return errReused }

// Prune deletes answers that expired before now.
func Prune(ctx context.Context, db *pg.DB, now time.Time) error {
	for {
		var n int64
		err := db.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
			tag, err := tx.Exec(ctx, pruneSQL, now, pruneBatch)
			n = tag.RowsAffected()
			return err
		})
		if err != nil {
			return fmt.Errorf("idempotency: prune: %w", err)
		}
		if n < pruneBatch {
			return nil
		}
	}
}
