package booking

import (
	"context"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/tenancy"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/convert"
	"reservation.dev/services/booking/model"
)

// The booking of an appointment is confirmed and cancelled like every other one. The events of the
// appointment follow from those of its booking, so that no code path can leave them out.

func appointmentMoved(after, before *bookingv1.Appointment) outbox.Event {
	return outbox.Event{Subject: subjectAppointmentMoved, Payload: &bookingv1.AppointmentMoved{Appointment: after, Previous: before}}
}

// bookingNews is an event that confirms or cancels a booking.
type bookingNews struct {
	cause           outbox.Cause
	booking, before *bookingv1.BookingSnapshot // before is nil if the event confirms the booking
	date            id.EventDate
}

// newsOfAppointment returns the news of an event if it confirms or cancels the booking of an appointment.
func newsOfAppointment(e outbox.Event) (n bookingNews, ok bool) {
	n.cause = e.Cause
	switch p := e.Payload.(type) {
	case *bookingv1.BookingConfirmed:
		n.booking = p.GetBooking()
	case *bookingv1.BookingCancelled:
		n.booking, n.before = p.GetBooking(), p.GetPrevious()
	default:
		return n, false
	}
	b := n.booking.GetBooking()
	if b.GetEventType() != bookingv1.EventType_EVENT_TYPE_APPOINTMENT {
		return n, false
	}
	var err error
	n.date, err = id.Parse[id.EventDate](b.GetEventDateId())
	return n, err == nil
}

// event returns the event of the appointment that has the slot.
func (n *bookingNews) event(slot *model.AppointmentSlot) outbox.Event {
	if n.before == nil {
		booked := convert.AnnouncedAppointment(n.booking, model.AppointmentBooked, slot)
		return outbox.Event{Cause: n.cause, Subject: subjectAppointmentBooked, Payload: &bookingv1.AppointmentBooked{Appointment: booked}}
	}
	return outbox.Event{Cause: n.cause, Subject: subjectAppointmentCancelled, Payload: &bookingv1.AppointmentCancelled{
		Appointment: convert.AnnouncedAppointment(n.booking, model.AppointmentCancelled, slot),
		Previous:    convert.AnnouncedAppointment(n.before, model.AppointmentBooked, slot),
	}}
}

// withAppointments returns events with those of appointments, and with event_created before the first
// appointment of a type.
func (s *Server) withAppointments(ctx context.Context, tx *pg.Tx, company tenancy.Company, at time.Time, events []outbox.Event) ([]outbox.Event, error) {
	var news []bookingNews
	var dates []id.EventDate
	for _, e := range events {
		if n, ok := newsOfAppointment(e); ok {
			news, dates = append(news, n), append(dates, n.date)
		}
	}
	if len(news) == 0 {
		return events, nil
	}
	slots, err := s.store.AppointmentSlots(ctx, tx, company.ID, model.Distinct(dates))
	if err != nil {
		return nil, err
	}
	var first []outbox.Event
	for i := range news {
		slot := slots[news[i].date]
		if slot == nil { // an event of the type appointment whose dates are made by hand
			continue
		}
		if !slot.Listed && news[i].before == nil {
			created, err := s.listEvent(ctx, tx, company.ID, id.Event(slot.Type), at)
			if err != nil {
				return nil, err
			}
			first = append(first, created...)
		}
		events = append(events, news[i].event(slot))
	}
	return append(first, events...), nil
}

// listEvent lists the event of an appointment type, and returns event_created if it was not listed.
func (s *Server) listEvent(ctx context.Context, tx *pg.Tx, company id.Company, which id.Event, now time.Time) ([]outbox.Event, error) {
	listed, err := s.store.ListEvent(ctx, tx, company, which, now)
	if err != nil || !listed {
		return nil, err
	}
	e, err := s.store.EventInTx(ctx, tx, company, which, now)
	if err != nil {
		return nil, err
	}
	return []outbox.Event{eventCreated(convert.Event(e))}, nil
}
