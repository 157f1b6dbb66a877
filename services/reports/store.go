package reports

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// store has every SQL statement of the service.
type store struct{ pg.Store }

func newStore(db *pg.DB) *store { return &store{pg.Store{DB: db}} }

// lockWait is how long a transaction waits for the lock of a company. Another transaction holds it only while
// it applies a batch.
const lockWait = 5 * time.Second

const (
	// lockSQL locks the read models of a company.
	lockSQL = `insert into progress as p (company_id) values ($1) on conflict (company_id) do update set last_generation = p.last_generation`

	zoneSQL = `select timezone from companies where company_id = $1`

	liveSQL = `select generation, state, timezone from generations where company_id = $1 and state <> 'retired' order by generation`

	startSQL = `with n as (update progress set last_generation = last_generation + 1 where company_id = $1 returning last_generation)
		insert into generations (company_id, generation, state, timezone, step, started_at, lease_until)
		select $1, last_generation, 'building', $2, $3, $4, $4 from n returning generation, state, timezone`

	// These statements copy from generation $2 to $3 what snapshots do not have: the deletions of customers and events.
	keepDeletedCustomersSQL = `insert into customers (company_id, generation, id, version, created_on, is_deleted)
		select company_id, $3, id, version, created_on, true from customers where company_id = $1 and generation = $2 and is_deleted`
	keepDeletedEventsSQL = `insert into events (company_id, generation, id, version, title, status)
		select company_id, $3, id, version, title, status from events where company_id = $1 and generation = $2 and status = 'deleted'`
)

// live is a generation that events are applied to.
type live struct {
	number   int64
	state    string
	timezone string
}

// The states of a generation.
const (
	stateBuilding = "building"
	stateCurrent  = "current"
)

// locked are the live generations of a locked company, and its present zone; "" if it is not known.
type locked struct {
	zone string
	live []live
}

// lock locks the read models of a company until the transaction ends.
func (s *store) lock(ctx context.Context, tx *pg.Tx, company id.Company) (locked, error) {
	var l locked
	err := tx.Pipeline(ctx, pg.LimitLockWait(lockWait), pg.Query{SQL: lockSQL, Args: []any{company}},
		pg.Query{SQL: zoneSQL, Args: []any{company}, Scan: pg.First(&l.zone)},
		pg.Query{SQL: liveSQL, Args: []any{company}, Scan: scanLive(&l.live)})
	return l, err
}

func scanLive(out *[]live) func(pgx.Rows) error {
	return pg.Each(func(rows pgx.Rows) error {
		var g live
		err := rows.Scan(&g.number, &g.state, &g.timezone)
		*out = append(*out, g)
		return err
	})
}

// isBuilding reports whether a build of the company is in progress.
func (l locked) isBuilding() bool { return l.of(stateBuilding) != nil }

// of returns the generation in a state, or nil.
func (l locked) of(state string) *live {
	for i := range l.live {
		if l.live[i].state == state {
			return &l.live[i]
		}
	}
	return nil
}

// needsBuild reports whether a build has to start: the company has no generation yet, or the days of its
// customers are those of a zone that it had before.
func (l locked) needsBuild() bool {
	current := l.of(stateCurrent)
	return !l.isBuilding() && (current == nil || l.zone != "" && current.timezone != zoneOf(l.zone))
}

// start starts a build of a locked company. The generation gets the deletions that the current one knows, because
// earlier events of what was deleted can still arrive. Deletions add to no sum.
func (s *store) start(ctx context.Context, tx *pg.Tx, company id.Company, l *locked, now time.Time) error {
	err := tx.Pipeline(ctx, pg.Query{SQL: startSQL, Args: []any{company, zoneOf(l.zone), firstStep, now}, Scan: scanLive(&l.live)})
	current, building := l.of(stateCurrent), l.of(stateBuilding)
	if err != nil || current == nil || building == nil {
		return err
	}
	args := []any{company, current.number, building.number}
	return tx.Pipeline(ctx, pg.Query{SQL: keepDeletedCustomersSQL, Args: args}, pg.Query{SQL: keepDeletedEventsSQL, Args: args})
}

// apply applies facts to a generation of a locked company.
func (s *store) apply(ctx context.Context, tx *pg.Tx, company id.Company, g live, c *facts) error {
	k, err := s.known(ctx, tx, company, g.number, c)
	if err != nil {
		return err
	}
	out := outcomeOf(k, c, g.timezone)
	tx.Queue(saveFacts(company, g.number, &out.facts)...)
	tx.Queue(saveSums(company, g.number, out)...)
	return nil
}
