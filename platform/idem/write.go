package idem

import (
	"context"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// Store runs a transaction of a company. pg.Store implements it.
type Store interface {
	Write(ctx context.Context, company id.Company, fn func(ctx context.Context, tx *pg.Tx) error) error
}

// Write runs fn, which fills resp, in one transaction of the company and returns resp. It runs fn at
// most once per idempotency key of ctx, and otherwise returns the stored response; see Do. fn must be
// repeatable, because the transaction can be retried. Each time fn starts, resp is empty.
func Write[R proto.Message](ctx context.Context, store Store, company id.Company, req proto.Message, resp R,
	fn func(ctx context.Context, tx *pg.Tx) error) (R, error) {
	err := store.Write(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		proto.Reset(resp)
		return Do(ctx, tx, req, resp, func() error { return fn(ctx, tx) })
	})
	if err != nil {
		var none R
		return none, err
	}
	return resp, nil
}

// The caller of the row is that of the request, or its own row; see Request.found.
const reviseSQL = `update idempotency_keys set response = $4
	where company_id = app_company() and caller = any($1) and key = $2 and request_hash = $3 and expires_at > now()`

// Revise replaces the stored response of a request after its commit. Use it if work after the commit adds to
// the response, so that a retry gets the same. A retry before Revise gets the response of the commit.
// Without a key, Revise does nothing.
func Revise(ctx context.Context, store Store, company id.Company, req, resp proto.Message) error {
	r, err := RequestOf(ctx, req)
	if r == nil || err != nil {
		return err
	}
	if err := r.Respond(resp); err != nil {
		return err
	}
	return store.Write(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, reviseSQL, []string{r.id.caller, r.id.ownRow()}, r.id.key, r.hash, r.response)
		return err
	})
}
