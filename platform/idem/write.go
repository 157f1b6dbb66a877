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
