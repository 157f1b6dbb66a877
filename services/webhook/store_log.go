package webhook

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// Delivered is a delivery as the log has it.
type Delivered struct {
	ID          id.WebhookDelivery `db:"id"`
	MessageID   id.WebhookMessage  `db:"message_id"`
	EndpointID  id.WebhookEndpoint `db:"endpoint_id"`
	Event       string             `db:"event"`
	Test        bool               `db:"test"`
	State       string             `db:"state"`
	DueAt       *time.Time         `db:"due_at"` // nil unless it is pending
	Attempts    int32              `db:"attempts"`
	LastFailure *string            `db:"last_failure"`
	LastStatus  int32              `db:"last_status"`
	CreatedAt   time.Time          `db:"created_at"`
	FinishedAt  *time.Time         `db:"finished_at"`
}

// Attempt is a request as the log has it.
type Attempt struct {
	Number     int32     `db:"number"`
	At         time.Time `db:"at"`
	DurationUS int64     `db:"duration_us"`
	Failure    *string   `db:"failure"`
	Status     int32     `db:"status"`
	Message    string    `db:"message"`
	Response   []byte    `db:"response"`
	Reused     bool      `db:"reused"`
	URL        string    `db:"url"`
	SecretIDs  []id.UUID `db:"secret_ids"`
}

const deliveryColumns = `id, message_id, endpoint_id, event, test, state, due_at, attempts, last_failure, last_status, created_at, finished_at`

const (
	deliverySQL = `select ` + deliveryColumns + ` from deliveries where company_id = $1 and id = $2`

	messageSQL = `select event, occurred_at, body from messages where company_id = $1 and id = $2`

	// $3 spares the partitions of days before the delivery was made.
	attemptsSQL = `select number, at, duration_us, failure, status, message, response, reused, url, secret_ids from attempts
		where company_id = $1 and delivery_id = $2 and at >= $3 order by number`
)

// messageRow is what was sent.
type messageRow struct {
	Event      string    `db:"event"`
	OccurredAt time.Time `db:"occurred_at"`
	Body       []byte    `db:"body"`
}

// delivery returns one delivery with its message and attempts.
func (s *store) delivery(ctx context.Context, company id.Company, delivery id.WebhookDelivery) (Delivered, messageRow, []Attempt, error) {
	d, err := pg.One[Delivered](ctx, s.db, pg.For(company), deliverySQL, company, delivery)
	if err != nil {
		return d, messageRow{}, nil, missing(err, "delivery")
	}
	m, err := pg.One[messageRow](ctx, s.db, pg.For(company), messageSQL, company, d.MessageID)
	if err != nil {
		return d, m, nil, missing(err, "delivery")
	}
	attempts, err := pg.Rows[Attempt](ctx, s.db, pg.For(company), attemptsSQL, company, delivery, d.CreatedAt.Add(-time.Minute))
	return d, m, attempts, pg.Fault(err, nil)
}

// logQuery says which deliveries a list is to hold, newest first.
type logQuery struct {
	endpoint     *id.WebhookEndpoint // nil: of all
	event, state string              // "": all
	since, until time.Time           // of the message; zero: no bound
	after        id.UUID             // the last one of the page before: its message if endpoint is set; zero: none
	size         int
}

// key is the column that the list is ordered by.
func (q logQuery) key() string {
	if q.endpoint == nil {
		return "id"
	}
	return "message_id"
}

// where is the condition of the filter, for a table of that alias ("f."), and its
// arguments, of which the first is the company.
func (q logQuery) where(alias string, company id.Company) (condition string, args []any) {
	args = []any{company}
	var b strings.Builder
	b.WriteString(alias + "company_id = $1")
	add := func(condition string, arg any) {
		args = append(args, arg)
		fmt.Fprintf(&b, " and "+alias+condition, len(args))
	}
	if q.endpoint != nil {
		add("endpoint_id = $%d", *q.endpoint)
	}
	if q.event != "" {
		add("event = $%d", q.event)
	}
	if q.state != "" {
		add("state = $%d", q.state)
	}
	if !q.since.IsZero() {
		add(q.key()+" >= first_uuid_at($%d)", q.since)
	}
	if !q.until.IsZero() {
		add(q.key()+" < first_uuid_at($%d)", q.until)
	}
	return b.String(), args
}

// deliveries returns a page, one longer than asked for where there is another.
// Messages and deliveries begin with their time, so that bounds of time are
// bounds of a key: that of the endpoint's messages, or of the company's deliveries.
func (s *store) deliveries(ctx context.Context, company id.Company, q logQuery) ([]Delivered, error) {
	where, args := q.where("", company)
	key := q.key()
	if !q.after.IsZero() {
		args = append(args, q.after)
		where += fmt.Sprintf(" and %s < $%d", key, len(args))
	}
	args = append(args, q.size+1)
	sql := "select " + deliveryColumns + " from deliveries where " + where + " order by " + key + " desc limit $" + fmt.Sprint(len(args))
	list, err := pg.Rows[Delivered](ctx, s.db, pg.For(company), sql, args...)
	return list, pg.Fault(err, nil)
}

const (
	lockDeliverySQL = deliverySQL + ` for no key update`

	replaySQL = `update deliveries set state = 'pending', due_at = $3, tries = 0, finished_at = null, replayed_at = $3
		where company_id = $1 and id = $2 and lease is null returning ` + deliveryColumns

	// Materialized as replayManySQL is.
	replayFailedSQL = `with chosen as materialized (
			select f.id from deliveries f join endpoints e on e.company_id = f.company_id and e.id = f.endpoint_id and e.enabled
			where f.company_id = $1 and f.state = 'failed' and not f.test and f.finished_at >= $2 and f.finished_at < $3
				and ($4::uuid is null or f.endpoint_id = $4)
			order by f.finished_at, f.id limit $5 for update of f skip locked)
		update deliveries d set state = 'pending', due_at = $3, tries = 0, finished_at = null, replayed_at = $3
		from chosen where d.company_id = $1 and d.id = chosen.id
		returning d.endpoint_id`
)

// replay makes a delivery due now; one that is being sent stays as it is.
func (s *store) replay(ctx context.Context, tx *pg.Tx, company id.Company, delivery id.WebhookDelivery, now time.Time) (Delivered, error) {
	rows, err := tx.Query(ctx, lockDeliverySQL, company, delivery)
	if err != nil {
		return Delivered{}, err
	}
	d, err := pgx.CollectOneRow(rows, pgx.RowToStructByName[Delivered])
	if err != nil {
		return d, missing(err, "delivery")
	}
	rows, err = tx.Query(ctx, endpointSQL, company, d.EndpointID)
	if err != nil {
		return d, err
	}
	e, err := pgx.CollectOneRow(rows, pgx.RowToStructByName[Endpoint])
	if err != nil {
		return d, missing(err, "endpoint")
	}
	if !e.Enabled {
		return d, fault.Refuse(ReasonEndpointDisabled, "the endpoint is disabled")
	}
	rows, err = tx.Query(ctx, replaySQL, company, delivery, now)
	if err != nil {
		return d, err
	}
	again, err := pgx.CollectRows(rows, pgx.RowToStructByName[Delivered])
	if err != nil || len(again) == 0 {
		return d, err
	}
	return again[0], nil
}

const replayBatch = 5000

// replayFailed makes a batch of what failed due now and returns how many that
// were, and whose. now bounds what is taken, so that what fails again meanwhile is
// not taken twice.
func (s *store) replayFailed(ctx context.Context, company id.Company, endpoint id.WebhookEndpoint, since, now time.Time) (n int, whose []id.WebhookEndpoint, err error) {
	err = s.inTx(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		rows, err := tx.Query(ctx, replayFailedSQL, company, since, now, endpoint, replayBatch)
		if err != nil {
			return err
		}
		list, err := pgx.CollectRows(rows, pgx.RowTo[id.WebhookEndpoint])
		n, whose = len(list), distinct(list)
		return err
	})
	return n, whose, err
}

// distinct returns each endpoint once.
func distinct(list []id.WebhookEndpoint) (once []id.WebhookEndpoint) {
	seen := map[id.WebhookEndpoint]bool{}
	for _, e := range list {
		if !seen[e] {
			seen[e] = true
			once = append(once, e)
		}
	}
	return once
}

const (
	addTestMessageSQL = `insert into messages (company_id, id, event, occurred_at, body) values ($1, $2, $3, $4, $5)`

	addTestDeliverySQL = `insert into deliveries (company_id, id, message_id, endpoint_id, event, test, state, attempts, tries,
			last_failure, last_status, created_at, finished_at)
		values ($1, delivery_id($2, $3), $2, $3, $4, true, case when $5::text is null then 'delivered' else 'failed' end, 1, 1, $5, $6, $7, $8)
		returning id`

	addTestAttemptSQL = `insert into attempts (company_id, delivery_id, number, at, duration_us, outcome, failure, status, message, response,
			reused, url, secret_ids)
		values ($1, $2, 1, $3, $4, case when $5::text is null then 'delivered' else 'failed' end, $5, $6, $7, $8, $9, $10, $11)`
)

// addTest writes a test delivery, which is over, into the log.
func (s *store) addTest(ctx context.Context, tx *pg.Tx, r *result) (delivery id.WebhookDelivery, err error) {
	t, b := r.job.target, r.job.body
	if _, err := tx.Exec(ctx, addTestMessageSQL, t.key.company, b.Message, b.Event, b.OccurredAt, b.JSON); err != nil {
		return delivery, err
	}
	a := attemptOf(r)
	err = tx.QueryRow(ctx, addTestDeliverySQL, t.key.company, b.Message, t.key.endpoint, b.Event, a.Failure, a.Status, b.OccurredAt, r.at.Add(r.duration)).Scan(&delivery)
	if err != nil {
		return delivery, err
	}
	_, err = tx.Exec(ctx, addTestAttemptSQL, t.key.company, delivery, a.At, a.DurationUS, a.Failure, a.Status, a.Message, a.Response, a.Reused, a.URL, a.SecretIDs)
	return delivery, err
}

// attemptOf is the first attempt as the log will have it.
func attemptOf(r *result) *Attempt {
	a := &Attempt{
		Number: 1, At: r.at, DurationUS: r.duration.Microseconds(), Status: int32(r.status), Message: r.message,
		Response: append([]byte{}, r.response...), Reused: r.reused, URL: r.job.target.text, SecretIDs: []id.UUID{},
	}
	if r.failure != "" {
		a.Failure = &r.failure
	}
	for _, s := range r.signers {
		a.SecretIDs = append(a.SecretIDs, s.Secret.ID)
	}
	return a
}

// statisticsSQL counts attempts by buckets that start at $3.
const statisticsSQL = `select floor(extract(epoch from a.at - $3) / $5::int)::bigint as bucket,
		count(*) filter (where outcome = 'delivered') as delivered,
		count(*) filter (where outcome = 'retried') as retried,
		count(*) filter (where outcome = 'failed') as failed,
		percentile_disc(array[0.5, 0.95, 0.99]) within group (order by duration_us) as percentiles
	from attempts a
	where a.company_id = $1 and a.at >= $3 and a.at < $4 and ($2::uuid is null or exists (
		select from deliveries d where d.company_id = a.company_id and d.id = a.delivery_id and d.endpoint_id = $2))
	group by 1 order by 1`

// bucketRow is one bucket that has attempts.
type bucketRow struct {
	Bucket      int64   `db:"bucket"` // from 0
	Delivered   int64   `db:"delivered"`
	Retried     int64   `db:"retried"`
	Failed      int64   `db:"failed"`
	Percentiles []int64 `db:"percentiles"` // 50, 95, 99; microseconds
}

// statistics counts the attempts of a time.
func (s *store) statistics(ctx context.Context, company id.Company, endpoint id.WebhookEndpoint, since, until time.Time, bucket int) ([]bucketRow, error) {
	rows, err := pg.Rows[bucketRow](ctx, s.db, pg.For(company), statisticsSQL, company, endpoint, since, until, bucket)
	return rows, pg.Fault(err, nil)
}
