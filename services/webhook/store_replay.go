package webhook

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

const (
	// What is replayed is due now; replayed_at says by which click. A delivery that
	// is being sent has a lease, and stays as it is. Materialized, because a limit
	// that is looked at again for each row is none.
	replayManySQL = `with chosen as materialized (
			select f.id from deliveries f join endpoints e on e.company_id = f.company_id and e.id = f.endpoint_id and e.enabled
			where %s and f.lease is null
			order by f.id limit %s for no key update of f skip locked)
		update deliveries d set state = 'pending', due_at = %s, tries = 0, finished_at = null, replayed_at = %s
		from chosen where d.company_id = $1 and d.id = chosen.id
		returning d.endpoint_id`

	countReplaysSQL = `select count(*) from (
		select from deliveries f join endpoints e on e.company_id = f.company_id and e.id = f.endpoint_id and e.enabled
		where %s limit %s) replays`

	countTestsSQL = `select count(*) from (select from deliveries f where %s limit %s) tests`

	failedTestsCondition = `f.company_id = $1 and f.state = 'failed' and f.test and f.finished_at >= $2
		and ($3::uuid is null or f.endpoint_id = $3)`
)

// replays is the condition of what a filter held at an instant, and was not
// replayed since.
func (q logQuery) replays(company id.Company, asOf time.Time) (condition string, args []any) {
	condition, args = q.where("f.", company)
	args = append(args, asOf)
	n := len(args)
	return condition + fmt.Sprintf(" and not f.test and f.created_at <= $%d and (f.replayed_at is null or f.replayed_at < $%d)", n, n), args
}

// countReplays counts them, up to a number.
func (s *store) countReplays(ctx context.Context, company id.Company, q logQuery, asOf time.Time, most int) (int64, error) {
	condition, args := q.replays(company, asOf)
	args = append(args, most)
	n, err := pg.One[int64](ctx, s.db, pg.For(company), fmt.Sprintf(countReplaysSQL, condition, fmt.Sprintf("$%d", len(args))), args...)
	return n, pg.Fault(err, nil)
}

// countTests counts the test deliveries that a filter held at an instant, up to a
// number.
func (s *store) countTests(ctx context.Context, company id.Company, q logQuery, asOf time.Time, most int) (int64, error) {
	condition, args := q.where("f.", company)
	args = append(args, asOf, most)
	condition += fmt.Sprintf(" and f.test and f.created_at <= $%d", len(args)-1)
	n, err := pg.One[int64](ctx, s.db, pg.For(company), fmt.Sprintf(countTestsSQL, condition, fmt.Sprintf("$%d", len(args))), args...)
	return n, pg.Fault(err, nil)
}

// countFailedTests counts the test deliveries that failed since an instant, of an
// endpoint or, if it is zero, of all, up to a number.
func (s *store) countFailedTests(ctx context.Context, company id.Company, endpoint id.WebhookEndpoint, since time.Time, most int) (int64, error) {
	n, err := pg.One[int64](ctx, s.db, pg.For(company), fmt.Sprintf(countTestsSQL, failedTestsCondition, "$4"), company, since, endpoint, most)
	return n, pg.Fault(err, nil)
}

// replayBatch makes some of them due now, and returns the endpoint of each.
func (s *store) replayBatch(ctx context.Context, tx *pg.Tx, company id.Company, q logQuery, asOf, now time.Time, most int) ([]id.WebhookEndpoint, error) {
	condition, args := q.replays(company, asOf)
	n := len(args) // the last one is asOf
	args = append(args, now, most)
	sql := fmt.Sprintf(replayManySQL, condition, fmt.Sprintf("$%d", n+2), fmt.Sprintf("$%d", n+1), fmt.Sprintf("$%d", n))
	return endpoints(tx.Query(ctx, sql, args...))
}

// replayNamed makes deliveries due now, and returns the endpoint of each that could be.
func (s *store) replayNamed(ctx context.Context, tx *pg.Tx, company id.Company, ids []id.UUID, now time.Time) ([]id.WebhookEndpoint, error) {
	sql := fmt.Sprintf(replayManySQL, "f.company_id = $1 and f.id = any($2)", "$4", "$3", "$3")
	return endpoints(tx.Query(ctx, sql, company, ids, now, mostNamed))
}

func endpoints(rows pgx.Rows, err error) ([]id.WebhookEndpoint, error) {
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[id.WebhookEndpoint])
}
