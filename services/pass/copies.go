package pass

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/id"
	"reservation.dev/platform/inbox"
	"reservation.dev/platform/pg"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// What is consumed.

// consumer is the name under which the copy of companies is kept up to date.
const consumer = "pass-copies"

const (
	subjectCompanyCreated = "auth.v1.company_created"
	subjectCompanyUpdated = "auth.v1.company_updated"
)

// Copies keeps the copy of companies up to date with their events.
type Copies struct{ db *pg.DB }

// NewCopies returns the keeper of the copy in db.
func NewCopies(db *pg.DB) *Copies { return &Copies{db: db} }

// Run consumes events until ctx ends.
func (c *Copies) Run(ctx context.Context, b *bus.Bus) error {
	return b.Consume(ctx, bus.Consumer{
		Name: consumer, Handle: c.handle, Subjects: []string{subjectCompanyCreated, subjectCompanyUpdated},
	})
}

// handle stores what a batch of events says, each event once, in one commit.
func (c *Copies) handle(ctx context.Context, msgs []bus.Message) error {
	return pg.Fault(c.db.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		unseen, err := inbox.Once(ctx, tx, consumer, msgs)
		if err != nil {
			return err
		}
		var news []companyRecord
		for _, m := range unseen {
			company, err := newsOf(m)
			if err != nil {
				return fmt.Errorf("%s %s: %w", m.Subject, m.ID, err)
			}
			news = append(news, company)
		}
		return keepCompanies(ctx, tx, news)
	}), nil)
}

// newsOf is what an event says of its company.
func newsOf(m bus.Message) (companyRecord, error) {
	var event interface {
		proto.Message
		GetCompany() *authv1.CompanySnapshot
	}
	switch m.Subject {
	case subjectCompanyCreated:
		event = &authv1.CompanyCreated{}
	case subjectCompanyUpdated:
		event = &authv1.CompanyUpdated{}
	default:
		return companyRecord{}, errors.New("an event that was not asked for")
	}
	if err := proto.Unmarshal(m.Payload, event); err != nil {
		return companyRecord{}, err
	}
	c := event.GetCompany()
	company, err := id.Parse[id.Company](c.GetId())
	return companyRecord{CompanyID: company, Timezone: c.GetTimezone(), Currency: c.GetCurrency(), Version: c.GetVersion()}, err
}
