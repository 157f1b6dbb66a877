package reports

import (
	"fmt"
	"strings"
	"time"

	"reservation.dev/platform/enum"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// converter adds the facts in messages of other services. Its first error stops it.
type converter struct {
	*facts
	err error
}

// parse reads an identifier.
func parse[T any, P interface {
	*T
	UnmarshalText([]byte) error
}](c *converter, s string) (v T) {
	if err := P(&v).UnmarshalText([]byte(s)); err != nil && c.err == nil {
		c.err = fmt.Errorf("identifier %q: %w", s, err)
	}
	return v
}

// day reads a required day.
func (c *converter) day(s string) Day {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil && c.err == nil {
		c.err = fmt.Errorf("day %q: %w", s, err)
	}
	return dayOf(t)
}

// event adds an event with the dates that the message has.
func (c *converter) event(e *bookingv1.Event) {
	if e == nil {
		return
	}
	event := parse[id.Event](c, e.GetId())
	c.addEvent(eventFact{id: event, version: e.GetVersion(), title: e.GetTitle(), status: enum.Name(e.GetStatus())})
	if isOfAppointments(e.GetAppointmentTypeId(), e.GetType()) {
		return
	}
	for _, d := range e.GetDates() {
		c.date(event, d, e.GetVersion())
	}
}

// addedDates adds the dates that were added to an event.
func (c *converter) addedDates(e *bookingv1.EventDatesAdded) {
	c.event(e.GetEvent())
	of := parse[id.Event](c, e.GetEventId())
	if isOfAppointments(e.GetEvent().GetAppointmentTypeId(), e.GetEvent().GetType()) {
		return
	}
	for _, d := range e.GetDates() {
		c.date(of, d, e.GetVersion())
	}
}

// isOfAppointments reports whether an event has appointments, whose bookings have their days.
func isOfAppointments(appointmentType string, t bookingv1.EventType) bool {
	return appointmentType != "" || t == bookingv1.EventType_EVENT_TYPE_APPOINTMENT
}

// date adds a date of an event. version is that of the event.
func (c *converter) date(event id.Event, d *bookingv1.EventDate, version int64) {
	c.addDate(dateFact{
		id: parse[id.EventDate](c, d.GetId()), version: version, event: event, capacity: d.Capacity,
		day: localDay(d.GetStartsAt().AsTime(), d.GetTimezone()), isCancelled: d.GetStatus() == bookingv1.EventDateStatus_EVENT_DATE_STATUS_CANCELLED,
	})
}

// scheduled adds a date from an event about it.
func (c *converter) scheduled(event string, d *bookingv1.EventDate, s *bookingv1.ScheduledDate, version int64) {
	of := parse[id.Event](c, event)
	if s != nil {
		c.addEvent(eventFact{id: of, version: version, title: s.GetEventTitle(), status: enum.Name(s.GetEventStatus())})
		if s.GetEventType() == bookingv1.EventType_EVENT_TYPE_APPOINTMENT {
			return
		}
	}
	c.date(of, d, version)
}

// cancelledDates adds the dates that were cancelled with an event. One that the event contains is known already,
// in the same version.
func (c *converter) cancelledDates(event string, dates []string, version int64) {
	of := parse[id.Event](c, event)
	for _, d := range dates {
		c.addDate(dateFact{id: parse[id.EventDate](c, d), version: version, event: of, day: noDay, isCancelled: true})
	}
}

// booking adds a booking with its movements.
func (c *converter) booking(s *bookingv1.BookingSnapshot) {
	if s.GetBooking() == nil {
		return
	}
	c.bookingOf(s.GetBooking(), s.GetPurchaser().GetId(), s.GetVersion())
	booking := parse[id.Booking](c, s.GetBooking().GetId())
	for _, m := range s.GetMovements() {
		key := movementKey{booking: booking, sequence: m.GetSequence()}
		addOnce(c.movements, key, movement{
			movementKey: key, day: c.day(m.GetDay()), gross: m.GetGross(), net: m.GetNet(), currency: m.GetCurrency(),
			method: strings.ToUpper(enum.Name(m.GetMethod())), taxRate: m.GetTaxRateBasisPoints(),
		})
	}
}

// bookingOf adds a booking without movements. version is that of the transaction.
func (c *converter) bookingOf(b *bookingv1.Booking, purchaser string, version int64) {
	attendee := b.GetBoughtFor().GetId()
	if attendee == "" {
		attendee = purchaser
	}
	fact := bookingFact{
		id: parse[id.Booking](c, b.GetId()), version: version, event: parse[id.Event](c, b.GetEventId()), date: parse[id.EventDate](c, b.GetEventDateId()),
		customer: parse[id.Customer](c, attendee), spaces: b.GetSpaces(), status: statusOf(b), late: b.GetIsCancelled() && b.GetLate(), day: noDay,
	}
	if b.GetEventType() == bookingv1.EventType_EVENT_TYPE_APPOINTMENT {
		fact.day = localDay(b.GetStartsAt().AsTime(), b.GetTimezone())
	}
	c.addBooking(fact)
	c.addEvent(eventFact{id: fact.event, title: b.GetEventTitle(), status: eventPublished})
}

// statusOf returns the status of a booking.
func statusOf(b *bookingv1.Booking) string {
	switch {
	case b.GetIsCancelled():
		return bookingCancelled
	case b.GetAttendance() == bookingv1.Attendance_ATTENDANCE_CHECKED_IN:
		return bookingAttended
	case b.GetAttendance() == bookingv1.Attendance_ATTENDANCE_NO_SHOW:
		return bookingNoShow
	}
	return bookingConfirmed
}

// appointment adds the booking of an appointment.
func (c *converter) appointment(a *bookingv1.Appointment) {
	if a.GetBooking() != nil && a.GetStatus() != bookingv1.AppointmentStatus_APPOINTMENT_STATUS_HELD {
		c.bookingOf(a.GetBooking(), a.GetPurchaser().GetId(), a.GetVersion())
	}
}

// passType adds a pass type.
func (c *converter) passType(t *passv1.PassType) {
	if t != nil {
		c.addPassType(passTypeFact{id: parse[id.PassType](c, t.GetId()), version: t.GetVersion(), title: t.GetTitle()})
	}
}

// pass adds a customer pass with entries of its ledger.
func (c *converter) pass(p *passv1.CustomerPass, entries []*passv1.LedgerEntry) {
	if p == nil {
		return
	}
	pass := parse[id.CustomerPass](c, p.GetId())
	fact := passFact{
		id: pass, version: p.GetVersion(), passType: parse[id.PassType](c, p.GetPassTypeId()), customer: parse[id.Customer](c, p.GetCustomerId()),
		expires: c.day(p.GetExpiryDate()), remaining: p.GetRemainingUses(), assigned: p.GetTotalUses(), isUnlimited: p.GetUnlimitedUses(),
		isCancelled: p.GetStatus() == passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_CANCELLED, ofSubscription: p.GetSubscriptionId() != "",
		paid: p.GetPurchase().GetGross(), currency: p.GetPurchase().GetCurrency(), method: p.GetPurchase().GetMethod(),
		createdAt: p.GetCreatedAt().AsTime(), createdOn: noDay,
	}
	if p.GetNeverExpires() {
		fact.expires = afterAll
	}
	if p.GetCreatedOn() != "" {
		fact.createdOn = c.day(p.GetCreatedOn())
	}
	c.addPass(fact)
	for _, e := range entries {
		key := entryKey{pass: pass, sequence: e.GetSequence()}
		addOnce(c.entries, key, entryFact{entryKey: key, kind: enum.Name(e.GetKind()), credits: e.GetCredits(), day: c.day(e.GetDay())})
	}
}

// plan adds a plan.
func (c *converter) plan(p *subscriptionv1.Plan) {
	if p == nil {
		return
	}
	c.addPlan(planFact{
		id: parse[id.Plan](c, p.GetId()), version: p.GetVersion(), title: p.GetTitle(), price: p.GetPrice(), currency: p.GetCurrency(), credits: p.GetCredits(),
	})
}

// subscription adds movements of a subscription.
func (c *converter) subscription(subscription string, movements []*subscriptionv1.SubscriptionMovement) {
	if len(movements) == 0 {
		return
	}
	of := parse[id.Subscription](c, subscription)
	for _, m := range movements {
		key := subscriptionKey{subscription: of, period: m.GetPeriod(), entry: m.GetAccountEntry()}
		addOnce(c.subscribed, key, subscriptionMovement{
			subscriptionKey: key, day: c.day(m.GetDay()), amount: m.GetAmount(), currency: m.GetCurrency(), method: m.GetMethod(),
			plan: parse[id.Plan](c, m.GetPlanId()),
		})
	}
}

// customer adds a customer.
func (c *converter) customer(s *customerv1.CustomerSnapshot) {
	if s == nil {
		return
	}
	c.addCustomer(customerFact{
		id: parse[id.Customer](c, s.GetId()), version: s.GetVersion(), createdAt: s.GetCreatedAt().AsTime(), isDeleted: s.GetDeletedAt() != nil,
	})
}
