package webhook

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

const (
	lockDeliverySQL = deliverySQL + ` for no key update`

	replaySQL = `update deliveries set state = 'pending', due_at = $3, tries = 0, finished_at = null, replayed_at = $3
		where company_id = $1 and id = $2 and lease is null returning ` + deliveryColumns

	// Materialized for the same reason as replaysSQL.
	replayFailedSQL = `with chosen as materialized (
			select f.id from deliveries f join endpoints e on e.company_id = f.company_id and e.id = f.endpoint_id and e.enabled
			where f.company_id = $1 and f.state = 'failed' and not f.test and f.finished_at >= $2 and f.finished_at < $3
				and ($4::uuid is null or f.endpoint_id = $4)
			order by f.finished_at, f.id limit $5 for update of f skip locked)
		update deliveries d set state = 'pending', due_at = $3, tries = 0, finished_at = null, replayed_at = $3
		from chosen where d.company_id = $1 and d.id = chosen.id
		returning d.endpoint_id`
)

// replay makes a delivery due now. A delivery that is being sent stays unchanged.
func (s *store) replay(ctx context.Context, tx *pg.Tx, company id.Company, delivery id.WebhookDelivery, now time.Time) (Delivered, error) {
	d, err := pg.GetInTx[Delivered](ctx, tx, "delivery", lockDeliverySQL, company, delivery)
	if err != nil {
		return d, err
	}
	e, err := pg.GetInTx[Endpoint](ctx, tx, "endpoint", endpointSQL, company, d.EndpointID)
	if err != nil {
		return d, err
	}
	if err := e.refuseReplay(); err != nil {
		return d, err
	}
	rows, err := tx.Query(ctx, replaySQL, company, delivery, now)
	if err != nil {
		return d, err
	}
	again, err := pgx.CollectRows(rows, pgx.RowToStructByName[Delivered])
	if err != nil || len(again) == 0 {
		return d, err
	}
	return again[0], nil
}

// replayBatch is the number of deliveries that one commit replays.
const replayBatch = 5000

// replayFailed makes a batch of failed deliveries due now and returns the endpoint of each.
// Deliveries that fail again after now are not replayed a second time.
func (s *store) replayFailed(ctx context.Context, company id.Company, endpoint id.WebhookEndpoint, since, now time.Time,
	record func(ctx context.Context, tx *pg.Tx, replayed int) error) (owners []id.WebhookEndpoint, err error) {
	err = s.Write(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		owners, err = collectOwners(tx.Query(ctx, replayFailedSQL, company, since, now, endpoint, replayBatch))
		if err != nil {
			return err
		}
		return record(ctx, tx, len(owners))
	})
	return owners, err
}

const (
	// A delivery that is being sent has a lease and stays unchanged. Materialized, because
	// PostgreSQL could otherwise evaluate the subquery for each row, where its limit would have no
	// effect.
	replaysSQL = `with chosen as materialized (
			select f.id from deliveries f join endpoints e on e.company_id = f.company_id and e.id = f.endpoint_id and e.enabled
			where f.company_id = $1 and f.lease is null`

	makeDueSQL = ` for no key update of f skip locked)
		update deliveries d set state = 'pending', due_at = $2, tries = 0, finished_at = null, replayed_at = $3
		from chosen where d.company_id = $1 and d.id = chosen.id
		returning d.endpoint_id`

	countReplaysSQL = `select count(*) from (
		select from deliveries f join endpoints e on e.company_id = f.company_id and e.id = f.endpoint_id and e.enabled
		where f.company_id = $1`

	countTestsSQL = `select count(*) from (select from deliveries f where f.company_id = $1 and f.test`
)

// clock returns the time by the database's clock, by which created_at is set too. A delivery that is
// created later is created after this time, whichever process creates it.
func (s *store) clock(ctx context.Context, company id.Company) (time.Time, error) {
	now, err := pg.One[time.Time](ctx, s.DB, pg.For(company), `select now()`)
	return now, s.Fault(err)
}

// narrowReplays adds the condition for the deliveries that matched a filter at an instant and were
// not replayed since.
func (f logFilter) narrowReplays(s *pg.Statement, asOf time.Time) {
	f.narrow(s, "f.")
	at := s.Arg(asOf)
	s.SQL += " and not f.test and f.created_at <= " + at + " and (f.replayed_at is null or f.replayed_at < " + at + ")"
}

// countReplays counts these deliveries, up to a limit.
func (s *store) countReplays(ctx context.Context, company id.Company, f logFilter, asOf time.Time, most int) (int64, error) {
	sql := pg.Statement{SQL: countReplaysSQL, Args: []any{company}}
	f.narrowReplays(&sql, asOf)
	return s.count(ctx, company, sql, most)
}

// countTests counts the test deliveries that matched a filter at an instant, up to a limit.
func (s *store) countTests(ctx context.Context, company id.Company, f logFilter, asOf time.Time, most int) (int64, error) {
	sql := pg.Statement{SQL: countTestsSQL, Args: []any{company}}
	f.narrow(&sql, "f.")
	sql.And("f.created_at <= %s", asOf)
	return s.count(ctx, company, sql, most)
}

// countFailedTests counts the test deliveries that have failed since an instant, of one endpoint
// or, if it is zero, of all, up to a limit.
func (s *store) countFailedTests(ctx context.Context, company id.Company, endpoint id.WebhookEndpoint, since time.Time, most int) (int64, error) {
	sql := pg.Statement{SQL: countTestsSQL + ` and f.state = 'failed'`, Args: []any{company}}
	sql.And("f.finished_at >= %s", since)
	if !endpoint.IsZero() {
		sql.And("f.endpoint_id = %s", endpoint)
	}
	return s.count(ctx, company, sql, most)
}

// count runs a statement that ends with the where clause of the counted rows.
func (s *store) count(ctx context.Context, company id.Company, sql pg.Statement, most int) (int64, error) {
	sql.SQL += " limit " + sql.Arg(most) + ") counted"
	n, err := pg.One[int64](ctx, s.DB, pg.For(company), sql.SQL, sql.Args...)
	return n, s.Fault(err)
}

// replayBatch makes a batch of a filter's deliveries due now and returns the endpoint of each.
// Their replayed_at is set to the time of the count.
func (s *store) replayBatch(ctx context.Context, tx *pg.Tx, company id.Company, r filteredReplay, most int) ([]id.WebhookEndpoint, error) {
	sql := pg.Statement{SQL: replaysSQL, Args: []any{company, r.now, r.asOf}}
	r.filter.narrowReplays(&sql, r.asOf)
	sql.SQL += " order by f.id limit " + sql.Arg(most) + makeDueSQL
	return collectOwners(tx.Query(ctx, sql.SQL, sql.Args...))
}

// replayListed makes the listed deliveries due now and returns the endpoint of each that was
// changed.
func (s *store) replayListed(ctx context.Context, tx *pg.Tx, company id.Company, ids []id.UUID, now time.Time) ([]id.WebhookEndpoint, error) {
	sql := pg.Statement{SQL: replaysSQL, Args: []any{company, now, now}}
	sql.And("f.id = any(%s)", ids)
	sql.SQL += " order by f.id limit " + sql.Arg(maxIDs) + makeDueSQL
	return collectOwners(tx.Query(ctx, sql.SQL, sql.Args...))
}

func collectOwners(rows pgx.Rows, err error) ([]id.WebhookEndpoint, error) {
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[id.WebhookEndpoint])
}
