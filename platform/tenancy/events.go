package tenancy

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/id"
	"reservation.dev/platform/inbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/subjects"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// Follow keeps the copy up to date with auth's events until ctx ends. consumer is the name of a
// durable consumer, of which each service has one.
func (c *Companies) Follow(ctx context.Context, b *bus.Bus, consumer string) error {
	return b.Consume(ctx, bus.Consumer{
		Name: consumer, Subjects: []string{subjects.CompanyCreated, subjects.CompanyUpdated},
		Handle: func(ctx context.Context, msgs []bus.Message) error { return c.handle(ctx, consumer, msgs) },
	})
}

// handle stores the companies of a batch of events in one transaction, each event once.
func (c *Companies) handle(ctx context.Context, consumer string, msgs []bus.Message) error {
	return pg.Fault(c.db.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		unseen, err := inbox.Once(ctx, tx, consumer, msgs)
		if err != nil {
			return err
		}
		companies := make([]Company, len(unseen))
		for i, m := range unseen {
			if companies[i], err = FromEvent(m); err != nil {
				return fmt.Errorf("%s %s: %w", m.Subject, m.ID, err)
			}
		}
		return c.Keep(ctx, tx, companies)
	}), nil)
}

// FromEvent returns the company in a CompanyCreated or CompanyUpdated event. It is exported for
// consumers that follow further subjects.
func FromEvent(m bus.Message) (Company, error) {
	var event interface {
		proto.Message
		GetCompany() *authv1.CompanySnapshot
	}
	switch m.Subject {
	case subjects.CompanyCreated:
		event = &authv1.CompanyCreated{}
	case subjects.CompanyUpdated:
		event = &authv1.CompanyUpdated{}
	default:
		return Company{}, errors.New("not an event about a company")
	}
	if err := proto.Unmarshal(m.Payload, event); err != nil {
		return Company{}, err
	}
	in := event.GetCompany()
	company, err := id.Parse[id.Company](in.GetId())
	return Company{
		ID: company, Name: in.GetName(), Timezone: in.GetTimezone(), Currency: in.GetCurrency(),
		UniqueEmails: in.GetUniqueCustomerEmails(), OptionalEmails: in.GetOptionalCustomerEmails(),
		Version: in.GetVersion(), ClockOffset: in.GetClockOffsetSeconds(),
	}, err
}
