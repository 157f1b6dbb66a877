package webhook

import (
	"context"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/seal"
	"reservation.dev/services/webhook/message"
)

// store has every SQL statement of the service. Those about endpoints are in this file, the others
// in the other store files.
type store struct {
	pg.Store
	sealer *seal.Sealer
}

func newStore(db *pg.DB, sealer *seal.Sealer) *store {
	return &store{Store: pg.Store{DB: db}, sealer: sealer}
}

const endpointColumns = `id, url, description, events, enabled, disabled_reason, disabled_at, failing_since, version, created_at, updated_at`

const (
	endpointSQL = `select ` + endpointColumns + ` from endpoints where company_id = $1 and id = $2 and deleted_at is null`

	lockEndpointSQL = endpointSQL + ` for no key update`

	endpointsSQL = `select ` + endpointColumns + ` from endpoints where company_id = $1 and deleted_at is null order by id`

	// Endpoints of a company are created one after the other, so that the limit holds.
	lockCompanySQL = `select pg_advisory_xact_lock(hashtextextended('webhook endpoints ' || $1::uuid, 0))`

	countEndpointsSQL = `select count(*) from endpoints where company_id = $1 and deleted_at is null`

	addEndpointSQL = `insert into endpoints (company_id, id, url, description, events, enabled, disabled_reason, disabled_at, created_at, updated_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9)`

	saveEndpointSQL = `update endpoints set url = $3, description = $4, events = $5, enabled = $6, disabled_reason = $7, disabled_at = $8,
			failing_since = $9, warned_at = case when $9::timestamptz is null then null else warned_at end, version = $10, updated_at = $11
		where company_id = $1 and id = $2`

	deleteEndpointSQL = `update endpoints set enabled = false, disabled_reason = coalesce(disabled_reason, 'requested'),
			disabled_at = coalesce(disabled_at, $3), deleted_at = $3, updated_at = $3, version = version + 1
		where company_id = $1 and id = $2`

	deleteSecretsSQL = `delete from endpoint_secrets where company_id = $1 and endpoint_id = $2`

	// Leased deliveries are being sent; the holder of the lease writes their outcome.
	failQueuedSQL = `update deliveries set state = 'failed', due_at = null, last_failure = 'endpoint', finished_at = $3
		where company_id = $1 and endpoint_id = $2 and due_at is not null and lease is null`
)

// endpoint returns one endpoint.
func (s *store) endpoint(ctx context.Context, company id.Company, endpoint id.WebhookEndpoint) (Endpoint, error) {
	return pg.Get[Endpoint](ctx, s.Store, company, "endpoint", endpointSQL, company, endpoint)
}

// lockEndpoint is endpoint for a transaction that changes it.
func (s *store) lockEndpoint(ctx context.Context, tx *pg.Tx, company id.Company, endpoint id.WebhookEndpoint) (Endpoint, error) {
	return pg.GetInTx[Endpoint](ctx, tx, "endpoint", lockEndpointSQL, company, endpoint)
}

// endpoints returns all endpoints of a company, oldest first.
func (s *store) endpoints(ctx context.Context, company id.Company) ([]Endpoint, error) {
	list, err := pg.Rows[Endpoint](ctx, s.DB, pg.For(company), endpointsSQL, company)
	return list, s.Fault(err)
}

// addEndpoint stores a new endpoint and its first secret.
func (s *store) addEndpoint(ctx context.Context, tx *pg.Tx, company id.Company, e Endpoint, secret message.Secret) error {
	if _, err := tx.Exec(ctx, lockCompanySQL, company); err != nil {
		return err
	}
	var n int
	if err := tx.QueryRow(ctx, countEndpointsSQL, company).Scan(&n); err != nil {
		return err
	}
	if n >= maxEndpoints {
		return fault.Refuse(ReasonTooManyEndpoints, "the company already has 50 endpoints")
	}
	_, err := tx.Exec(ctx, addEndpointSQL, company, e.ID, e.URL, e.Description, e.Events, e.Enabled, e.DisabledReason, e.DisabledAt, e.CreatedAt)
	if err != nil {
		return err
	}
	return s.addSecret(ctx, tx, company, e.ID, secret)
}

// saveEndpoint stores a changed endpoint. If it is disabled, its queued deliveries fail.
func (s *store) saveEndpoint(ctx context.Context, tx *pg.Tx, company id.Company, e Endpoint, at time.Time) error {
	_, err := tx.Exec(ctx, saveEndpointSQL, company, e.ID, e.URL, e.Description, e.Events, e.Enabled, e.DisabledReason, e.DisabledAt,
		e.FailingSince, e.Version, e.UpdatedAt)
	if err != nil || e.Enabled {
		return err
	}
	_, err = tx.Exec(ctx, failQueuedSQL, company, e.ID, at)
	return err
}

// deleteEndpoint deletes a locked endpoint and its secrets. Its queued deliveries fail.
func (s *store) deleteEndpoint(ctx context.Context, tx *pg.Tx, company id.Company, endpoint id.WebhookEndpoint, at time.Time) error {
	if _, err := tx.Exec(ctx, deleteEndpointSQL, company, endpoint, at); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, deleteSecretsSQL, company, endpoint); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, failQueuedSQL, company, endpoint, at)
	return err
}
