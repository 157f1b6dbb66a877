package booking

import (
	"context"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/subjects"
	"reservation.dev/platform/tenancy"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/convert"
	"reservation.dev/services/booking/model"
)

// Subjects of the published events.
const (
	subjectEventCreated         = subjects.EventCreated
	subjectEventDatesAdded      = subjects.EventDatesAdded
	subjectEventUpdated         = subjects.EventUpdated
	subjectEventDeleted         = "booking.v1.event_deleted"
	subjectEventCancelled       = subjects.EventCancelled
	subjectDateUpdated          = subjects.EventDateUpdated
	subjectDateCancelled        = subjects.EventDateCancelled
	subjectAttendance           = subjects.AttendanceRecorded
	subjectBookingConfirmed     = subjects.BookingConfirmed
	subjectBookingCancelled     = subjects.BookingCancelled
	subjectBookingRefunded      = subjects.BookingRefunded
	subjectBookingMoved         = subjects.BookingMoved
	subjectBookingTransferred   = subjects.BookingTransferred
	subjectEventsImported       = subjects.EventsImported
	subjectTransactionsImported = subjects.TransactionsImported

	subjectWaitlistJoined     = subjects.WaitlistJoined
	subjectWaitlistOffered    = subjects.WaitlistOffered
	subjectWaitlistPassedOver = "booking.v1.waitlist_passed_over"
	subjectWaitlistEnded      = subjects.WaitlistEnded
	subjectHoldExpired        = subjects.HoldExpired
	subjectDataErased         = "booking.v1.customer_data_erased"

	subjectAppointmentBooked    = subjects.AppointmentBooked
	subjectAppointmentMoved     = subjects.AppointmentMoved
	subjectAppointmentCancelled = subjects.AppointmentCancelled
)

func eventCreated(e *bookingv1.Event) outbox.Event {
	return outbox.Event{Subject: subjectEventCreated, Payload: &bookingv1.EventCreated{Event: e}}
}

func eventDatesAdded(step model.EventStep, dates []*bookingv1.EventDate, now time.Time) outbox.Event {
	e := step.After
	return outbox.Event{Subject: subjectEventDatesAdded, Payload: &bookingv1.EventDatesAdded{
		EventId: e.ID.String(), Dates: dates, Version: e.Version, Event: convert.Event(e.Shown(now)), Previous: convert.Event(step.Before.Shown(now)),
	}}
}

func eventUpdated(step model.EventStep, now time.Time) outbox.Event {
	return outbox.Event{Subject: subjectEventUpdated, Payload: &bookingv1.EventUpdated{
		Event: convert.Event(step.After.Shown(now)), Previous: convert.Event(step.Before.Shown(now)),
	}}
}

func eventDeleted(e *model.Event) outbox.Event {
	return outbox.Event{Subject: subjectEventDeleted, Payload: &bookingv1.EventDeleted{EventId: e.ID.String(), Version: e.Version}}
}

func eventCancelled(step model.EventStep, reason string, now time.Time) outbox.Event {
	e := step.After
	var cancelled []string
	before := step.Before.DatesByID()
	for i := range e.Dates {
		if d := &e.Dates[i]; d.Status == model.DateCancelled && before[d.ID].Status != model.DateCancelled {
			cancelled = append(cancelled, d.ID.String())
		}
	}
	return outbox.Event{Subject: subjectEventCancelled, Payload: &bookingv1.EventCancelled{
		EventId: e.ID.String(), Reason: reason, Version: e.Version, Event: convert.Event(e.Shown(now)), Previous: convert.Event(step.Before.Shown(now)),
		CancelledDateIds: cancelled,
	}}
}

// dateStep is a change of a date.
type dateStep struct{ before, after *model.ScheduledDate }

// dateSteps returns the changes of dates in a step of their event. waiting is the number of entries that
// wait for each date.
func dateSteps(step model.EventStep, dates []id.EventDate, waiting map[id.EventDate]int32, now time.Time) []dateStep {
	before, after := step.Before.DatesByID(), step.After.DatesByID()
	steps := make([]dateStep, len(dates))
	for i, d := range dates {
		steps[i] = dateStep{before: step.Before.Schedule(before[d], waiting[d], now), after: step.After.Schedule(after[d], waiting[d], now)}
	}
	return steps
}

func (d *dateStep) updated(now time.Time) outbox.Event {
	return outbox.Event{Subject: subjectDateUpdated, Payload: &bookingv1.EventDateUpdated{
		EventId: d.after.Event.String(), Date: convert.Date(&d.after.EventDate), Version: d.after.Version,
		Scheduled: convert.ScheduledDate(d.after, now), Previous: convert.ScheduledDate(d.before, now),
	}}
}

func (d *dateStep) cancelled(reason string, now time.Time) outbox.Event {
	return outbox.Event{Subject: subjectDateCancelled, Payload: &bookingv1.EventDateCancelled{
		EventId: d.after.Event.String(), Date: convert.Date(&d.after.EventDate), Reason: reason, Version: d.after.Version,
		Scheduled: convert.ScheduledDate(d.after, now), Previous: convert.ScheduledDate(d.before, now),
	}}
}

func bookingConfirmed(b *bookingv1.BookingSnapshot) outbox.Event {
	return outbox.Event{Subject: subjectBookingConfirmed, Payload: &bookingv1.BookingConfirmed{Booking: b}}
}

func bookingCancelled(after, before *bookingv1.BookingSnapshot) outbox.Event {
	return outbox.Event{Subject: subjectBookingCancelled, Payload: &bookingv1.BookingCancelled{Booking: after, Previous: before}}
}

func bookingRefunded(after, before *bookingv1.BookingSnapshot) outbox.Event {
	return outbox.Event{Subject: subjectBookingRefunded, Payload: &bookingv1.BookingRefunded{Booking: after, Previous: before}}
}

func bookingMoved(after, before *bookingv1.BookingSnapshot, h *model.HistoryEntry) outbox.Event {
	return outbox.Event{Subject: subjectBookingMoved, Payload: convert.BookingMoved(after, before, h)}
}

func bookingTransferred(after, before *bookingv1.BookingSnapshot, actor string) outbox.Event {
	return outbox.Event{Subject: subjectBookingTransferred, Payload: &bookingv1.BookingTransferred{Booking: after, Previous: before, Actor: actor}}
}

func attendanceRecorded(after, before *bookingv1.BookingSnapshot) outbox.Event {
	return outbox.Event{Subject: subjectAttendance, Payload: &bookingv1.AttendanceRecorded{Booking: after, Previous: before}}
}

func waitlistJoined(w *model.WaitlistEntry, now time.Time) outbox.Event {
	return outbox.Event{Subject: subjectWaitlistJoined, Payload: &bookingv1.WaitlistJoined{Entry: convert.WaitlistEntry(w, now)}}
}

func waitlistOffered(w, before *model.WaitlistEntry, now time.Time) outbox.Event {
	return outbox.Event{Subject: subjectWaitlistOffered, Payload: &bookingv1.WaitlistOffered{
		Entry: convert.AnnouncedEntry(w, now), Previous: convert.PreviousEntry(before),
	}}
}

func waitlistPassedOver(w, before *model.WaitlistEntry, now time.Time) outbox.Event {
	return outbox.Event{Subject: subjectWaitlistPassedOver, Payload: &bookingv1.WaitlistPassedOver{
		Entry: convert.AnnouncedEntry(w, now), Previous: convert.PreviousEntry(before),
	}}
}

func waitlistEnded(w, before *model.WaitlistEntry, now time.Time) outbox.Event {
	return outbox.Event{Subject: subjectWaitlistEnded, Payload: &bookingv1.WaitlistEnded{
		Entry: convert.AnnouncedEntry(w, now), Previous: convert.PreviousEntry(before),
	}}
}

func holdExpired(h, before *model.Hold) outbox.Event {
	return outbox.Event{Subject: subjectHoldExpired, Payload: &bookingv1.HoldExpired{Hold: convert.Hold(h), Previous: convert.Hold(before)}}
}

// append adds events of the company to the commit of tx, and those of appointments that follow from them. at
// is the company's time.
func (s *Server) append(ctx context.Context, tx *pg.Tx, company tenancy.Company, at time.Time, events ...outbox.Event) error {
	events, err := s.withAppointments(ctx, tx, company, at, events)
	if err != nil {
		return err
	}
	return s.outbox.Append(ctx, tx, s.stamp(company, at, events)...)
}

// stamp sets the company, the real time and the identifier of each event.
func (s *Server) stamp(company tenancy.Company, at time.Time, events []outbox.Event) []outbox.Event {
	for i := range events {
		events[i].Company, events[i].OccurredAt, events[i].ID = company.ID, company.Real(at), s.newID()
	}
	return events
}

// confirmations returns the events of a transaction that has become visible. cause is the request
// that caused them; zero means the request of the commit.
func confirmations(t *model.Transaction, cause outbox.Cause) []outbox.Event {
	events := make([]outbox.Event, len(t.Bookings))
	for i := range t.Bookings {
		events[i] = bookingConfirmed(convert.Snapshot(t, &t.Bookings[i]))
		events[i].Cause = cause
	}
	return events
}
