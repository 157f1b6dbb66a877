package idem

import (
	"context"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// Store runs transactions of a company, as pg.Store does.
type Store interface {
	Write(ctx context.Context, company id.Company, fn func(ctx context.Context, tx *pg.Tx) error) error
}

// Write is how an RPC writes: it runs fn, which fills resp, in one transaction of the
// company, once per idempotency key of ctx, and returns resp. A request that was
// answered before gets that answer again (see Do). fn must be repeatable; resp is empty
// each time it begins.
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
