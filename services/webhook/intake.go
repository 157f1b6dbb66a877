package webhook

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"
	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// Intake turns events into deliveries.
type Intake struct {
	engine *Engine
	others Others
}

// NewIntake returns an intake that gives deliveries to engine.
func NewIntake(engine *Engine, others Others) *Intake { return &Intake{engine: engine, others: others} }

// intakeBatch is how many events one commit takes.
const intakeBatch = 500

// Run consumes events until ctx ends.
func (in *Intake) Run(ctx context.Context, b *bus.Bus) error {
	return b.Consume(ctx, bus.Consumer{
		Name: consumer, Batch: intakeBatch, Handle: in.handle,
		Subjects: []string{subjectBookingConfirmed, subjectCustomerPassAssigned},
	})
}

// handle commits the deliveries of a batch of events. An event that comes again
// makes the same messages, and those make no second delivery.
func (in *Intake) handle(ctx context.Context, events []bus.Message) error {
	companies := make([]pgtype.UUID, 0, len(events))
	seen := map[id.Company]bool{}
	for _, e := range events {
		if !seen[e.Company] {
			seen[e.Company] = true
			companies = append(companies, uuidOf(e.Company))
		}
	}
	interested, err := in.engine.store.interested(ctx, companies)
	if err != nil {
		return err
	}
	wanted := events[:0:0]
	for _, e := range events {
		if interested[e.Company] {
			wanted = append(wanted, e)
		}
	}
	msgs, err := in.messages(ctx, wanted)
	if err != nil || len(msgs) == 0 {
		return err
	}
	return in.engine.queue(ctx, msgs)
}

// messages builds what endpoints are told of events.
func (in *Intake) messages(ctx context.Context, events []bus.Message) ([]message, error) {
	var msgs []message
	var passes []*passNews
	for _, e := range events {
		switch e.Subject {
		case subjectBookingConfirmed:
			made, err := in.ofBooking(ctx, e)
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", e.Subject, e.ID, err)
			}
			msgs = append(msgs, made...)
		case subjectCustomerPassAssigned:
			n := &passNews{Message: e}
			if err := proto.Unmarshal(e.Payload, &n.assigned); err != nil {
				return nil, fmt.Errorf("%s %s: %w", e.Subject, e.ID, err)
			}
			passes = append(passes, n)
		}
	}
	made, err := in.ofPasses(ctx, passes)
	return append(msgs, made...), err
}

func newMessage(e bus.Message, event, customer string, data []byte) message {
	m := message{ID: messageID(e.ID, event), Company: e.Company, Event: event, OccurredAt: e.OccurredAt, Trace: e.Trace}
	m.Customer, _ = id.Parse[id.Customer](customer) // what is no identifier is nobody's
	m.Body = newEnvelope(m.ID, event, e.OccurredAt, false, data)
	return m
}

// ofBooking makes registration.created, and of what was bought beside a class
// event.purchased.
func (in *Intake) ofBooking(ctx context.Context, e bus.Message) ([]message, error) {
	var confirmed bookingv1.BookingConfirmed
	if err := proto.Unmarshal(e.Payload, &confirmed); err != nil {
		return nil, err
	}
	snapshot := confirmed.GetBooking()
	currency := ""
	if snapshot.GetBooking().GetPass() != nil {
		var err error
		if currency, err = in.others.Currency(ctx, e.Company); err != nil {
			return nil, err
		}
	}
	data, err := registrationCreated(snapshot, currency)
	if err != nil {
		return nil, err
	}
	customer := snapshot.GetPurchaser().GetId()
	msgs := []message{newMessage(e, eventRegistrationCreated, customer, data)}
	if isEventPurchase(snapshot.GetBooking()) {
		msgs = append(msgs, newMessage(e, eventEventPurchased, customer, eventPurchased(snapshot)))
	}
	return msgs, nil
}

// passNews is an event of the pass service.
type passNews struct {
	bus.Message
	assigned passv1.CustomerPassAssigned
}

// ofPasses makes pass.purchased. The pass service knows customers by their
// identifiers; who they are is asked once per company.
func (in *Intake) ofPasses(ctx context.Context, passes []*passNews) ([]message, error) {
	ids := map[id.Company][]string{}
	for _, n := range passes {
		ids[n.Company] = append(ids[n.Company], n.assigned.GetCustomerPass().GetCustomerId())
	}
	people := make(map[id.Company]map[string]person, len(ids))
	for company, customers := range ids {
		var err error
		if people[company], err = in.others.Customers(ctx, company, customers); err != nil {
			return nil, err
		}
	}
	msgs := make([]message, len(passes))
	for i, n := range passes {
		p := n.assigned.GetCustomerPass()
		msgs[i] = newMessage(n.Message, eventPassPurchased, p.GetCustomerId(), passPurchased(p, n.assigned.GetPassType(), people[n.Company][p.GetCustomerId()]))
	}
	return msgs, nil
}

// queue commits deliveries of messages and begins to send those that this
// process has room for; the others wait in the database for whoever has.
func (e *Engine) queue(ctx context.Context, msgs []message) error {
	now := e.now()
	lease, until := e.newID(), now.Add(e.settings.Lease)
	queued, err := e.store.queue(ctx, msgs, e.room(), lease, until, now)
	if err != nil {
		return err
	}
	bodies := make(map[id.WebhookMessage]*message, len(msgs))
	for i := range msgs {
		bodies[msgs[i].ID] = &msgs[i]
	}
	var mine []claimedRow
	backlog := map[endpointKey]bool{}
	for _, q := range queued {
		if !q.Leased {
			backlog[endpointKey{q.CompanyID, q.EndpointID}] = true
			continue
		}
		m := bodies[q.MessageID]
		mine = append(mine, claimedRow{
			CompanyID: q.CompanyID, ID: q.ID, MessageID: q.MessageID, EndpointID: q.EndpointID, Version: q.Version,
			Event: m.Event, OccurredAt: m.OccurredAt, Body: m.Body, Trace: m.Trace,
		})
	}
	keys := make([]endpointKey, 0, len(backlog))
	for key := range backlog {
		keys = append(keys, key)
	}
	e.Wake(keys...)
	// What follows concerns this process alone: the deliveries are committed.
	jobs, left, err := e.jobs(e.work, mine, lease, until)
	if err != nil {
		e.log.Warn("webhook deliveries wait for the end of their lease", "deliveries", len(mine), "error", err)
		return nil
	}
	e.giveBack(append(left, e.enqueue(jobs)...))
	return nil
}

// room is what this process could take of new deliveries. An endpoint that has
// older ones waiting in the database gets none: they come first.
func (e *Engine) room() room {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.now()
	r := room{usual: e.settings.ahead()}
	if e.budget() < e.settings.Concurrency {
		r.usual = 0
	}
	for key, l := range e.lanes {
		free := 0
		if r.usual > 0 && (l.wakeAt.IsZero() || l.wakeAt.After(now)) && l.breaker.closed() {
			free = max(r.usual-l.held(), 0)
		}
		if free != r.usual {
			r.endpoints, r.free = append(r.endpoints, uuidOf(key.endpoint)), append(r.free, int32(free))
		}
	}
	return r
}
