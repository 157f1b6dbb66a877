package message

import (
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/id"
	"reservation.dev/platform/subjects"
	"reservation.dev/platform/webhookevent"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// NewCatalogue returns the domain events and the webhook events that each creates. If a domain
// event creates several, the message of the first one has the identifier of the domain event, so
// their order must not change.
func NewCatalogue() Catalogue {
	return Catalogue{
		newSource(subjects.BookingConfirmed, registrationCreated(), eventPurchased()),
		newSource(subjects.CustomerPassAssigned, passPurchased()),
		newSource(subjects.BookingCancelled, registrationCancelled()),
		newSource(subjects.BookingRefunded, registrationRefunded()),
		newSource(subjects.AttendanceRecorded, attendanceRecorded()),
		newSource(subjects.WaitlistJoined, waitlistJoined()),
		newSource(subjects.WaitlistOffered, waitlistOffered()),
		newSource(subjects.WaitlistEnded, waitlistEnded()),
		newSource(subjects.HoldExpired, holdExpired()),
		newSource(subjects.CustomerCreated, customerCreated()),
		newSource(subjects.CustomerUpdated, customerUpdated()),
		newSource(subjects.CustomerDeleted, customerDeleted()),
		newSource(subjects.EventCreated, eventCreated()),
		newSource(subjects.EventUpdated, eventUpdated()),
		newSource(subjects.EventDatesAdded, eventDatesAdded()),
		newSource(subjects.EventCancelled, eventCancelled()),
		newSource(subjects.EventDateUpdated, eventDateChanged()),
		newSource(subjects.EventDateCancelled, eventDateCancelled()),
		newSource(subjects.CustomerPassUpdated, customerPassUpdated()),
		newSource(subjects.SubscriptionCreated, subscriptionCreated()),
		newSource(subjects.SubscriptionUpdated, subscriptionUpdated()),
		newSource(subjects.SubscriptionRenewed, subscriptionRenewed()),
		newSource(subjects.SubscriptionPaymentDue, subscriptionPaymentDue()),
		newSource(subjects.SubscriptionPaymentRecorded, subscriptionPaymentRecorded()),
		newSource(subjects.SubscriptionEnded, subscriptionEnded()),
		newSource(subjects.MediaItemUpdated, mediaUpdated(), mediaPublished()),
		newSource(subjects.MediaItemDeleted, mediaDeleted()),
		newSource(subjects.MediaCompleted, mediaCompleted()),
		newSource(subjects.AppointmentBooked, appointmentBooked()),
		newSource(subjects.AppointmentMoved, appointmentMoved()),
		newSource(subjects.AppointmentCancelled, appointmentCancelled()),
		newSource(subjects.BookingMoved, registrationMoved()),
		newSource(subjects.BookingTransferred, registrationTransferred()),
	}
}

// Catalogue knows every webhook event.
type Catalogue []source

// kind is a webhook event that is created by domain events of type E.
type kind[E proto.Message] struct {
	event webhookv1.EventType
	// read returns the draft of e's message, with its field Message still empty; nil if e creates
	// no message.
	read func(e E) (*Draft, error)
	// sample returns an invented domain event for a test delivery; nil if another kind has the event's.
	sample func(now time.Time) E
}

// Draft is a message without the facts that only other services know.
type Draft struct {
	Message       Message  // without JSON
	Customers     []string // identifiers of the customers whom it names
	NeedsRecord   string   // identifier of the customer whose record it needs; "": of nobody
	NeedsCurrency bool     // the company's currency
	data          func(r Records) ([]byte, error)
}

// Records are facts of other services that a draft needs.
type Records struct {
	Customer Person
	Currency string
}

// source is a domain event.
type source struct {
	subject string
	events  []string             // webhook events that follow from it
	empty   func() proto.Message // a message of the domain event's type
	// read returns the drafts of a domain event's messages in the order of events; nil for events
	// that have no message.
	read func(payload []byte) ([]*Draft, error)
	// sample returns an invented domain event for a test delivery; nil for events of other sources.
	sample func(event string, now time.Time) proto.Message
}

// newSource returns the domain event of a subject.
func newSource[M any, E interface {
	*M
	proto.Message
}](subject string, kinds ...kind[E]) source {
	s := source{subject: subject, empty: func() proto.Message { return E(new(M)) }}
	for _, k := range kinds {
		s.events = append(s.events, webhookevent.Name(k.event))
	}
	s.read = func(payload []byte) ([]*Draft, error) {
		e := E(new(M))
		if err := proto.Unmarshal(payload, e); err != nil {
			return nil, err
		}
		drafts := make([]*Draft, len(kinds))
		for i, k := range kinds {
			var err error
			if drafts[i], err = k.read(e); err != nil {
				return nil, err
			}
		}
		return drafts, nil
	}
	s.sample = func(event string, now time.Time) proto.Message {
		for i, k := range kinds {
			if s.events[i] == event && k.sample != nil {
				return k.sample(now)
			}
		}
		return nil
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

// Complete returns the message, completed with the facts of other services.
func (d Draft) Complete(r Records) (Message, error) {
	m := d.Message
	data, err := d.data(r)
	if err != nil {
		return m, fmt.Errorf("%s %s: %w", m.Event, m.ID, err)
	}
	m.JSON = Envelope(&m, data)
	return m, nil
}

// Drafts returns the drafts of the messages that a domain event creates. There are none if its
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
	read, err := s.read(e.Payload)
	if err != nil {
		return nil, err
	}
	drafts := make([]Draft, 0, len(read))
	for i, d := range read {
		if d == nil {
			continue
		}
		d.Message = Message{ID: id.WebhookMessage(e.ID), Company: e.Company, Event: s.events[i], OccurredAt: e.OccurredAt, Trace: e.Trace}
		if i > 0 {
			d.Message.ID = derivedID(e.ID, s.events[i])
		}
		d.Message.Customers = customersOf(d.Customers)
		drafts = append(drafts, *d)
	}
	return drafts, nil
}

// customersOf parses the identifiers of customers. An imported text that is not an identifier names
// nobody.
func customersOf(texts []string) []id.Customer {
	var customers []id.Customer
	for _, text := range texts {
		if c, err := id.Parse[id.Customer](text); err == nil && !slices.Contains(customers, c) {
			customers = append(customers, c)
		}
	}
	return customers
}

// Sample returns the data of a test delivery: the data of a real message for an invented domain
// event at the time now.
func (c Catalogue) Sample(event string, now time.Time) ([]byte, error) {
	e, err := c.sampleEvent(event, now)
	if err != nil {
		return nil, err
	}
	drafts, err := c.Drafts(e)
	if err != nil {
		return nil, err
	}
	for _, d := range drafts {
		if d.Message.Event == event {
			return d.data(Records{Customer: samplePerson(), Currency: "GBP"})
		}
	}
	return nil, fmt.Errorf("the sample of webhook event %q has no message", event)
}

// sampleEvent returns the invented domain event of a webhook event's test deliveries.
func (c Catalogue) sampleEvent(event string, now time.Time) (e bus.Message, err error) {
	for _, s := range c {
		if m := s.sample(event, now); m != nil {
			e = bus.Message{Subject: s.subject, OccurredAt: now}
			e.Payload, err = proto.Marshal(m)
			return e, err
		}
	}
	return e, fmt.Errorf("webhook event %q has no sample", event)
}
