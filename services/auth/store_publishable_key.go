package auth

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

const publishableColumns = `company_id, id, name, origins, generation, revoked_at, disabled_at, deleted_at, version, created_at, updated_at`

const (
	// The company is not known when a token is requested.
	anyPublishableKeySQL = `select ` + publishableColumns + ` from publishable_keys where id = $1 and deleted_at is null`

	publishableKeySQL = `select ` + publishableColumns + ` from publishable_keys
		where company_id = $1 and id = $2 and deleted_at is null`

	lockPublishableKeySQL = publishableKeySQL + ` for update`

	publishableKeysSQL = `select ` + publishableColumns + ` from publishable_keys
		where company_id = $1 and deleted_at is null order by id limit $2`

	countPublishableKeysSQL = `select count(*) from publishable_keys where company_id = $1 and deleted_at is null`

	insertPublishableKeySQL = `insert into publishable_keys (` + publishableColumns + `)
		values (@company_id, @id, @name, @origins, @generation, @revoked_at, @disabled_at, @deleted_at, @version, @created_at, @updated_at)`

	updatePublishableKeySQL = `update publishable_keys set name = @name, origins = @origins, generation = @generation, revoked_at = @revoked_at,
		disabled_at = @disabled_at, deleted_at = @deleted_at, version = @version, updated_at = @updated_at
		where company_id = @company_id and id = @id`

	revokedPublishableKeysSQL = `select ` + publishableColumns + ` from publishable_keys where revoked_at > $1`

	prunePublishableKeysSQL = `delete from publishable_keys where revoked_at < $1 and deleted_at is not null`
)

func (s *store) anyPublishableKey(ctx context.Context, key id.PublishableKey) (PublishableKey, error) {
	return one[PublishableKey](ctx, s, pg.Lookup(), "publishable key", anyPublishableKeySQL, key)
}

func (s *store) publishableKey(ctx context.Context, company id.Company, key id.PublishableKey) (PublishableKey, error) {
	return one[PublishableKey](ctx, s, pg.For(company), "publishable key", publishableKeySQL, company, key)
}

func (s *store) lockPublishableKey(ctx context.Context, tx *pg.Tx, company id.Company, key id.PublishableKey) (PublishableKey, error) {
	return pg.GetInTx[PublishableKey](ctx, tx, "publishable key", lockPublishableKeySQL, company, key)
}

func (s *store) publishableKeys(ctx context.Context, company id.Company) ([]PublishableKey, error) {
	return all[PublishableKey](ctx, s, pg.For(company), publishableKeysSQL, company, maxPublishableKeys)
}

// countPublishableKeys needs the lock of the company, so that the count cannot change.
func (s *store) countPublishableKeys(ctx context.Context, tx *pg.Tx, company id.Company) (n int, err error) {
	err = tx.QueryRow(ctx, countPublishableKeysSQL, company).Scan(&n)
	return n, err
}

func (s *store) insertPublishableKey(ctx context.Context, tx *pg.Tx, k PublishableKey) error {
	_, err := tx.Exec(ctx, insertPublishableKeySQL, rowArgs(k, pgx.NamedArgs{}))
	return err
}

func (s *store) updatePublishableKey(ctx context.Context, tx *pg.Tx, k PublishableKey) error {
	_, err := tx.Exec(ctx, updatePublishableKeySQL, rowArgs(k, pgx.NamedArgs{}))
	return err
}

// revokedPublishableKeys returns the keys that were revoked after an instant.
func (s *store) revokedPublishableKeys(ctx context.Context, after time.Time) ([]PublishableKey, error) {
	return all[PublishableKey](ctx, s, pg.Lookup(), revokedPublishableKeysSQL, after)
}

// prunePublishableKeys deletes the rows of keys that were deleted before an instant.
func (s *store) prunePublishableKeys(ctx context.Context, tx *pg.Tx, before time.Time) error {
	_, err := tx.Exec(ctx, prunePublishableKeysSQL, before)
	return err
}
