package booking

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/id"
	"reservation.dev/platform/inbox"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/subjects"
	"reservation.dev/platform/tenancy"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	"reservation.dev/services/booking/convert"
	"reservation.dev/services/booking/model"
	"reservation.dev/services/booking/store"
)

// consumer is the name of the consumer that keeps the copies up to date.
const consumer = "booking-copies"

// copyBatch is the number of events that one commit of the copies handles.
const copyBatch = 500

// Copies keeps the copies of customers and companies up to date with their events.
type Copies struct {
	store     *store.Store
	companies *tenancy.Companies
	leaver    *leaver
}

// NewCopies returns a Copies that writes to db, and appends the events of deleted customers' waitlist
// entries to box.
func NewCopies(db *pg.DB, box *outbox.Outbox, companies *tenancy.Companies) *Copies {
	s := store.New(db)
	return &Copies{store: s, companies: companies, leaver: &leaver{store: s, outbox: box, now: time.Now, newID: id.NewUUID}}
}

// Run consumes events until ctx ends.
func (c *Copies) Run(ctx context.Context, b *bus.Bus) error {
	return b.Consume(ctx, bus.Consumer{
		Name: consumer, Batch: copyBatch, Handle: c.handle,
		Subjects: []string{subjects.AllOfCustomers, subjects.CompanyCreated, subjects.CompanyUpdated},
	})
}

// handle applies a batch of events in one commit, each event once.
func (c *Copies) handle(ctx context.Context, msgs []bus.Message) error {
	return c.store.Fault(c.store.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		unseen, err := inbox.Once(ctx, tx, consumer, msgs)
		if err != nil {
			return err
		}
		var customers []model.CustomerRecord
		var companies []tenancy.Company
		for _, m := range unseen {
			if m.Subject == subjects.CompanyCreated || m.Subject == subjects.CompanyUpdated {
				company, err := tenancy.FromEvent(m)
				if err != nil {
					return fmt.Errorf("%s %s: %w", m.Subject, m.ID, err)
				}
				companies = append(companies, company)
				continue
			}
			customer, ok, err := customerFromEvent(m)
			if err != nil {
				return fmt.Errorf("%s %s: %w", m.Subject, m.ID, err)
			}
			if ok {
				customers = append(customers, customer)
			}
		}
		if err := c.keep(ctx, tx, customers); err != nil || len(companies) == 0 {
			return err
		}
		return c.companies.Keep(ctx, tx, companies)
	}))
}

func (c *Copies) keep(ctx context.Context, tx *pg.Tx, customers []model.CustomerRecord) error {
	if len(customers) == 0 {
		return nil
	}
	if err := c.store.KeepCustomers(ctx, tx, customers); err != nil {
		return err
	}
	return c.leaver.leave(ctx, tx, customers)
}

// customerFromEvent returns the customer in an event. ok is false if the event does not change a
// customer.
func customerFromEvent(m bus.Message) (customer model.CustomerRecord, ok bool, err error) {
	var event interface {
		proto.Message
		GetCustomer() *customerv1.CustomerSnapshot
	}
	switch m.Subject {
	case subjects.CustomerCreated:
		event = &customerv1.CustomerCreated{}
	case subjects.CustomerUpdated:
		event = &customerv1.CustomerUpdated{}
	case subjects.CustomerDeleted:
		event = &customerv1.CustomerDeleted{}
	default:
		return model.CustomerRecord{}, false, nil
	}
	if err := proto.Unmarshal(m.Payload, event); err != nil {
		return model.CustomerRecord{}, false, err
	}
	customer, err = convert.CustomerRecord(m.Company, event.GetCustomer())
	return customer, err == nil, err
}
