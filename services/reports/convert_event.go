package reports

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/id"
	"reservation.dev/platform/subjects"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// reader adds the facts in the payload of an event.
type reader func(c *converter, payload []byte) error

// read returns a reader of events of type T.
func read[T any, P interface {
	*T
	proto.Message
}](add func(c *converter, event P)) reader {
	return func(c *converter, payload []byte) error {
		event := P(new(T))
		if err := proto.Unmarshal(payload, event); err != nil {
			return err
		}
		add(c, event)
		return c.err
	}
}

// readers are the readers of the events that the service consumes, by subject.
var readers = map[string]reader{
	subjects.EventCreated: read(func(c *converter, e *bookingv1.EventCreated) { c.event(e.GetEvent()) }),
	subjects.EventsImported: read(func(c *converter, e *bookingv1.EventsImported) {
		for _, event := range e.GetEvents() {
			c.event(event)
		}
		for _, added := range e.GetDates() {
			c.addedDates(added)
		}
	}),
	subjects.EventUpdated:    read(func(c *converter, e *bookingv1.EventUpdated) { c.event(e.GetEvent()) }),
	subjects.EventDatesAdded: read(func(c *converter, e *bookingv1.EventDatesAdded) { c.addedDates(e) }),
	subjects.EventDateUpdated: read(func(c *converter, e *bookingv1.EventDateUpdated) {
		c.scheduled(e.GetEventId(), e.GetDate(), e.GetScheduled(), e.GetVersion())
	}),
	subjects.EventDateCancelled: read(func(c *converter, e *bookingv1.EventDateCancelled) {
		c.scheduled(e.GetEventId(), e.GetDate(), e.GetScheduled(), e.GetVersion())
	}),
	subjects.EventCancelled: read(func(c *converter, e *bookingv1.EventCancelled) {
		c.event(e.GetEvent())
		c.cancelledDates(e.GetEventId(), e.GetCancelledDateIds(), e.GetVersion())
	}),
	subjectEventDeleted: read(func(c *converter, e *bookingv1.EventDeleted) {
		c.addEvent(eventFact{id: parse[id.Event](c, e.GetEventId()), version: e.GetVersion(), status: eventDeleted})
	}),

	subjects.BookingConfirmed:   read(func(c *converter, e *bookingv1.BookingConfirmed) { c.booking(e.GetBooking()) }),
	subjects.BookingCancelled:   read(func(c *converter, e *bookingv1.BookingCancelled) { c.booking(e.GetBooking()) }),
	subjects.BookingRefunded:    read(func(c *converter, e *bookingv1.BookingRefunded) { c.booking(e.GetBooking()) }),
	subjects.BookingMoved:       read(func(c *converter, e *bookingv1.BookingMoved) { c.booking(e.GetBooking()) }),
	subjects.BookingTransferred: read(func(c *converter, e *bookingv1.BookingTransferred) { c.booking(e.GetBooking()) }),
	subjects.AttendanceRecorded: read(func(c *converter, e *bookingv1.AttendanceRecorded) { c.booking(e.GetBooking()) }),
	subjects.TransactionsImported: read(func(c *converter, e *bookingv1.TransactionsImported) {
		for _, b := range e.GetBookings() {
			c.booking(b)
		}
	}),
	subjects.AppointmentBooked:    read(func(c *converter, e *bookingv1.AppointmentBooked) { c.appointment(e.GetAppointment()) }),
	subjects.AppointmentMoved:     read(func(c *converter, e *bookingv1.AppointmentMoved) { c.appointment(e.GetAppointment()) }),
	subjects.AppointmentCancelled: read(func(c *converter, e *bookingv1.AppointmentCancelled) { c.appointment(e.GetAppointment()) }),

	subjectPassTypeCreated: read(func(c *converter, e *passv1.PassTypeCreated) { c.passType(e.GetPassType()) }),
	subjectPassTypeUpdated: read(func(c *converter, e *passv1.PassTypeUpdated) { c.passType(e.GetPassType()) }),
	subjects.CustomerPassAssigned: read(func(c *converter, e *passv1.CustomerPassAssigned) {
		c.passType(e.GetPassType())
		c.pass(e.GetCustomerPass(), e.GetLedgerEntries())
	}),
	subjects.CustomerPassImported: read(func(c *converter, e *passv1.CustomerPassImported) {
		c.passType(e.GetPassType())
		c.pass(e.GetCustomerPass(), e.GetLedgerEntries())
	}),
	subjects.CustomerPassUpdated: read(func(c *converter, e *passv1.CustomerPassUpdated) { c.pass(e.GetCustomerPass(), e.GetLedgerEntries()) }),

	subjectPlanCreated: read(func(c *converter, e *subscriptionv1.PlanCreated) { c.plan(e.GetPlan()) }),
	subjectPlanUpdated: read(func(c *converter, e *subscriptionv1.PlanUpdated) { c.plan(e.GetPlan()) }),
	subjects.SubscriptionCreated: read(func(c *converter, e *subscriptionv1.SubscriptionCreated) {
		c.subscription(e.GetSubscription().GetId(), e.GetMovements())
	}),
	subjects.SubscriptionImported: read(func(c *converter, e *subscriptionv1.SubscriptionImported) {
		c.subscription(e.GetSubscription().GetId(), e.GetMovements())
	}),
	subjects.SubscriptionUpdated: read(func(c *converter, e *subscriptionv1.SubscriptionUpdated) {
		c.subscription(e.GetSubscription().GetId(), e.GetMovements())
	}),
	subjects.SubscriptionRenewed: read(func(c *converter, e *subscriptionv1.SubscriptionRenewed) {
		c.subscription(e.GetSubscription().GetId(), e.GetMovements())
	}),
	subjects.SubscriptionPaymentRecorded: read(func(c *converter, e *subscriptionv1.SubscriptionPaymentRecorded) {
		c.subscription(e.GetSubscription().GetId(), e.GetMovements())
	}),
	subjects.SubscriptionEnded: read(func(c *converter, e *subscriptionv1.SubscriptionEnded) {
		c.subscription(e.GetSubscription().GetId(), e.GetMovements())
	}),

	subjects.CustomerCreated: read(func(c *converter, e *customerv1.CustomerCreated) { c.customer(e.GetCustomer()) }),
	subjects.CustomerUpdated: read(func(c *converter, e *customerv1.CustomerUpdated) { c.customer(e.GetCustomer()) }),
	subjects.CustomerDeleted: read(func(c *converter, e *customerv1.CustomerDeleted) { c.customer(e.GetCustomer()) }),
}

// read adds the facts in an event of another service.
func (c *converter) read(m bus.Message) error {
	if err := readers[m.Subject](c, m.Payload); err != nil {
		return fmt.Errorf("%s %s: %w", m.Subject, m.ID, err)
	}
	return nil
}
