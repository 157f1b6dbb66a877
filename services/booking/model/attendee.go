package model

import (
	"slices"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// attendee is a customer with a booking of a date.
type attendee struct {
	date     id.EventDate
	customer id.Customer
}

// AddAttendee records that a customer has a booking of a date, or holds or is paying for one.
func (of *Offer) AddAttendee(date id.EventDate, customer id.Customer) {
	if of.attendees == nil {
		of.attendees = map[attendee]bool{}
	}
	of.attendees[attendee{date, customer}] = true
}

// OncePerCustomer returns the dates of which a customer can have only one booking.
func (of *Offer) OncePerCustomer() []id.EventDate {
	var dates []id.EventDate
	for _, d := range of.Dates {
		if d.Rules.OncePerCustomer {
			dates = append(dates, d.ID)
		}
	}
	return Distinct(dates)
}

// refusesAgain returns why a customer cannot book a date another time; nil if the customer can.
// wanted are the bookings that the same order requests before this one.
func (of *Offer) refusesAgain(d *OfferedDate, customer id.Customer, wanted []attendee) *fault.Error {
	a := attendee{d.ID, customer}
	if !d.Rules.OncePerCustomer || !of.attendees[a] && !slices.Contains(wanted, a) {
		return nil
	}
	return fault.Refuse(ReasonAlreadyBooked, "the customer already has a booking of this date").
		With("event_date_id", d.ID.String()).With("customer_id", customer.String())
}
