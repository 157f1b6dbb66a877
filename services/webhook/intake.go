package webhook

import (
	"context"
	"slices"
	"time"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/id"
	"reservation.dev/services/webhook/message"
)

// Intake turns events into messages and deliveries.
type Intake struct {
	engine    *Engine
	services  Services
	catalogue message.Catalogue
}

// NewIntake returns an intake whose deliveries engine sends.
func NewIntake(engine *Engine, services Services) *Intake {
	return &Intake{engine: engine, services: services, catalogue: message.NewCatalogue()}
}

const (
	// intakeBatch is the number of events in one commit.
	intakeBatch = 500
	// intakePause is the least time from the start of a small batch to the start of the next one.
	// Events that arrive in between share a commit. An event after a pause does not wait.
	intakePause = 8 * time.Millisecond
)

// RunPurchases consumes the domain events of purchaseConsumer until ctx ends.
func (in *Intake) RunPurchases(ctx context.Context, b *bus.Bus) error {
	return in.consume(ctx, b, purchaseConsumer, purchaseSubjects())
}

// RunChanges consumes the other domain events of the catalogue until ctx ends.
func (in *Intake) RunChanges(ctx context.Context, b *bus.Bus) error {
	isPurchase := func(subject string) bool { return slices.Contains(purchaseSubjects(), subject) }
	return in.consume(ctx, b, changeConsumer, slices.DeleteFunc(in.catalogue.Subjects(), isPurchase))
}

func (in *Intake) consume(ctx context.Context, b *bus.Bus, name string, subjects []string) error {
	return b.Consume(ctx, bus.Consumer{Name: name, Batch: intakeBatch, Handle: in.handleAndPause, Subjects: subjects})
}

// handleAndPause is handle, with a pause after a small batch.
func (in *Intake) handleAndPause(ctx context.Context, events []bus.Message) error {
	began := time.Now()
	err := in.handle(ctx, events)
	if err != nil || len(events) >= intakeBatch/10 {
		return err
	}
	select {
	case <-time.After(intakePause - time.Since(began)):
	case <-ctx.Done():
	}
	return nil
}

// handle commits the messages of a batch of events and their deliveries. A repeated event creates the
// same messages, which create no second delivery.
func (in *Intake) handle(ctx context.Context, events []bus.Message) error {
	msgs, err := in.messages(ctx, events)
	if err != nil || len(msgs) == 0 {
		return err
	}
	return in.engine.queue(ctx, msgs)
}

// messages returns the messages of events.
func (in *Intake) messages(ctx context.Context, events []bus.Message) ([]message.Message, error) {
	var drafts []message.Draft
	for _, e := range events {
		made, err := in.catalogue.Drafts(e)
		if err != nil {
			return nil, err
		}
		drafts = append(drafts, made...)
	}
	customers, err := in.customers(ctx, drafts)
	if err != nil {
		return nil, err
	}
	msgs := make([]message.Message, len(drafts))
	for i, d := range drafts {
		known := message.Records{Customer: customers[d.Message.Company][d.NeedsRecord]}
		if d.NeedsCurrency {
			if known.Currency, err = in.services.Currency(ctx, d.Message.Company); err != nil {
				return nil, err
			}
		}
		if msgs[i], err = d.Complete(known); err != nil {
			return nil, err
		}
	}
	return msgs, nil
}

// customers looks up the customers whose records drafts need, once for each company.
func (in *Intake) customers(ctx context.Context, drafts []message.Draft) (map[id.Company]map[string]message.Person, error) {
	ids := map[id.Company][]string{}
	for _, d := range drafts {
		if d.NeedsRecord != "" {
			ids[d.Message.Company] = append(ids[d.Message.Company], d.NeedsRecord)
		}
	}
	customers := make(map[id.Company]map[string]message.Person, len(ids))
	for company, list := range ids {
		var err error
		if customers[company], err = in.services.Customers(ctx, company, list); err != nil {
			return nil, err
		}
	}
	return customers, nil
}

// queue commits the deliveries of messages and starts sending as many as this process has room for.
// The rest wait in the database for a process with room.
func (e *Engine) queue(ctx context.Context, msgs []message.Message) error {
	lease, until := e.newLease()
	queued, err := e.store.queue(ctx, msgs, e.room(), lease, until, e.now())
	if err != nil {
		return err
	}
	bodies := make(map[id.WebhookMessage]*message.Message, len(msgs))
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
			Event: m.Event, OccurredAt: m.OccurredAt, JSON: m.JSON, Trace: m.Trace,
		})
	}
	keys := make([]endpointKey, 0, len(backlog))
	for key := range backlog {
		keys = append(keys, key)
	}
	e.Wake(keys...)
	// The deliveries are committed: an error from here on only delays them.
	jobs, left, err := e.newJobs(e.work, mine, lease, until)
	if err != nil {
		e.log.Warn("webhook deliveries are delayed until their lease ends", "deliveries", len(mine), "error", err)
		return nil
	}
	e.releaseJobs(append(left, e.enqueue(jobs)...))
	return nil
}

// room returns how many new deliveries this process can take. That is more than it claims at a time,
// because a delivery that is leased when it is stored needs no claim, which would write its row once
// more. An endpoint with older deliveries waiting in the database gets none, because those must be
// sent first.
func (e *Engine) room() room {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.now()
	r := room{usual: portion(e.budget())}
	for key, q := range e.queues {
		free := 0
		if r.usual > 0 && (q.wakeAt.IsZero() || q.wakeAt.After(now)) && q.breaker.closed() {
			free = max(r.usual-q.held(), 0)
		}
		if free != r.usual {
			r.endpoints, r.free = append(r.endpoints, key.endpoint), append(r.free, int32(free))
		}
	}
	return r
}
