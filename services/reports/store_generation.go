package reports

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

const (
	// claimSQL claims the generation in state $1 that has waited longest.
	claimSQL = `update generations g set lease = $2, lease_until = $3, attempt = g.attempt + 1
		where (company_id, generation) = (select company_id, generation from generations
			where state = $1 and lease_until <= $4 order by lease_until limit 1 for update skip locked)
		returning company_id, generation, step, after_id, attempt`

	advanceSQL = `update generations set step = $4, after_id = $5, rows = rows + $6, lease_until = $7, failure = '', attempt = 0
		where company_id = $1 and generation = $2 and lease = $3 and state = 'building' returning generation, state, timezone`

	failSQL = `update generations set failure = $4, lease = null, lease_until = $5 where company_id = $1 and generation = $2 and lease = $3`

	// retireSQL keeps the rows of the generation until $2, for the reports that read them now.
	retireSQL = `update generations set state = 'retired', lease = null, lease_until = $2 where company_id = $1 and state = 'current'`

	openSQL = `update generations set state = 'current', built_at = $4, lease = null
		where company_id = $1 and generation = $2 and lease = $3 and state = 'building' returning generation, state, timezone`

	forgetSQL = `delete from generations where company_id = $1 and generation = $2 and state = 'retired'`

	renewSQL = `update generations set lease_until = $4 where company_id = $1 and generation = $2 and lease = $3`

	buildingSQL = `select count(*) from generations where state = 'building'`

	statusSQL = `select generation, state, timezone, step, rows, failure, started_at, built_at from generations where company_id = $1 and state <> 'retired'`
)

// generationTables are the tables whose rows belong to a generation.
var generationTables = []string{
	"events", "dates", "bookings", "movements", "customer_passes", "ledger_entries", "pass_types", "plans", "subscription_movements", "customers",
	"takings", "product_takings", "attendance", "event_attendance", "monthly_attendance", "credits", "monthly_credits", "created_customers", "active_days", "activity",
}

// claim is a build, or the deletion of a generation, that this process works on.
type claim struct {
	Company    id.Company `db:"company_id"`
	Generation int64      `db:"generation"`
	Step       string     `db:"step"`
	AfterID    string     `db:"after_id"`
	Attempt    int        `db:"attempt"`
	lease      id.UUID
}

// claim claims the generation in a state that has waited longest, or returns nil.
func (s *store) claim(ctx context.Context, state string, lease id.UUID, now, until time.Time) (*claim, error) {
	var found []claim
	err := s.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		return tx.Pipeline(ctx, pg.Query{SQL: claimSQL, Args: []any{state, lease, until, now}, Scan: pg.Each(func(rows pgx.Rows) error {
			var c claim
			err := rows.Scan(&c.Company, &c.Generation, &c.Step, &c.AfterID, &c.Attempt)
			found = append(found[:0], c)
			return err
		})})
	})
	if err != nil || len(found) == 0 {
		return nil, s.Fault(err)
	}
	found[0].lease = lease
	return &found[0], nil
}

// errLost says that another process builds the generation, or that it is gone.
var errLost = errors.New("the build is not that of this process any more")

// advance applies facts of a snapshot to a generation that is built, and stores how far the build is.
func (s *store) advance(ctx context.Context, c *claim, f *facts, step, after string, count int, until time.Time) error {
	return s.Write(ctx, c.Company, func(ctx context.Context, tx *pg.Tx) error {
		if _, err := s.lock(ctx, tx, c.Company); err != nil {
			return err
		}
		var mine []live
		err := tx.Pipeline(ctx, pg.Query{
			SQL: advanceSQL, Args: []any{c.Company, c.Generation, c.lease, step, after, count, until}, Scan: scanLive(&mine),
		})
		switch {
		case err != nil:
			return err
		case len(mine) == 0:
			return errLost
		case f == nil:
			return nil
		}
		return s.apply(ctx, tx, c.Company, mine[0], f)
	})
}

// open makes reports show a generation whose snapshots are read. If the company's zone changed in the
// meantime, the next build starts.
func (s *store) open(ctx context.Context, c *claim, now, keptUntil time.Time) error {
	return s.Write(ctx, c.Company, func(ctx context.Context, tx *pg.Tx) error {
		l, err := s.lock(ctx, tx, c.Company)
		if err != nil {
			return err
		}
		l.live = nil
		err = tx.Pipeline(ctx, pg.Query{SQL: retireSQL, Args: []any{c.Company, keptUntil}},
			pg.Query{SQL: openSQL, Args: []any{c.Company, c.Generation, c.lease, now}, Scan: scanLive(&l.live)})
		if err != nil {
			return err
		}
		if len(l.live) == 0 {
			return errLost
		}
		if l.needsBuild() {
			return s.start(ctx, tx, c.Company, &l, now)
		}
		return nil
	})
}

// fail stores why a build failed. It is tried again at a time.
func (s *store) fail(ctx context.Context, c *claim, failure string, again time.Time) error {
	return s.Write(ctx, c.Company, func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, failSQL, c.Company, c.Generation, c.lease, failure, again)
		return err
	})
}

// deletedAtOnce is the number of rows that one commit deletes.
const deletedAtOnce = 5000

// empty deletes rows of a retired generation in a table, and reports whether it found any.
func (s *store) empty(ctx context.Context, c *claim, table string, until time.Time) (found bool, err error) {
	err = s.Write(ctx, c.Company, func(ctx context.Context, tx *pg.Tx) error {
		tag, err := tx.Exec(ctx, `delete from `+table+` where ctid = any(array(select ctid from `+table+`
			where company_id = $1 and generation = $2 limit $3))`, c.Company, c.Generation, deletedAtOnce)
		found = tag.RowsAffected() > 0
		if err == nil {
			tx.Queue(pg.Query{SQL: renewSQL, Args: []any{c.Company, c.Generation, c.lease, until}})
		}
		return err
	})
	return found, err
}

// forget deletes the row of a generation that has no other rows.
func (s *store) forget(ctx context.Context, c *claim) error {
	return s.Write(ctx, c.Company, func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, forgetSQL, c.Company, c.Generation)
		return err
	})
}

// building returns the number of builds of all companies.
func (s *store) building(ctx context.Context) (int64, error) {
	n, err := pg.One[int64](ctx, s.DB, pg.AllCompanies(), buildingSQL)
	return n, s.Fault(err)
}

// generation is the state of a generation.
type generation struct {
	Number    int64      `db:"generation"`
	State     string     `db:"state"`
	Timezone  string     `db:"timezone"`
	Step      string     `db:"step"`
	Rows      int64      `db:"rows"`
	Failure   string     `db:"failure"`
	StartedAt time.Time  `db:"started_at"`
	BuiltAt   *time.Time `db:"built_at"`
}

// status is the state of the read models of a company.
type status struct{ generations []generation }

// status returns the state of the read models of a company.
func (s *store) status(ctx context.Context, company id.Company) (status, error) {
	var st status
	err := s.ReadOf(ctx, company, pg.Query{SQL: statusSQL, Args: []any{company}, Scan: pg.Collect(&st.generations)})
	return st, err
}

// of returns the generation in a state, or nil.
func (s status) of(state string) *generation {
	for i := range s.generations {
		if s.generations[i].State == state {
			return &s.generations[i]
		}
	}
	return nil
}

// begin starts a build if isNeeded says so. zone is that of a company without a copy.
func (s *store) begin(ctx context.Context, company id.Company, zone string, isNeeded func(locked) bool, now time.Time) error {
	return s.Write(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		l, err := s.lock(ctx, tx, company)
		if err != nil || !isNeeded(l) {
			return err
		}
		if l.zone == "" {
			l.zone = zone
		}
		return s.start(ctx, tx, company, &l, now)
	})
}
