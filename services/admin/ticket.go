package admin

import (
	ids "reservation.dev/platform/resource"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// ticket is what is scanned at the door: the identifier of a registration, as text and as a QR code.
type ticket struct {
	Number string
	Code   qrCode
}

// ticketOf returns the ticket of a booking.
func ticketOf(b *bookingv1.Booking) (ticket, error) {
	number := ids.RegistrationID(b.GetId())
	code, err := qrOf(number)
	return ticket{number, code}, err
}

// ticketPage is a ticket to print.
type ticketPage struct {
	Registration registrationView
	Event        *bookingv1.Event
	Ticket       ticket
	Back         string
}

func (ticketPage) head() (*message, string) { return msg("door.ticket.title"), "events" }

func (r *request) findTicket() (ticketPage, error) {
	res, err := r.services.bookings.GetRegistration(r.ctx, &bookingv1.GetRegistrationRequest{BookingId: r.path("id")})
	if err != nil {
		return ticketPage{}, err
	}
	b := res.GetRegistration().GetBooking()
	page := ticketPage{Registration: registrationView{res.GetRegistration()}, Back: "/bookings/" + b.GetId()}
	event, err := r.services.events.GetEvent(r.ctx, &bookingv1.GetEventRequest{Id: b.GetEventId()})
	if err != nil {
		return page, err
	}
	page.Event = event.GetEvent()
	page.Ticket, err = ticketOf(b)
	return page, err
}
