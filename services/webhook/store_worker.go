package webhook

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// A report does not wait for the disk: after a crash of the database, a lost one is only older.
const (
	reportSQL = `with mine as (update workers set seen_at = clock_timestamp() where first_lease = $1 returning 1) ` + reportedSQL

	registerSQL = `with mine as (insert into workers (first_lease, last_lease, seen_at) values ($1, $2, clock_timestamp()) returning 1) ` + reportedSQL

	reportedSQL = `select exists (select from mine) as held, clock_timestamp() as at, set_config('synchronous_commit', 'off', true) as quick,
		array(select first_lease from workers w where first_lease <> $1 order by first_lease) as others,
		array(select seen_at from workers w where first_lease <> $1 order by first_lease) as seen`

	// endLeasesSQL reads all pending deliveries, which only happens when a process is gone. Rows that
	// a transaction of that process still locks stay leased until due_at.
	endLeasesSQL = `with gone as (
			delete from workers w using unnest($1::uuid[], $2::timestamptz[]) as s (first_lease, seen_at)
			where w.first_lease = s.first_lease and w.seen_at = s.seen_at returning w.first_lease, w.last_lease
		), held as (
			select d.company_id, d.id from deliveries d join gone g on d.lease between g.first_lease and g.last_lease
			where d.due_at is not null for update of d skip locked
		), freed as (
			update deliveries d set lease = null, due_at = now() from held h where d.company_id = h.company_id and d.id = h.id
			returning d.company_id, d.endpoint_id
		) select distinct company_id, endpoint_id from freed`

	unregisterSQL = `delete from workers w where first_lease = $1 and not exists (
		select from deliveries d where d.due_at is not null and d.lease between w.first_lease and w.last_lease)`
)

// reported is the answer to a report.
type reported struct {
	Held   bool      `db:"held"` // this worker is known, so its leases are valid
	At     time.Time `db:"at"`   // the database's clock
	Quick  string    `db:"quick"`
	Others []id.UUID `db:"others"`
	// Seen has the last report of each of the others.
	Seen []time.Time `db:"seen"`
}

// report records that a worker is alive.
func (s *store) report(ctx context.Context, w worker) (reported, error) {
	return s.reported(ctx, reportSQL, uuidOf(w))
}

// register records a new worker.
func (s *store) register(ctx context.Context, w worker) (reported, error) {
	return s.reported(ctx, registerSQL, uuidOf(w), uuidOf(w.last()))
}

// reported runs a statement in one round trip. The table of workers has no rows of companies.
func (s *store) reported(ctx context.Context, sql string, args ...any) (reported, error) {
	rows, err := s.DB.Pool().Query(ctx, sql, args...)
	if err != nil {
		return reported{}, err
	}
	return pgx.CollectOneRow(rows, pgx.RowToStructByName[reported])
}

// endLeases removes workers that have not reported since they were seen, and makes their deliveries
// due now. It returns the endpoints of these deliveries.
func (s *store) endLeases(ctx context.Context, gone []sighting) ([]endpointKey, error) {
	workers, seen := make([]pgtype.UUID, len(gone)), make([]time.Time, len(gone))
	for i, g := range gone {
		workers[i], seen[i] = uuidOf(g.worker), g.at
	}
	var freed []endpointKey
	err := s.DB.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		return byIndex(ctx, tx, endLeasesSQL, []any{workers, seen}, func(rows pgx.Rows) (err error) {
			freed, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (k endpointKey, err error) {
				err = row.Scan(&k.company, &k.endpoint)
				return k, err
			})
			return err
		})
	})
	return freed, err
}

// unregister removes a worker that ends. If it still has leases, others must end them.
func (s *store) unregister(ctx context.Context, w worker) error {
	return s.DB.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		return byIndex(ctx, tx, unregisterSQL, []any{uuidOf(w)}, nil)
	})
}
