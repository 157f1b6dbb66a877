package subscription

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/services/subscription/model"
)

const (
	stateSQL = `select ` + subscriptionColumns + `, ` + periodColumns + `, s.state_id, s.pass_exists` + viewFrom

	// The plan of the pass type: that of the subscription, or the last one that included bookings.
	planOfPassSQL = `select ` + planColumns + ` from plans where company_id = $1 and id = coalesce(
			(select s.plan_id from subscriptions s where s.company_id = $1 and s.id = $2 and s.bookings <> 'none'),
			(select p.plan_id from periods p where p.company_id = $1 and p.subscription_id = $2 and p.bookings <> 'none' order by p.number desc limit 1))`

	notGrantedSQL = `select ` + periodColumns + ` from periods p where p.company_id = $1 and p.subscription_id = $2 and not p.granted
		order by p.number limit $3`

	grantsFromSQL = `select ` + periodColumns + ` from periods p where p.company_id = $1 and p.subscription_id = $2 and p.number >= $3
		order by p.number limit $4`

	// A state that fails is claimed again later: after two seconds, and twice as long after each further
	// failure, up to five minutes.
	syncBackoff = ` + make_interval(secs => least(300, 2 * 2 ^ least(pass_sync_attempts, 8)))`

	claimPassesSQL = `with recursive company(id) as (
			(select company_id from subscriptions where pass_sync_due is not null order by company_id limit 1)
			union all select (select s.company_id from subscriptions s where s.pass_sync_due is not null and s.company_id > company.id
				order by s.company_id limit 1) from company where company.id is not null),
		due as (select d.company_id, d.id from (select id from company where id is not null order by random()) c
			cross join lateral (select s.company_id, s.id from subscriptions s
				where s.company_id = c.id and s.pass_sync_due <= $1 order by s.pass_sync_due limit $2 for no key update skip locked) d limit $3)
		update subscriptions s set pass_sync_due = $1::timestamptz` + syncBackoff + `, pass_sync_attempts = pass_sync_attempts + 1
		from due where s.company_id = due.company_id and s.id = due.id returning s.company_id, s.id`

	claimPlansSQL = `with recursive company(id) as (
			(select company_id from plans where pass_sync_due is not null order by company_id limit 1)
			union all select (select l.company_id from plans l where l.pass_sync_due is not null and l.company_id > company.id
				order by l.company_id limit 1) from company where company.id is not null),
		due as (select d.company_id, d.id from (select id from company where id is not null order by random()) c
			cross join lateral (select l.company_id, l.id from plans l
				where l.company_id = c.id and l.pass_sync_due <= $1 order by l.pass_sync_due limit $2 for no key update skip locked) d limit $3)
		update plans l set pass_sync_due = $1::timestamptz` + syncBackoff + `, pass_sync_attempts = pass_sync_attempts + 1
		from due where l.company_id = due.company_id and l.id = due.id returning l.company_id, l.id`

	confirmPlanSQL = `update plans set pass_sync_due = null, pass_sync_since = null, pass_sync_attempts = 0
		where company_id = $1 and id = $2 and version = $3`

	lockStateSQL = `select version, state_id, periods from subscriptions where company_id = $1 and id = $2 for no key update`

	// If this database was restored, the pass service may have made the grant for a lost period with the same
	// number, from which more credits moved. The period then takes over this bound.
	confirmGrantsSQL = `update periods p set granted = true, credits_granted = n.granted, credits_carried_over = n.carried_over,
			credits_expired = n.expired, granted_first_day = n.first_day, max_rollover = greatest(p.max_rollover, n.carried_over)
		from unnest($3::integer[], $4::integer[], $5::integer[], $6::integer[], $7::date[]) n(number, granted, carried_over, expired, first_day)
		where p.company_id = $1 and p.subscription_id = $2 and p.number = n.number
			and (not p.granted or (p.credits_granted, p.credits_carried_over, p.credits_expired, p.granted_first_day)
				is distinct from (n.granted, n.carried_over, n.expired, n.first_day))`

	anyNotGrantedSQL = `select exists (select from periods where company_id = $1 and subscription_id = $2 and not granted)`

	confirmStateSQL = `update subscriptions set pass_exists = true, pass_sync_due = null, pass_sync_since = null, pass_sync_attempts = 0
		where company_id = $1 and id = $2`

	passExistsSQL = `update subscriptions set pass_exists = true where company_id = $1 and id = $2 and not pass_exists`

	// The database was restored to an earlier moment, so the state must apply again.
	raiseVersionSQL = `update subscriptions set version = $3, state_id = $4, pass_exists = true,
			pass_sync_due = $5, pass_sync_since = coalesce(pass_sync_since, $5)
		where company_id = $1 and id = $2`

	refusedSQL = `update subscriptions set pass_sync_due = null, pass_sync_since = null, pass_sync_attempts = 0
		where company_id = $1 and id = $2 and state_id = $3`

	restorePassesSQL = `with batch as (select id from subscriptions where company_id = $1 and id > $3 and has_pass order by id limit $4),
		sent as (update subscriptions s set pass_sync_due = $2, pass_sync_since = coalesce(pass_sync_since, $2), pass_sync_attempts = 0
			from batch where s.company_id = $1 and s.id = batch.id)
		select id, (select count(*) from batch) from batch order by id desc limit 1`

	restorePlansSQL = `update plans set pass_sync_due = $2, pass_sync_since = coalesce(pass_sync_since, $2), pass_sync_attempts = 0
		where company_id = $1 and has_pass_type`
)

// passToSync is the state of a subscription's pass.
type passToSync struct {
	view    model.View
	stateID id.UUID
	exists  bool           // the pass service has confirmed a state
	plan    *planRow       // of the pass type; nil if no plan of the subscription included bookings
	periods []model.Period // whose grants are sent
}

// passToSync reads the state of a subscription's pass, with the grants from a period on; 0 means those that are
// not confirmed.
func (s *store) passToSync(ctx context.Context, company id.Company, subscription id.Subscription, from int32) (n passToSync, err error) {
	var plans []planRow
	found := false
	own := []any{company, subscription}
	grants := pg.Query{SQL: notGrantedSQL, Args: []any{company, subscription, grantsAtOnce}, Scan: scanPeriods(&n.periods)}
	if from > 0 {
		grants.SQL, grants.Args = grantsFromSQL, []any{company, subscription, from, grantsAtOnce}
	}
	state := pg.Query{SQL: stateSQL, Args: own, Scan: pg.Each(func(rows pgx.Rows) error {
		found = true
		fields := append(subscriptionFields(&n.view.Subscription), periodFields(&n.view.Current)...)
		return rows.Scan(append(fields, &n.stateID, &n.exists)...)
	})}
	err = s.ReadOf(ctx, company, state, pg.Query{SQL: planOfPassSQL, Args: own, Scan: pg.Collect(&plans)}, grants)
	if err == nil && !found {
		err = fault.Missing("subscription")
	}
	if err != nil {
		return n, err
	}
	if len(plans) > 0 {
		n.plan = &plans[0]
	}
	return n, nil
}

// claimPasses claims subscriptions whose state is to be sent: up to perCompany of each company, and up to limit.
func (s *store) claimPasses(ctx context.Context, now time.Time, perCompany, limit int) ([]owned[id.Subscription], error) {
	return claim[id.Subscription](ctx, s, claimPassesSQL, now, perCompany, limit)
}

// claimPlans claims plans whose pass type is to be sent: up to perCompany of each company, and up to limit.
func (s *store) claimPlans(ctx context.Context, now time.Time, perCompany, limit int) ([]owned[id.Plan], error) {
	return claim[id.Plan](ctx, s, claimPlansSQL, now, perCompany, limit)
}

func claim[T any](ctx context.Context, s *store, sql string, args ...any) (due []owned[T], err error) {
	err = s.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		due = nil
		return tx.Pipeline(ctx, pg.Query{SQL: sql, Args: args, Scan: scanOwned(&due)})
	})
	return due, s.Fault(err)
}

// confirmPlan stores that the pass service has the pass type of a version of a plan.
func (s *store) confirmPlan(ctx context.Context, company id.Company, p planRow) error {
	return s.Write(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, confirmPlanSQL, company, p.ID, p.Version)
		return err
	})
}

// confirmation is what remains to be done after an answer of the pass service.
type confirmation int

const (
	passConfirmed  confirmation = iota // nothing, or a newer state is sent by the one that has committed it
	passPending                        // further grants, or the state with a higher version
	passIncomplete                     // the grants after the last one that the pass service has
)

// passState is what the pass service has of a subscription.
type passState struct {
	version    int64
	stateID    string
	lastPeriod int32
	grants     []grant // those of the request
}

// grant is the credits of one period.
type grant struct {
	subscription                  id.Subscription
	period                        int32
	granted, carriedOver, expired int32
	firstDay                      time.Time // of the period for which it was granted
}

// confirmPass stores the answer of the pass service to a state. If the answer shows that this database was
// restored to an earlier moment, the subscription continues with a higher version and the given state.
func (s *store) confirmPass(ctx context.Context, company id.Company, sent passToSync, got passState,
	newState id.UUID, now time.Time) (next confirmation, err error) {
	subscription := sent.view.ID
	err = s.Write(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		var version int64
		var stateID id.UUID
		var periods int32
		var isMissing bool
		err := tx.Pipeline(ctx, pg.Query{SQL: lockStateSQL, Args: []any{company, subscription}, Scan: pg.First(&version, &stateID, &periods)},
			grantsQuery(company, subscription, got.grants),
			pg.Query{SQL: anyNotGrantedSQL, Args: []any{company, subscription}, Scan: pg.First(&isMissing)})
		if err != nil {
			return err
		}
		isRestored := got.version > version || got.version == version && got.stateID != stateID.String()
		switch {
		case isRestored:
			next = passPending
			tx.Queue(pg.Query{SQL: raiseVersionSQL, Args: []any{company, subscription, got.version + 1, newState, now}})
		case got.lastPeriod < periods && !isMissing:
			next = passIncomplete
		case isMissing:
			next = passPending
		case got.version < version:
			// A newer state was committed in the meantime, and is sent by itself.
			next = passConfirmed
			tx.Queue(pg.Query{SQL: passExistsSQL, Args: []any{company, subscription}})
		default:
			next = passConfirmed
			tx.Queue(pg.Query{SQL: confirmStateSQL, Args: []any{company, subscription}})
		}
		return nil
	})
	return next, err
}

// grantsQuery returns the statement that stores what the pass service has granted.
func grantsQuery(company id.Company, subscription id.Subscription, grants []grant) pg.Query {
	n := len(grants)
	numbers, granted, carried, expired := make([]int32, n), make([]int32, n), make([]int32, n), make([]int32, n)
	days := make([]time.Time, n)
	for i, g := range grants {
		days[i] = g.firstDay
		numbers[i], granted[i], carried[i], expired[i] = g.period, g.granted, g.carriedOver, g.expired
	}
	return pg.Query{SQL: confirmGrantsSQL, Args: []any{company, subscription, numbers, granted, carried, expired, days}}
}

// passRefused stores that the pass service has refused a state permanently, because the customer is deleted.
func (s *store) passRefused(ctx context.Context, company id.Company, subscription id.Subscription, stateID id.UUID) error {
	return s.Write(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, refusedSQL, company, subscription, stateID)
		return err
	})
}

// restorePlans lets the job send the pass types of all plans of a company again.
func (s *store) restorePlans(ctx context.Context, company id.Company, now time.Time) error {
	return s.Write(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, restorePlansSQL, company, now)
		return err
	})
}

// restorePasses lets the job send the passes of a batch of subscriptions after one again. It returns the last of the
// batch and its size.
func (s *store) restorePasses(ctx context.Context, company id.Company, after id.Subscription, limit int, now time.Time) (last id.Subscription, n int, err error) {
	err = s.Write(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		n = 0
		return tx.Pipeline(ctx, pg.Query{SQL: restorePassesSQL, Args: []any{company, now, [16]byte(after), limit}, Scan: pg.First(&last, &n)})
	})
	return last, n, err
}
