package auth

import (
	"context"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/pg"
)

const (
	lockKeysSQL = `select version from signing_key_set for update`

	keysSQL = `select kid, public_key, private_key, created_at, active_from, retired_until from signing_keys order by active_from desc, kid`

	insertKeySQL = `insert into signing_keys (kid, public_key, private_key, created_at, active_from) values ($1, $2, $3, $4, $5)`

	retireKeysSQL = `update signing_keys set retired_until = $2 where kid <> $1 and retired_until is null`

	dropKeysSQL = `delete from signing_keys where kid <> $1`

	dropRetiredSQL = `delete from signing_keys where retired_until < $1`

	raiseVersionSQL = `update signing_key_set set version = version + 1 returning version`
)

func collectKeys(ctx context.Context, tx *pg.Tx) ([]storedKey, error) {
	rows, err := tx.Query(ctx, keysSQL)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[storedKey])
}

const (
	keysVersionSQL = `select version from signing_key_set`

	// One more than was heard: the same number may have been of other keys.
	adoptVersionSQL = `update signing_key_set set version = $1 + 1 where version < $1`
)
