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
	// Cause is the trace of the event; zero: that of the context of Append. Set it in
	// commits that several requests share.
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

	woken   chan struct{} // holds at most one signal that there may be work
	metrics *metrics
}

// New returns the outbox of db, whose Run publishes on b. b can be nil in a process that
// only appends.
func New(db *pg.DB, b *bus.Bus, log *slog.Logger, now func() time.Time) *Outbox {
	o := &Outbox{db: db, bus: b, log: log, now: now, woken: make(chan struct{}, 1)}
	o.metrics = newMetrics(o)
	return o
}

const appendSQL = `insert into outbox_events (id, company_id, subject, payload, trace, occurred_at)
	select e.id, e.company_id, e.subject, e.payload, e.trace::jsonb, e.occurred_at
	from unnest($1::uuid[], $2::uuid[], $3::text[], $4::bytea[], $5::text[], $6::timestamptz[])
		as e (id, company_id, subject, payload, trace, occurred_at)`

// Append adds events to tx, in one statement that tx queues. They are published only if tx
// commits.
func (o *Outbox) Append(ctx context.Context, tx *pg.Tx, events ...Event) error {
	if len(events) == 0 {
		return nil
	}
	q, err := o.Query(ctx, tx, events...)
	if err != nil {
		return err
	}
	tx.Queue(q)
	return nil
}

// Query returns the statement of Append, so that the caller can run it in tx together with
// others in one round trip. It needs at least one event.
func (o *Outbox) Query(ctx context.Context, tx *pg.Tx, events ...Event) (pg.Query, error) {
	n := len(events)
	ids, companies := make([]pgtype.UUID, n), make([]pgtype.UUID, n)
	subjects, payloads, times := make([]string, n), make([][]byte, n), make([]time.Time, n)
	traces, shared := make([]*string, n), CauseOf(ctx)
	for i, e := range events {
		r, err := o.row(e)
		if err != nil {
			return pg.Query{}, err
		}
		ids[i], companies[i], subjects[i], payloads[i], times[i] = r.id, r.company, e.Subject, r.payload, r.at
		traces[i] = e.Cause.or(shared).text
	}
	tx.AfterCommit(o.wake)
	return pg.Query{SQL: appendSQL, Args: []any{ids, companies, subjects, payloads, traces, times}}, nil
}

// mostAtOnce is the largest number of events in a statement of AppendAll.
const mostAtOnce = 1000

// AppendAll is Append for thousands of events, in several statements. It does not use
// COPY, which PostgreSQL refuses for tables with row level security.
func (o *Outbox) AppendAll(ctx context.Context, tx *pg.Tx, events []Event) error {
	for chunk := range slices.Chunk(events, mostAtOnce) {
		q, err := o.Query(ctx, tx, chunk...)
		if err != nil {
			return err
		}
		if err := tx.Pipeline(ctx, q); err != nil {
			return fmt.Errorf("outbox: %w", err)
		}
	}
	return nil
}

type row struct {
	id, company pgtype.UUID
	payload     []byte
	at          time.Time
}

// row checks an event and returns its row.
func (o *Outbox) row(e Event) (row, error) {
	if err := bus.CheckSubject(e.Subject); err != nil {
		return row{}, fmt.Errorf("outbox: %w", err)
	}
	payload, err := proto.MarshalOptions{}.MarshalAppend([]byte{}, e.Payload)
	if err != nil {
		return row{}, fmt.Errorf("outbox: %s: %w", e.Subject, err)
	}
	if len(payload) > maxPayload {
		return row{}, fmt.Errorf("outbox: %s with %d bytes: %w", e.Subject, len(payload), ErrTooLarge)
	}
	if e.ID.IsZero() {
		e.ID = id.NewUUID()
	}
	if e.OccurredAt.IsZero() {
		e.OccurredAt = o.now()
	}
	return row{
		id:      pgtype.UUID{Bytes: e.ID, Valid: true},
		company: pgtype.UUID{Bytes: e.Company, Valid: true},
		payload: payload,
		at:      e.OccurredAt,
	}, nil
}

// wake signals to the relay of this process that there may be work.
func (o *Outbox) wake() {
	select {
	case o.woken <- struct{}{}:
	default: // a signal is already waiting
	}
}
