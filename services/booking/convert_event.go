package booking

import (
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// eventOf reads an event to be made; what the request leaves out has its default.
func eventOf(r *bookingv1.CreateEventRequest, company Company) *Event {
	e := &Event{
		Title: strings.TrimSpace(r.GetTitle()), Description: strings.TrimSpace(r.GetDescription()),
		Type: eventTypeOf(r.GetType()), Status: eventStatusOf(r.GetStatus()),
		Timezone: r.GetTimezone(), Location: strings.TrimSpace(r.GetLocation()),
		Dates: datesOf(r.GetDates()),
	}
	if e.Timezone == "" {
		e.Timezone = company.Timezone
	}
	for _, o := range r.GetPricingOptions() {
		currency := o.GetCurrency()
		if currency == "" {
			currency = company.Currency
		}
		e.Options = append(e.Options, PricingOption{
			Name: strings.TrimSpace(o.GetName()), Price: o.GetPrice(), Currency: currency,
			Credits: o.Credits, TaxRate: o.GetTaxRateBasisPoints(),
		})
	}
	return e
}

// datesOf reads dates to be added; they have no zone yet.
func datesOf(in []*bookingv1.NewEventDate) []EventDate {
	dates := make([]EventDate, len(in))
	for i, d := range in {
		dates[i] = EventDate{
			StartsAt: instantOf(d.GetStartsAt()), Minutes: d.GetDurationMinutes(), Capacity: d.Capacity, Status: Scheduled,
		}
	}
	return dates
}

func eventToProto(e *Event) *bookingv1.Event {
	out := &bookingv1.Event{
		Id: e.ID.String(), Title: e.Title, Description: e.Description, Type: eventTypeToProto(e.Type),
		Status: eventStatusToProto(e.Status), Timezone: e.Timezone, Location: e.Location,
		Dates: datesToProto(e.Dates), CreatedAt: timestamppb.New(e.CreatedAt), UpdatedAt: timestamppb.New(e.UpdatedAt),
		Version: e.Version,
	}
	for _, o := range e.Options {
		out.PricingOptions = append(out.PricingOptions, &bookingv1.PricingOption{
			Id: o.ID.String(), Name: o.Name, Price: o.Price, Currency: o.Currency,
			Credits: o.Credits, TaxRateBasisPoints: o.TaxRate,
		})
	}
	return out
}

func datesToProto(dates []EventDate) []*bookingv1.EventDate {
	out := make([]*bookingv1.EventDate, len(dates))
	for i, d := range dates {
		status := bookingv1.EventDateStatus_EVENT_DATE_STATUS_SCHEDULED
		if d.Status == DateCancelled {
			status = bookingv1.EventDateStatus_EVENT_DATE_STATUS_CANCELLED
		}
		out[i] = &bookingv1.EventDate{
			Id: d.ID.String(), StartsAt: timestamppb.New(d.StartsAt), DurationMinutes: d.Minutes,
			Timezone: d.Timezone, Capacity: d.Capacity, Booked: d.Booked, Status: status,
		}
	}
	return out
}

func eventStatusToProto(s EventStatus) bookingv1.EventStatus {
	switch s {
	case Draft:
		return bookingv1.EventStatus_EVENT_STATUS_DRAFT
	case Published:
		return bookingv1.EventStatus_EVENT_STATUS_PUBLISHED
	case Cancelled:
		return bookingv1.EventStatus_EVENT_STATUS_CANCELLED
	}
	return bookingv1.EventStatus_EVENT_STATUS_UNSPECIFIED
}

// eventStatusOf reads a status; unspecified is published, and "" is no status.
func eventStatusOf(s bookingv1.EventStatus) EventStatus {
	switch s {
	case bookingv1.EventStatus_EVENT_STATUS_UNSPECIFIED, bookingv1.EventStatus_EVENT_STATUS_PUBLISHED:
		return Published
	case bookingv1.EventStatus_EVENT_STATUS_DRAFT:
		return Draft
	case bookingv1.EventStatus_EVENT_STATUS_CANCELLED:
		return Cancelled
	}
	return ""
}
