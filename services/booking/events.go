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
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// What is published.

const (
	subjectEventCreated       = "booking.v1.event_created"
	subjectEventDatesAdded    = "booking.v1.event_dates_added"
	subjectEventUpdated       = "booking.v1.event_updated"
	subjectEventDeleted       = "booking.v1.event_deleted"
	subjectEventCancelled     = "booking.v1.event_cancelled"
	subjectDateUpdated        = "booking.v1.event_date_updated"
	subjectDateCancelled      = "booking.v1.event_date_cancelled"
	subjectAttendance         = "booking.v1.attendance_recorded"
	subjectBookingConfirmed   = "booking.v1.booking_confirmed"
	subjectBookingCancelled   = "booking.v1.booking_cancelled"
	subjectBookingRefunded    = "booking.v1.booking_refunded"
	subjectWaitlistJoined     = "booking.v1.waitlist_joined"
	subjectWaitlistOffered    = "booking.v1.waitlist_offered"
	subjectWaitlistPassedOver = "booking.v1.waitlist_passed_over"
	subjectWaitlistEnded      = "booking.v1.waitlist_ended"
	subjectDataErased         = "booking.v1.customer_data_erased"
)

func eventCreated(e *bookingv1.Event) outbox.Event {
	return outbox.Event{Subject: subjectEventCreated, Payload: &bookingv1.EventCreated{Event: e}}
}

func eventDatesAdded(e *Event, dates []*bookingv1.EventDate) outbox.Event {
	return outbox.Event{Subject: subjectEventDatesAdded, Payload: &bookingv1.EventDatesAdded{
		EventId: e.ID.String(), Dates: dates, Version: e.Version,
	}}
}

// eventUpdated tells of e without its dates, of which other events tell.
func eventUpdated(e *Event) outbox.Event {
	undated := *e
	undated.Dates = nil
	return outbox.Event{Subject: subjectEventUpdated, Payload: &bookingv1.EventUpdated{Event: eventToProto(&undated)}}
}

func eventDeleted(e *Event) outbox.Event {
	return outbox.Event{Subject: subjectEventDeleted, Payload: &bookingv1.EventDeleted{EventId: e.ID.String(), Version: e.Version}}
}

func eventCancelled(e *Event, reason string) outbox.Event {
	return outbox.Event{Subject: subjectEventCancelled, Payload: &bookingv1.EventCancelled{
		EventId: e.ID.String(), Reason: reason, Version: e.Version,
	}}
}

func eventDateUpdated(e *Event, d *EventDate) outbox.Event {
	return outbox.Event{Subject: subjectDateUpdated, Payload: &bookingv1.EventDateUpdated{
		EventId: e.ID.String(), Date: dateToProto(d), Version: e.Version,
	}}
}

func eventDateCancelled(e *Event, d *EventDate, reason string) outbox.Event {
	return outbox.Event{Subject: subjectDateCancelled, Payload: &bookingv1.EventDateCancelled{
		EventId: e.ID.String(), Date: dateToProto(d), Reason: reason, Version: e.Version,
	}}
}

func attendanceRecorded(b *bookingv1.BookingSnapshot) outbox.Event {
	return outbox.Event{Subject: subjectAttendance, Payload: &bookingv1.AttendanceRecorded{Booking: b}}
}

func bookingConfirmed(b *bookingv1.BookingSnapshot) outbox.Event {
	return outbox.Event{Subject: subjectBookingConfirmed, Payload: &bookingv1.BookingConfirmed{Booking: b}}
}

func bookingCancelled(b *bookingv1.BookingSnapshot) outbox.Event {
	return outbox.Event{Subject: subjectBookingCancelled, Payload: &bookingv1.BookingCancelled{Booking: b}}
}

func bookingRefunded(b *bookingv1.BookingSnapshot) outbox.Event {
	return outbox.Event{Subject: subjectBookingRefunded, Payload: &bookingv1.BookingRefunded{Booking: b}}
}

func waitlistJoined(w *waiter, now time.Time) outbox.Event {
	return outbox.Event{Subject: subjectWaitlistJoined, Payload: &bookingv1.WaitlistJoined{Entry: w.told(now)}}
}

func waitlistOffered(w *waiter, now time.Time) outbox.Event {
	return outbox.Event{Subject: subjectWaitlistOffered, Payload: &bookingv1.WaitlistOffered{Entry: w.told(now)}}
}

func waitlistPassedOver(w *waiter, now time.Time) outbox.Event {
	return outbox.Event{Subject: subjectWaitlistPassedOver, Payload: &bookingv1.WaitlistPassedOver{Entry: w.told(now)}}
}

func waitlistEnded(w *waiter, now time.Time) outbox.Event {
	return outbox.Event{Subject: subjectWaitlistEnded, Payload: &bookingv1.WaitlistEnded{Entry: w.told(now)}}
}

// told is an entry as events have it: its position is that of a moment.
func (w *waiter) told(now time.Time) *bookingv1.WaitlistEntry {
	e := w.toProto(now)
	e.Position = 0
	return e
}

// append adds events of the company to the commit of tx.
func (s *Server) append(ctx context.Context, tx *pg.Tx, company id.Company, at time.Time, events ...outbox.Event) error {
	return s.outbox.Append(ctx, tx, s.stamp(company, at, events)...)
}

// stamp completes events of the company that happen at one instant.
func (s *Server) stamp(company id.Company, at time.Time, events []outbox.Event) []outbox.Event {
	for i := range events {
		events[i].Company, events[i].OccurredAt, events[i].ID = company, at, s.newID()
	}
	return events
}

// What is consumed.

// consumer is the name under which the copies are kept up to date.
const consumer = "booking-copies"

// copyBatch is how many events one commit of the copies takes.
const copyBatch = 500

// Copies keeps the copies of customers and companies up to date with their events.
type Copies struct{ store *store }

// NewCopies returns the keeper of the copies in db.
func NewCopies(db *pg.DB) *Copies { return &Copies{store: newStore(db)} }

// Run consumes events until ctx ends.
func (c *Copies) Run(ctx context.Context, b *bus.Bus) error {
	return b.Consume(ctx, bus.Consumer{
		Name: consumer, Batch: copyBatch, Handle: c.handle,
		Subjects: []string{"customer.v1.*", "auth.v1.company_created", "auth.v1.company_updated"},
	})
}

// handle stores what a batch of events says, each event once, in one commit.
func (c *Copies) handle(ctx context.Context, msgs []bus.Message) error {
	return c.store.fault(c.store.db.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		unseen, err := inbox.Once(ctx, tx, consumer, msgs)
		if err != nil {
			return err
		}
		var customers []customerRecord
		var companies []companyRecord
		for _, m := range unseen {
			news, err := newsOf(m)
			if err != nil {
				return fmt.Errorf("%s %s: %w", m.Subject, m.ID, err)
			}
			customers, companies = append(customers, news.customers...), append(companies, news.companies...)
		}
		if len(customers) > 0 {
			if err := keepCustomers(ctx, tx, customers); err != nil {
				return err
			}
			if err := leaveWaiting(ctx, tx, customers); err != nil {
				return err
			}
		}
		if len(companies) == 0 {
			return nil
		}
		return keepCompanies(ctx, tx, companies)
	}))
}

// news is what an event says; of most kinds nothing that concerns us.
type news struct {
	customers []customerRecord
	companies []companyRecord
}

func newsOf(m bus.Message) (news, error) {
	switch m.Subject {
	case "customer.v1.customer_created":
		var e customerv1.CustomerCreated
		err := proto.Unmarshal(m.Payload, &e)
		return customerNews(m.Company, e.GetCustomer(), err)
	case "customer.v1.customer_updated":
		var e customerv1.CustomerUpdated
		err := proto.Unmarshal(m.Payload, &e)
		return customerNews(m.Company, e.GetCustomer(), err)
	case "customer.v1.customer_deleted":
		var e customerv1.CustomerDeleted
		err := proto.Unmarshal(m.Payload, &e)
		return customerNews(m.Company, e.GetCustomer(), err)
	case "auth.v1.company_created":
		var e authv1.CompanyCreated
		err := proto.Unmarshal(m.Payload, &e)
		return companyNews(e.GetCompany(), err)
	case "auth.v1.company_updated":
		var e authv1.CompanyUpdated
		err := proto.Unmarshal(m.Payload, &e)
		return companyNews(e.GetCompany(), err)
	}
	return news{}, nil
}

func customerNews(company id.Company, c *customerv1.CustomerSnapshot, err error) (news, error) {
	if err != nil {
		return news{}, err
	}
	customer, err := id.Parse[id.Customer](c.GetId())
	if err != nil {
		return news{}, err
	}
	return news{customers: []customerRecord{{
		company:   company,
		Customer:  Customer{ID: customer, FirstName: c.GetFirstName(), LastName: c.GetLastName(), Email: c.GetEmail()},
		reference: c.GetReference(), version: c.GetVersion(), deletedAt: instantOf(c.GetDeletedAt()),
	}}}, nil
}

func companyNews(c *authv1.CompanySnapshot, err error) (news, error) {
	if err != nil {
		return news{}, err
	}
	company, err := id.Parse[id.Company](c.GetId())
	if err != nil {
		return news{}, err
	}
	return news{companies: []companyRecord{{
		Company: Company{ID: company, Timezone: c.GetTimezone(), Currency: c.GetCurrency()}, version: c.GetVersion(),
	}}}, nil
}
