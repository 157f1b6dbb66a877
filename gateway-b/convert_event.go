package gatewayb

import (
	"math"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/enum"
	"reservation.dev/platform/eventdates"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	edgev1 "reservation.dev/proto/gen/reservation/edge/v1"
)

// event converts an event; its sums are over the dates to come at now.
func event(e *bookingv1.Event, now time.Time) *edgebv1.Event {
	out := &edgebv1.Event{
		Id: e.GetId(), Title: e.GetTitle(), Description: e.GetDescription(), Type: enum.Name(e.GetType()),
		Status: enum.Name(e.GetStatus()), Timezone: e.GetTimezone(), Location: e.GetLocation(),
		FreeCancellationMinutes: nullableInt(e.FreeCancellationMinutes),
		CreatedAt:               utc(e.GetCreatedAt()), UpdatedAt: utc(e.GetUpdatedAt()),
	}
	for _, d := range e.GetDates() {
		out.Dates = append(out.Dates, &edgebv1.EventDate{
			Id: d.GetId(), StartsAt: utc(d.GetStartsAt()), Duration: d.GetDurationMinutes(), Timezone: d.GetTimezone(),
			Capacity: nullableInt(d.Capacity), SpotsTaken: d.GetBooked(), Status: enum.Name(d.GetStatus()),
		})
	}
	summarize(out, eventdates.Summarize(e.GetDates(), now))
	for _, p := range e.GetPricingOptions() {
		out.PricingOptions = append(out.PricingOptions, &edgebv1.PricingOption{
			Id: p.GetId(), Name: p.GetName(), Price: &edgev1.Amount{Minor: p.GetPrice()}, Currency: p.GetCurrency(),
			Credits: nullableInt(p.Credits), TaxRate: &edgev1.Percentage{BasisPoints: p.GetTaxRateBasisPoints()},
		})
	}
	if r := e.GetRecurrence(); r != nil {
		out.Recurrence = &edgebv1.Recurrence{Rule: r.GetRule(), Exceptions: r.GetExceptions()}
	}
	return out
}

// summarize fills what an event says of its dates together.
func summarize(out *edgebv1.Event, s eventdates.Summary) {
	out.StartsAt, out.EndsAt, out.Duration = utc(timestamppb.New(s.StartsAt)), utc(timestamppb.New(s.EndsAt)), s.Minutes
	out.SpotsTaken = int32(min(s.Taken, math.MaxInt32))
	out.Capacity, out.SpotsAvailable = sumOf(s.Capacity), sumOf(s.Available)
}

// sumOf is a sum over the dates; more than a number of the interface can be is
// shown as the most it can be.
func sumOf(n *int64) *edgev1.NullableInt {
	if n == nil {
		return nullableInt(nil)
	}
	shown := int32(min(*n, math.MaxInt32))
	return nullableInt(&shown)
}
