package webhook

import (
	"context"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	"reservation.dev/services/webhook/message"
)

// Delivered is a delivery as the log shows it.
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

// Attempt is a request as the log shows it.
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

	// $3 excludes the partitions of days before the delivery was created.
	attemptsSQL = `select number, at, duration_us, failure, status, message, response, reused, url, secret_ids from attempts
		where company_id = $1 and delivery_id = $2 and at >= $3 order by number`
)

// messageRow is the content of a message.
type messageRow struct {
	Event      string    `db:"event"`
	OccurredAt time.Time `db:"occurred_at"`
	JSON       []byte    `db:"body"`
}

// deliveryDetails is a delivery with everything that its headers are reconstructed from.
type deliveryDetails struct {
	Delivered
	message  messageRow
	attempts []Attempt
	secrets  []message.Secret // of the endpoint
}

// delivery returns one delivery, in two round trips.
func (s *store) delivery(ctx context.Context, company id.Company, delivery id.WebhookDelivery) (d deliveryDetails, err error) {
	d.Delivered, err = pg.Get[Delivered](ctx, s.Store, company, "delivery", deliverySQL, company, delivery)
	if err != nil {
		return d, err
	}
	var messages []messageRow
	var secrets []secretRow
	err = s.ReadOf(ctx, company,
		pg.Query{SQL: messageSQL, Args: []any{company, d.MessageID}, Scan: pg.Collect(&messages)},
		pg.Query{SQL: attemptsSQL, Args: []any{company, delivery, d.CreatedAt.Add(-time.Minute)}, Scan: pg.Collect(&d.attempts)},
		pg.Query{SQL: secretsSQL, Args: []any{company, d.EndpointID}, Scan: pg.Collect(&secrets)})
	if err != nil {
		return d, err
	}
	if len(messages) == 0 {
		return d, fault.Missing("delivery")
	}
	d.message = messages[0]
	d.secrets, err = s.openAll(company, d.EndpointID, secrets)
	return d, err
}

// logFilter limits lists of deliveries.
type logFilter struct {
	endpoint     *id.WebhookEndpoint // nil: all
	event, state string              // "": all
	since, until time.Time           // of the message; zero: no limit
}

// key is the column that a list is sorted by: the endpoint's messages, or the company's deliveries.
// The identifiers of messages and deliveries begin with the time of the message, so limits of time
// are limits of the key.
func (f logFilter) key() string {
	if f.endpoint == nil {
		return "id"
	}
	return "message_id"
}

// order returns newest first. The tokens of each endpoint's list are valid only for that list.
func (f logFilter) order() page.Order {
	if f.endpoint == nil {
		return page.Order{Code: 1, ID: f.key(), Desc: true}
	}
	return page.Order{Code: 2, ID: f.key(), Desc: true, Within: f.endpoint.UUID()}
}

// cursor returns the position of a delivery in the order.
func (f logFilter) cursor(d *Delivered) page.Cursor {
	if f.endpoint == nil {
		return page.Cursor{ID: d.ID.UUID()}
	}
	return page.Cursor{ID: d.MessageID.UUID()}
}

// narrow adds the filter to a statement about deliveries with an alias ("f.").
func (f logFilter) narrow(s *pg.Statement, alias string) {
	if f.endpoint != nil {
		s.And(alias+"endpoint_id = %s", *f.endpoint)
	}
	if f.event != "" {
		s.And(alias+"event = %s", f.event)
	}
	if f.state != "" {
		s.And(alias+"state = %s", f.state)
	}
	if !f.since.IsZero() {
		s.And(alias+f.key()+" >= first_uuid_at(%s)", f.since)
	}
	if !f.until.IsZero() {
		s.And(alias+f.key()+" < first_uuid_at(%s)", f.until)
	}
}

const deliveriesSQL = `select ` + deliveryColumns + ` from deliveries where company_id = $1`

// deliveries returns the rows of a page.
func (s *store) deliveries(ctx context.Context, company id.Company, f logFilter, p page.Page) ([]Delivered, error) {
	sql := pg.Statement{SQL: deliveriesSQL, Args: []any{company}}
	f.narrow(&sql, "")
	p.Add(&sql)
	list, err := pg.Rows[Delivered](ctx, s.DB, pg.For(company), sql.SQL, sql.Args...)
	return list, s.Fault(err)
}

const countDeliveriesSQL = `select count(*) from (select from deliveries f where f.company_id = $1`

// countDeliveries counts the deliveries of a list, up to a limit.
func (s *store) countDeliveries(ctx context.Context, company id.Company, f logFilter, most int) (int64, error) {
	sql := pg.Statement{SQL: countDeliveriesSQL, Args: []any{company}}
	f.narrow(&sql, "f.")
	return s.count(ctx, company, sql, most)
}

const (
	// Without a position, ListMessages leaves the message out.
	addTestMessageSQL = `insert into messages (company_id, id, event, occurred_at, body, position) values ($1, $2, $3, $4, $5, null)`

	addTestDeliverySQL = `insert into deliveries (company_id, id, message_id, endpoint_id, event, test, state, attempts, tries,
			last_failure, last_status, created_at, finished_at)
		values ($1, delivery_id($2, $3), $2, $3, $4, true, case when $5::text is null then 'delivered' else 'failed' end, 1, 1, $5, $6, $7, $8)
		returning id`

	addTestAttemptSQL = `insert into attempts (company_id, delivery_id, number, at, duration_us, outcome, failure, status, message, response,
			reused, url, secret_ids)
		values ($1, $2, 1, $3, $4, case when $5::text is null then 'delivered' else 'failed' end, $5, $6, $7, $8, $9, $10, $11)`
)

// addTest adds a test delivery to the log.
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

// attemptOf returns the only attempt of a test delivery as the log has it.
func attemptOf(r *result) *Attempt {
	a := &Attempt{
		Number: 1, At: r.at, DurationUS: r.duration.Microseconds(), Status: int32(r.status), Message: r.message,
		Response: append([]byte{}, r.response...), Reused: r.reused, URL: r.job.target.rawURL, SecretIDs: []id.UUID{},
	}
	if r.failure != "" {
		a.Failure = &r.failure
	}
	for _, s := range r.signers {
		a.SecretIDs = append(a.SecretIDs, s.Secret.ID)
	}
	return a
}

// statisticsSQL counts attempts in buckets that start at $3.
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

// statistics counts the attempts of a span, of one endpoint or, if it is zero, of all.
func (s *store) statistics(ctx context.Context, company id.Company, endpoint id.WebhookEndpoint, t span) ([]bucketRow, error) {
	rows, err := pg.Rows[bucketRow](ctx, s.DB, pg.For(company), statisticsSQL, company, endpoint, t.since, t.until, t.bucket)
	return rows, s.Fault(err)
}
