package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// Event is a domain event, which is published if its transaction commits.
type Event struct {
	// Company is the tenant; zero for events of the whole installation.
	Company id.Company
	// Subject has no prefix: "customer.v1.customer_created".
	Subject string
	Payload proto.Message
	// OccurredAt is the time of the event; zero: now.
	OccurredAt time.Time
	// ID identifies the event, so that consumers recognise a repetition; zero: a new one.
	ID id.UUID
	// Cause is the request, the trace and the actor of the event; zero: those of the context
	// of Append. Set it in commits that several requests share.
	Cause Cause
}

// maxPayload leaves room for the headers in NATS's default limit of 1 MiB.
const maxPayload = 1<<20 - 16<<10

// ErrTooLarge reports an event that NATS would not accept.
var ErrTooLarge = errors.New("event is too large")

// Outbox is the outbox table of one database.
type Outbox struct {
	db  *pg.DB
	bus *bus.Bus
	log *slog.Logger
	now func() time.Time

	lease   id.UUID // identifies the rows that this relay holds
	queue   *queue
	metrics *metrics
}

// New returns the outbox of db, whose Run publishes on b. b can be nil in a process that
// only appends.
func New(db *pg.DB, b *bus.Bus, log *slog.Logger, now func() time.Time) *Outbox {
	o := &Outbox{db: db, bus: b, log: log, now: now, lease: id.NewUUID(), queue: newQueue()}
	o.metrics = newMetrics(o)
	return o
}

// appendSQL inserts rows that this process's relay has leased ($7), or rows without a lease.
const appendSQL = `insert into outbox_events (id, company_id, subject, payload, trace, occurred_at, lease, lease_until, attempt)
	select e.id, e.company_id, e.subject, e.payload, e.trace::jsonb, e.occurred_at,
		$7::uuid, clock_timestamp() + make_interval(secs => $8), ($7::uuid is not null)::integer
	from unnest($1::uuid[], $2::uuid[], $3::text[], $4::bytea[], $5::text[], $6::timestamptz[])
		as e (id, company_id, subject, payload, trace, occurred_at)`

// Append adds events to tx, in one statement that tx queues. They are published only if tx
// commits. If a savepoint is open, it must not be rolled back.
func (o *Outbox) Append(ctx context.Context, tx *pg.Tx, events ...Event) error {
	if len(events) == 0 {
		return nil
	}
	q, err := o.insert(ctx, tx, events)
	if err != nil {
		return err
	}
	tx.Queue(q)
	return nil
}

// insert returns the statement that inserts events, which tx must run. After the commit, their rows
// are published.
func (o *Outbox) insert(ctx context.Context, tx *pg.Tx, events []Event) (pg.Query, error) {
	n := len(events)
	ids, companies := make([]pgtype.UUID, n), make([]pgtype.UUID, n)
	subjects, payloads, times := make([]string, n), make([][]byte, n), make([]time.Time, n)
	traces, shared := make([]*string, n), CauseOf(ctx)
	rows, expires := make([]leased, n), time.Now().Add(leaseTime-publishTime)
	for i, e := range events {
		m, err := o.message(e)
		if err != nil {
			return pg.Query{}, err
		}
		cause := e.Cause.or(shared)
		m.Trace = cause.carried
		ids[i], companies[i] = rowID(m.ID), rowID(id.UUID(m.Company))
		subjects[i], payloads[i], times[i], traces[i] = m.Subject, m.Payload, m.OccurredAt, cause.text
		rows[i] = leased{Message: m, attempt: 1, expires: expires}
	}
	q := pg.Query{SQL: appendSQL, Args: []any{ids, companies, subjects, payloads, traces, times, nil, nil}}
	if n > mostDirect || !o.queue.isOpen() {
		tx.AfterCommit(o.queue.search)
		return q, nil
	}
	q.Args[6], q.Args[7] = o.lease, leaseTime.Seconds()
	tx.AfterCommit(func() { o.queue.put(rows) })
	return q, nil
}

// mostAtOnce is the largest number of events in a statement of AppendAll.
const mostAtOnce = 1000

// AppendAll is Append for thousands of events, in several statements. It does not use
// COPY, which PostgreSQL refuses for tables with row level security.
func (o *Outbox) AppendAll(ctx context.Context, tx *pg.Tx, events []Event) error {
	for chunk := range slices.Chunk(events, mostAtOnce) {
		q, err := o.insert(ctx, tx, chunk)
		if err != nil {
			return err
		}
		if err := tx.Pipeline(ctx, q); err != nil {
			return fmt.Errorf("outbox: %w", err)
		}
	}
	return nil
}

// message checks an event and returns its message.
func (o *Outbox) message(e Event) (bus.Message, error) {
	if err := bus.CheckSubject(e.Subject); err != nil {
		return bus.Message{}, fmt.Errorf("outbox: %w", err)
	}
	payload, err := proto.MarshalOptions{}.MarshalAppend([]byte{}, e.Payload)
	if err != nil {
		return bus.Message{}, fmt.Errorf("outbox: %s: %w", e.Subject, err)
	}
	if len(payload) > maxPayload {
		return bus.Message{}, fmt.Errorf("outbox: %s with %d bytes: %w", e.Subject, len(payload), ErrTooLarge)
	}
	if e.ID.IsZero() {
		e.ID = id.NewUUID()
	}
	if e.OccurredAt.IsZero() {
		e.OccurredAt = o.now()
	}
	return bus.Message{
		ID: e.ID, Company: e.Company, Subject: e.Subject, Payload: payload,
		OccurredAt: pg.Instant(e.OccurredAt), // as the row has it
	}, nil
}
