package auth

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/pg"
)

const keySetVersionSQL = `select version from signing_key_set`

// keySetVersion returns the version of the set of signing keys, which every change raises.
func (s *store) keySetVersion(ctx context.Context) (int64, error) {
	return pg.One[int64](ctx, s.DB, pg.AllCompanies(), keySetVersionSQL)
}

const lockKeySetSQL = keySetVersionSQL + ` for update`

func (s *store) lockKeySet(ctx context.Context, tx *pg.Tx) (version int64, err error) {
	err = tx.QueryRow(ctx, lockKeySetSQL).Scan(&version)
	return version, err
}

const raiseKeySetSQL = `update signing_key_set set version = version + 1 returning version`

func (s *store) raiseKeySet(ctx context.Context, tx *pg.Tx) (version int64, err error) {
	err = tx.QueryRow(ctx, raiseKeySetSQL).Scan(&version)
	return version, err
}

// One more than the published version, because that number may have had other keys.
const raiseKeySetAboveSQL = `update signing_key_set set version = $1 + 1 where version < $1`

// raiseKeySetAbove raises a version that is below the published one, and reports whether it did.
func (s *store) raiseKeySetAbove(ctx context.Context, tx *pg.Tx, published int64) (bool, error) {
	tag, err := tx.Exec(ctx, raiseKeySetAboveSQL, published)
	return tag.RowsAffected() > 0, err
}

const signingKeysSQL = `select kid, public_key, private_key, created_at, active_from, retired_until from signing_keys order by active_from desc, kid`

func (s *store) signingKeys(ctx context.Context) ([]signingKey, error) {
	return all[signingKey](ctx, s, pg.AllCompanies(), signingKeysSQL)
}

func (s *store) signingKeysInTx(ctx context.Context, tx *pg.Tx) ([]signingKey, error) {
	rows, err := tx.Query(ctx, signingKeysSQL)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[signingKey])
}

const insertSigningKeySQL = `insert into signing_keys (kid, public_key, private_key, created_at, active_from) values ($1, $2, $3, $4, $5)`

func (s *store) insertSigningKey(ctx context.Context, tx *pg.Tx, k signingKey) error {
	_, err := tx.Exec(ctx, insertSigningKeySQL, k.KID, []byte(k.Public), k.Sealed, k.CreatedAt, k.ActiveFrom)
	return err
}

const retireOtherKeysSQL = `update signing_keys set retired_until = $2 where kid <> $1 and retired_until is null`

// retireOtherKeys limits the verification of all keys but one to an instant.
func (s *store) retireOtherKeys(ctx context.Context, tx *pg.Tx, kid string, until time.Time) error {
	_, err := tx.Exec(ctx, retireOtherKeysSQL, kid, until)
	return err
}

const deleteOtherKeysSQL = `delete from signing_keys where kid <> $1`

func (s *store) deleteOtherKeys(ctx context.Context, tx *pg.Tx, kid string) error {
	_, err := tx.Exec(ctx, deleteOtherKeysSQL, kid)
	return err
}

const deleteRetiredKeysSQL = `delete from signing_keys where retired_until < $1`

// deleteRetiredKeys deletes the keys whose last token has expired, and reports whether there was
// one.
func (s *store) deleteRetiredKeys(ctx context.Context, tx *pg.Tx, now time.Time) (bool, error) {
	tag, err := tx.Exec(ctx, deleteRetiredKeysSQL, now)
	return tag.RowsAffected() > 0, err
}
