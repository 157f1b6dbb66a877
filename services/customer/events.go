package customer

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/id"
	"reservation.dev/platform/inbox"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// What the customer service publishes.
const (
	subjectCreated = "customer.v1.customer_created"
	subjectUpdated = "customer.v1.customer_updated"
	subjectDeleted = "customer.v1.customer_deleted"
	subjectErased  = "customer.v1.customer_erased"
)

func created(company id.Company, c Customer) outbox.Event {
	return event(company, subjectCreated, c, &customerv1.CustomerCreated{Customer: snapshot(c)})
}

func updated(company id.Company, c Customer) outbox.Event {
	return event(company, subjectUpdated, c, &customerv1.CustomerUpdated{Customer: snapshot(c)})
}

func deleted(company id.Company, c Customer) outbox.Event {
	return event(company, subjectDeleted, c, &customerv1.CustomerDeleted{Customer: snapshot(c)})
}

// erased tells of the round of an erasure.
func erased(company id.Company, c Customer, round int32) outbox.Event {
	return event(company, subjectErased, c, &customerv1.CustomerErased{Customer: snapshot(c), Round: round})
}

func event(company id.Company, subject string, c Customer, payload proto.Message) outbox.Event {
	return outbox.Event{Company: company, Subject: subject, Payload: payload, OccurredAt: c.UpdatedAt}
}

// What is consumed.

// consumer is the name under which the copy of companies is kept up to date.
const consumer = "customer-copies"

const (
	subjectCompanyCreated = "auth.v1.company_created"
	subjectCompanyUpdated = "auth.v1.company_updated"
)

// What the other services answer to an erasure, <service>.v1.customer_data_erased.
const (
	erasureConsumer = "customer-erasures"
	dataErased      = ".v1.customer_data_erased"
)

// answersOfAll has the answers of all services.
func answersOfAll() string { return "*" + dataErased }

func isAnswer(subject string) bool { return strings.HasSuffix(subject, dataErased) }

// Copies keeps the copy of companies up to date with their events.
type Copies struct{ store *store }

// NewCopies returns the keeper of the copy in db.
func NewCopies(db *pg.DB) *Copies { return &Copies{store: newStore(db)} }

// Run consumes events until ctx ends.
func (c *Copies) Run(ctx context.Context, b *bus.Bus) error {
	return b.Consume(ctx, bus.Consumer{
		Name: consumer, Handle: c.handle, Subjects: []string{subjectCompanyCreated, subjectCompanyUpdated},
	})
}

// handle stores what a batch of events says, each event once, in one commit.
func (c *Copies) handle(ctx context.Context, msgs []bus.Message) error {
	return pg.Fault(c.store.db.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		unseen, err := inbox.Once(ctx, tx, consumer, msgs)
		if err != nil {
			return err
		}
		var news []Company
		for _, m := range unseen {
			company, err := newsOf(m)
			if err != nil {
				return fmt.Errorf("%s %s: %w", m.Subject, m.ID, err)
			}
			news = append(news, company)
		}
		return c.store.keepCompanies(ctx, tx, news)
	}), nil)
}

// newsOf is what an event says of its company.
func newsOf(m bus.Message) (Company, error) {
	var snapshot *authv1.CompanySnapshot
	switch m.Subject {
	case subjectCompanyCreated:
		var e authv1.CompanyCreated
		if err := proto.Unmarshal(m.Payload, &e); err != nil {
			return Company{}, err
		}
		snapshot = e.GetCompany()
	case subjectCompanyUpdated:
		var e authv1.CompanyUpdated
		if err := proto.Unmarshal(m.Payload, &e); err != nil {
			return Company{}, err
		}
		snapshot = e.GetCompany()
	default:
		return Company{}, fmt.Errorf("an event that was not asked for")
	}
	company, err := id.Parse[id.Company](snapshot.GetId())
	return Company{ID: company, UniqueEmails: snapshot.GetUniqueCustomerEmails(), Version: snapshot.GetVersion()}, err
}
