package booking

import (
	"context"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/subjects"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/convert"
	"reservation.dev/services/booking/model"
)

// Subjects of the published events.
const (
	subjectEventCreated       = "booking.v1.event_created"
	subjectEventDatesAdded    = "booking.v1.event_dates_added"
	subjectEventUpdated       = "booking.v1.event_updated"
	subjectEventDeleted       = "booking.v1.event_deleted"
	subjectEventCancelled     = "booking.v1.event_cancelled"
	subjectDateUpdated        = "booking.v1.event_date_updated"
	subjectDateCancelled      = "booking.v1.event_date_cancelled"
	subjectAttendance         = "booking.v1.attendance_recorded"
	subjectBookingConfirmed   = subjects.BookingConfirmed
	subjectBookingCancelled   = "booking.v1.booking_cancelled"
	subjectBookingRefunded    = "booking.v1.booking_refunded"
	subjectWaitlistJoined     = "booking.v1.waitlist_joined"
	subjectWaitlistOffered    = "booking.v1.waitlist_offered"
	subjectWaitlistPassedOver = "booking.v1.waitlist_passed_over"
	subjectWaitlistEnded      = "booking.v1.waitlist_ended"
	subjectHoldExpired        = "booking.v1.hold_expired"
	subjectDataErased         = "booking.v1.customer_data_erased"
)

func eventCreated(e *bookingv1.Event) outbox.Event {
	return outbox.Event{Subject: subjectEventCreated, Payload: &bookingv1.EventCreated{Event: e}}
}

func eventDatesAdded(e *model.Event, dates []*bookingv1.EventDate) outbox.Event {
	return outbox.Event{Subject: subjectEventDatesAdded, Payload: &bookingv1.EventDatesAdded{
		EventId: e.ID.String(), Dates: dates, Version: e.Version,
	}}
}

// eventUpdated returns the event of a change of e. It omits the dates, whose changes have their own
// events.
func eventUpdated(e *model.Event) outbox.Event {
	undated := *e
	undated.Dates = nil
	return outbox.Event{Subject: subjectEventUpdated, Payload: &bookingv1.EventUpdated{Event: convert.Event(&undated)}}
}

func eventDeleted(e *model.Event) outbox.Event {
	return outbox.Event{Subject: subjectEventDeleted, Payload: &bookingv1.EventDeleted{EventId: e.ID.String(), Version: e.Version}}
}

func eventCancelled(e *model.Event, reason string) outbox.Event {
	return outbox.Event{Subject: subjectEventCancelled, Payload: &bookingv1.EventCancelled{
		EventId: e.ID.String(), Reason: reason, Version: e.Version,
	}}
}

func eventDateUpdated(e *model.Event, d *model.EventDate) outbox.Event {
	return outbox.Event{Subject: subjectDateUpdated, Payload: &bookingv1.EventDateUpdated{
		EventId: e.ID.String(), Date: convert.Date(d), Version: e.Version,
	}}
}

func eventDateCancelled(e *model.Event, d *model.EventDate, reason string) outbox.Event {
	return outbox.Event{Subject: subjectDateCancelled, Payload: &bookingv1.EventDateCancelled{
		EventId: e.ID.String(), Date: convert.Date(d), Reason: reason, Version: e.Version,
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

func waitlistJoined(w *model.WaitlistEntry, now time.Time) outbox.Event {
	return outbox.Event{Subject: subjectWaitlistJoined, Payload: &bookingv1.WaitlistJoined{Entry: convert.AnnouncedEntry(w, now)}}
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

// append adds events of the company to the commit of tx.
func (s *Server) append(ctx context.Context, tx *pg.Tx, company id.Company, at time.Time, events ...outbox.Event) error {
	return s.outbox.Append(ctx, tx, s.stamp(company, at, events)...)
}

// stamp sets the company, the time and the identifier of each event.
func (s *Server) stamp(company id.Company, at time.Time, events []outbox.Event) []outbox.Event {
	for i := range events {
		events[i].Company, events[i].OccurredAt, events[i].ID = company, at, s.newID()
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
