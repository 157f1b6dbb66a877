package message

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/id"
	"reservation.dev/platform/webhookevent"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// NewCatalogue returns the domain events, by their subjects, and the webhook events
// that follow from each. If there are several, the message of the first has the
// identifier of the domain event, so their order must not change.
func NewCatalogue() Catalogue {
	return Catalogue{
		newSource("booking.v1.booking_confirmed", registrationCreated(), eventPurchased()),
		newSource("pass.v1.customer_pass_assigned", passPurchased()),
	}
}

// Catalogue knows every webhook event.
type Catalogue []source

// kind is a webhook event that follows from domain events of type E.
type kind[E proto.Message] struct {
	event webhookv1.EventType
	// read returns what a message shows of e; nil if e makes no such message.
	read func(e E) (*content, error)
	// sample returns a made-up domain event, which a test delivery is made of.
	sample func(now time.Time) E
}

// content is what a message shows of a domain event.
type content struct {
	customer      string // identifier of the customer whom it is about
	needsCustomer bool   // data needs the customer's record
	needsCurrency bool   // data needs the company's currency
	data          func(r Records) []byte
}

// Records are facts of other services that a domain event lacks.
type Records struct {
	Customer Person // if NeedsCustomer
	Currency string // the company's, if NeedsCurrency
}

// source is a domain event.
type source struct {
	subject string
	events  []string // webhook events that follow from it
	// read returns the contents of a domain event's messages, nil for events without
	// one, in the order of events.
	read func(payload []byte) ([]*content, error)
	// sample returns the content of a test delivery.
	sample func(event string, now time.Time) (*content, error)
}

// newSource returns the domain event of a subject.
func newSource[M any, E interface {
	*M
	proto.Message
}](subject string, kinds ...kind[E]) source {
	s := source{subject: subject}
	for _, k := range kinds {
		s.events = append(s.events, webhookevent.Name(k.event))
	}
	s.read = func(payload []byte) ([]*content, error) {
		e := E(new(M))
		if err := proto.Unmarshal(payload, e); err != nil {
			return nil, err
		}
		contents := make([]*content, len(kinds))
		for i, k := range kinds {
			var err error
			if contents[i], err = k.read(e); err != nil {
				return nil, err
			}
		}
		return contents, nil
	}
	s.sample = func(event string, now time.Time) (*content, error) {
		for i, k := range kinds {
			if s.events[i] == event {
				return k.read(k.sample(now))
			}
		}
		return nil, nil
	}
	return s
}

// Subjects returns the subjects of the domain events.
func (c Catalogue) Subjects() []string {
	subjects := make([]string, len(c))
	for i, s := range c {
		subjects[i] = s.subject
	}
	return subjects
}

// Draft is a message that lacks what other services know.
type Draft struct {
	*content
	message Message
}

// Company is the company that the message goes to.
func (d Draft) Company() id.Company { return d.message.Company }

// Customer identifies the customer whom the message is about.
func (d Draft) Customer() string { return d.customer }

// NeedsCustomer reports whether Complete needs the record of Customer.
func (d Draft) NeedsCustomer() bool { return d.needsCustomer }

// NeedsCurrency reports whether Complete needs the company's currency.
func (d Draft) NeedsCurrency() bool { return d.needsCurrency }

// Complete returns the message with what other services know.
func (d Draft) Complete(r Records) Message {
	m := d.message
	m.JSON = Envelope(m.ID, m.Event, m.OccurredAt, d.data(r))
	return m
}

// Drafts returns the drafts of the messages that a domain event makes: none if its
// subject is not in the catalogue.
func (c Catalogue) Drafts(e bus.Message) ([]Draft, error) {
	for _, s := range c {
		if s.subject == e.Subject {
			drafts, err := s.drafts(e)
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", e.Subject, e.ID, err)
			}
			return drafts, nil
		}
	}
	return nil, nil
}

func (s source) drafts(e bus.Message) ([]Draft, error) {
	contents, err := s.read(e.Payload)
	if err != nil {
		return nil, err
	}
	drafts := make([]Draft, 0, len(contents))
	for i, c := range contents {
		if c == nil {
			continue
		}
		m := Message{ID: id.WebhookMessage(e.ID), Company: e.Company, Event: s.events[i], OccurredAt: e.OccurredAt, Trace: e.Trace}
		if i > 0 {
			m.ID = derivedID(e.ID, m.Event)
		}
		m.Customer, _ = id.Parse[id.Customer](c.customer) // nobody, if it is not an identifier
		drafts = append(drafts, Draft{content: c, message: m})
	}
	return drafts, nil
}

// Sample returns the data of a test delivery: what a real message shows, of a made-up
// domain event at the time now.
func (c Catalogue) Sample(event string, now time.Time) ([]byte, error) {
	for _, s := range c {
		content, err := s.sample(event, now)
		if err != nil {
			return nil, err
		}
		if content != nil {
			return content.data(Records{Customer: samplePerson(), Currency: "GBP"}), nil
		}
	}
	return nil, fmt.Errorf("webhook event %q has no sample", event)
}
