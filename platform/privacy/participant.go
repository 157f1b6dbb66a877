package privacy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/subjects"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
)

// Erasure is a customer to be erased.
type Erasure struct {
	Company  id.Company
	Customer id.Customer
	// Left is the customer after the erasure, without name or address. Its version is above all
	// earlier ones, so no older event overwrites it.
	Left  *customerv1.CustomerSnapshot
	At    time.Time
	Round int32
}

// Participant erases what one service stores.
type Participant struct {
	// Service is the service's name.
	Service string
	// Done is the subject of the service's customer_data_erased.
	Done   string
	DB     *pg.DB
	Outbox *outbox.Outbox
	Log    *slog.Logger
	Now    func() time.Time
	// Erase erases the service's own data, in its own transactions; it must be repeatable. The
	// participant itself handles idempotency keys, the mark that Erased reads and the wait for the
	// outbox.
	Erase func(ctx context.Context, e Erasure) error
	// Names returns identifiers of the customer's items. The stored responses of idempotency keys
	// can have these without the customer's identifier. nil: there are none.
	Names func(ctx context.Context, e Erasure) ([]string, error)
}

const (
	// erasureBatch is the number of erasures that are handled before they are acknowledged.
	erasureBatch = 10
	// erasureTime is long, because a customer can have much data.
	erasureTime = 10 * time.Minute
)

// Run erases customers until ctx ends. Any number of processes can run it.
func (p *Participant) Run(ctx context.Context, b *bus.Bus) error {
	return b.Consume(ctx, bus.Consumer{
		Name: p.Service + "-erasure", Subjects: []string{subjects.CustomerErased}, Batch: erasureBatch, HandleTime: erasureTime, Handle: p.handle,
	})
}

func (p *Participant) handle(ctx context.Context, msgs []bus.Message) error {
	for _, m := range msgs {
		e, err := erasureOf(m)
		if err != nil {
			return fmt.Errorf("%s %s: %w", m.Subject, m.ID, err)
		}
		if err := p.erase(ctx, e); err != nil {
			return fmt.Errorf("erasure of %s: %w", e.Customer, err)
		}
	}
	return nil
}

func erasureOf(m bus.Message) (Erasure, error) {
	var event customerv1.CustomerErased
	if err := proto.Unmarshal(m.Payload, &event); err != nil {
		return Erasure{}, err
	}
	customer, err := id.Parse[id.Customer](event.GetCustomer().GetId())
	return Erasure{Company: m.Company, Customer: customer, Left: event.GetCustomer(), At: m.OccurredAt, Round: event.GetRound()}, err
}

// erase does one round. It marks the customer first, so that every later write finds the mark.
func (p *Participant) erase(ctx context.Context, e Erasure) error {
	err := p.DB.InTx(ctx, pg.For(e.Company), func(ctx context.Context, tx *pg.Tx) error {
		return Mark(ctx, tx, e.Company, e.Customer, e.At)
	})
	if err != nil {
		return err
	}
	if err := p.Erase(ctx, e); err != nil {
		return err
	}
	names := []string{e.Customer.String()}
	if p.Names != nil {
		more, err := p.Names(ctx, e)
		if err != nil {
			return err
		}
		names = append(names, more...)
	}
	if err := forgetAnswersTo(ctx, p.DB, e.Company, names); err != nil {
		return err
	}
	if err := p.published(ctx, e); err != nil {
		return err
	}
	err = p.DB.InTx(ctx, pg.For(e.Company), func(ctx context.Context, tx *pg.Tx) error {
		now := p.Now()
		return p.Outbox.Append(ctx, tx, outbox.Event{Company: e.Company, Subject: p.Done, OccurredAt: now, Payload: &privacyv1.CustomerDataErased{
			CustomerId: e.Customer.String(), Service: p.Service, Round: e.Round, ErasedAt: timestamppb.New(now),
		}})
	})
	if err == nil {
		p.Log.Info("a customer's data was erased", "company", e.Company.String(), "customer", e.Customer.String(), "round", e.Round)
	}
	return err
}

const (
	publishedPoll  = 50 * time.Millisecond
	publishedLimit = 5 * time.Second
)

// errWaiting has the event redelivered later, when the outbox has had more time.
var errWaiting = fault.Away(errors.New("events about the customer are not published yet"))

// published returns nil if no event about the customer waits to be published. Events that are in
// the stream by then are removed from it at the end.
func (p *Participant) published(ctx context.Context, e Erasure) error {
	limit := time.Now().Add(publishedLimit)
	for {
		waiting, err := Waiting(ctx, p.DB, e.Company, e.Customer, p.Done)
		if err != nil || !waiting {
			return err
		}
		if time.Now().After(limit) {
			return errWaiting
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(publishedPoll):
		}
	}
}
