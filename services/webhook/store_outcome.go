package webhook

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/pg"
)

// settleSQL ends leases and logs the attempts of those deliveries that still have the lease under
// which they were sent.
const settleSQL = `with o as (
		select * from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::timestamptz[], $6::timestamptz[], $7::timestamptz[],
			$8::bigint[], $9::text[], $10::int[], $11::text[], $12::bytea[], $13::boolean[], $14::text[], $15::uuid[], $16::uuid[])
			as o (company_id, id, lease, outcome, due_at, finished_at, at, duration_us, failure, status, message, response, reused, url, secret, previous)
	), settled as (
		update deliveries d set lease = null, state = case o.outcome when 'retried' then 'pending' else o.outcome end, due_at = o.due_at,
			finished_at = o.finished_at, attempts = d.attempts + 1, tries = d.tries + 1, last_failure = o.failure, last_status = o.status
		from o where d.company_id = o.company_id and d.id = o.id and d.lease = o.lease
		returning d.attempts, o.*
	)
	insert into attempts (company_id, delivery_id, number, at, duration_us, outcome, failure, status, message, response, reused, url, secret_ids)
	select company_id, id, attempts, at, duration_us, outcome, failure, status, message, response, reused, url,
		array_remove(array[secret, previous], null)
	from settled`

// settle writes outcomes in one commit.
func (s *store) settle(ctx context.Context, outcomes []outcome) error {
	n := len(outcomes)
	companies, ids, leases := make([]pgtype.UUID, n), make([]pgtype.UUID, n), make([]pgtype.UUID, n)
	states, due, finished, at := make([]string, n), make([]*time.Time, n), make([]*time.Time, n), make([]time.Time, n)
	durations, failures, statuses, messages := make([]int64, n), make([]*string, n), make([]int32, n), make([]string, n)
	responses, reused, urls := make([][]byte, n), make([]bool, n), make([]string, n)
	secrets, previous := make([]pgtype.UUID, n), make([]pgtype.UUID, n)
	for i := range outcomes {
		o := &outcomes[i]
		companies[i], ids[i], leases[i] = uuidOf(o.job.target.key.company), uuidOf(o.job.delivery), uuidOf(o.job.lease)
		states[i], at[i], durations[i], statuses[i], messages[i] = o.outcome, o.at, o.duration.Microseconds(), int32(o.status), o.message
		reused[i], urls[i], responses[i] = o.reused, o.job.target.rawURL, o.response
		if responses[i] == nil {
			responses[i] = []byte{}
		}
		if o.outcome == outcomeRetried {
			due[i] = &o.next
		} else {
			finished[i] = &o.ended
		}
		if o.failure != "" {
			failures[i] = &o.failure
		}
		for k := range o.signers {
			[][]pgtype.UUID{secrets, previous}[k][i] = uuidOf(o.signers[k].Secret.ID)
		}
	}
	return s.DB.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		return byIndex(ctx, tx, settleSQL, []any{companies, ids, leases, states, due, finished, at, durations, failures, statuses, messages,
			responses, reused, urls, secrets, previous}, nil)
	})
}

const (
	failingSQL = `update endpoints set failing_since = coalesce(failing_since, $3) where company_id = $1 and id = $2 returning failing_since`

	recoveredSQL = `update endpoints set failing_since = null, warned_at = null where company_id = $1 and id = $2 and failing_since is not null`

	markWarnedSQL = `update endpoints set warned_at = $3
		where company_id = $1 and id = $2 and enabled and failing_since is not null and warned_at is null`
)

// failing records that an attempt failed and returns since when every attempt has failed.
func (s *store) failing(ctx context.Context, key endpointKey, at time.Time) (since time.Time, err error) {
	err = s.DB.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		return tx.QueryRow(ctx, failingSQL, key.company, key.endpoint, at).Scan(&since)
	})
	return since, err
}

// recovered records that an attempt succeeded.
func (s *store) recovered(ctx context.Context, key endpointKey) error {
	return s.DB.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, recoveredSQL, key.company, key.endpoint)
		return err
	})
}

// markWarned reports whether the caller has to publish the warning.
func (s *store) markWarned(ctx context.Context, tx *pg.Tx, key endpointKey, at time.Time) (bool, error) {
	tag, err := tx.Exec(ctx, markWarnedSQL, key.company, key.endpoint, at)
	return tag.RowsAffected() > 0, err
}

// unlessMissing drops the fault of an endpoint that was deleted in the meantime.
func unlessMissing(err error) error {
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}
