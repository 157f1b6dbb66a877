package gatewayb

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/enum"
	"reservation.dev/platform/eventdates"
	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	edgev1 "reservation.dev/proto/gen/reservation/edge/v1"
)

func nullableInt(v *int32) *edgev1.NullableInt { return &edgev1.NullableInt{Value: v} }

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

// faults collects what is wrong with a request before a service sees it.
type faults struct{ fault.Checks }

func (f *faults) add(field, rule, phrase string) { f.Add(field, rule, phrase) }

func (f *faults) err() error { return f.Err() }

// value reads the name of an enum's value; absent: its zero.
func value[E enum.Enum](f *faults, field string, name *string) E {
	return choice[E](f, field, name, enum.Names[E]())
}

// choice reads one of names, which are numbered from 1; absent: 0.
func choice[T ~int32](f *faults, field string, value *string, names []string) T {
	if value == nil {
		return 0
	}
	for i, known := range names {
		if known == *value {
			return T(i + 1)
		}
	}
	f.add(field, "enum", fault.OneOf(names))
	return 0
}

// moment reads a start: with an offset it is an instant, without one wall time in
// the event's zone.
func (f *faults) moment(field string, value *string) (at *timestamppb.Timestamp, local string) {
	if value == nil {
		return nil, ""
	}
	if t, err := time.Parse(time.RFC3339, *value); err == nil && t.Year() > 0 {
		return timestamppb.New(t), ""
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if t, err := time.Parse(layout, *value); err == nil && t.Nanosecond() == 0 {
			return nil, t.Format("2006-01-02T15:04:05")
		}
	}
	f.add(field, "format", "must be a date-time as in 2026-03-29T08:30:00Z, or 2026-03-29T09:30:00 in the event's zone")
	return nil, ""
}

// dateNames are what errors about dates are called. The members of the date at
// under, if there is one, stand at the top of the request.
func dateNames(under string) map[string]string {
	names := map[string]string{
		"duration_minutes": "duration", "tax_rate_basis_points": "taxRate", "local_start": "startsAt", "local_end": "endsAt",
	}
	if under == "" {
		return names
	}
	for member, name := range map[string]string{
		"starts_at": "startsAt", "local_start": "startsAt", "ends_at": "endsAt", "local_end": "endsAt", "duration_minutes": "duration",
		"capacity": "capacity", "unlimited": "capacity",
	} {
		names[under+"."+member] = name
	}
	return names
}

// firstDateNames are what errors about an event's only new date are called where
// the request described it at the top.
func firstDateNames() map[string]string {
	names := dateNames("dates[0]")
	names["dates"], names["recurrence.local_start"], names["recurrence.ends_at"], names["recurrence.local_end"] = "startsAt", "startsAt", "endsAt", "endsAt"
	return names
}

// newEvent converts the body of POST /events, and says what errors about it are
// to be called.
func newEvent(in *edgebv1.EventWrite) (*bookingv1.CreateEventRequest, map[string]string, error) {
	if in == nil {
		in = &edgebv1.EventWrite{}
	}
	var f faults
	out := &bookingv1.CreateEventRequest{
		Title: in.GetTitle(), Description: in.GetDescription(), Timezone: in.GetTimezone(), Location: in.GetLocation(),
		Type: value[bookingv1.EventType](&f, "type", in.Type), Status: value[bookingv1.EventStatus](&f, "status", in.Status),
	}
	if free := in.GetFreeCancellationMinutes(); free != nil {
		out.FreeCancellationMinutes = free.Value
	}
	f.notEmpty("timezone", in.Timezone)
	names := dateNames("")
	switch {
	case len(in.GetDates()) > 0:
		if in.GetRecurrence() != nil {
			f.add("recurrence", "exclusive", "must not be given with dates")
		}
		for i, d := range in.GetDates() {
			out.Dates = append(out.Dates, f.newDate(i, d, in))
		}
	default:
		names = firstDateNames()
		if in.StartsAt == nil {
			f.add("startsAt", "required", "is required")
		}
		if in.Duration == nil && in.EndsAt == nil {
			f.add("duration", "required", "is required")
		}
		date := &bookingv1.NewEventDate{Capacity: capacityOf(in.GetCapacity(), nil)}
		date.StartsAt, date.LocalStart = f.moment("startsAt", in.StartsAt)
		f.size(date, "", in.Duration, in.EndsAt)
		out.Dates = []*bookingv1.NewEventDate{date}
		if r := in.GetRecurrence(); r != nil {
			out.Recurrence = &bookingv1.Recurrence{Rule: r.GetRule(), LocalStart: date.GetLocalStart(), Exceptions: r.GetExceptions()}
			if date.GetStartsAt() != nil {
				f.add("startsAt", "local", "must be wall time without an offset where the event recurs")
			}
		}
	}
	for i, p := range in.GetPricingOptions() {
		option := &bookingv1.NewPricingOption{
			Name: p.GetName(), Price: p.GetPrice().GetMinor(), Currency: p.GetCurrency(), TaxRateBasisPoints: p.GetTaxRate().GetBasisPoints(),
		}
		if p.GetPrice() == nil {
			f.add(index("pricingOptions", i, "price"), "required", "is required")
		}
		f.amounts(i, p)
		f.notEmpty(index("pricingOptions", i, "currency"), p.Currency)
		if p.GetCredits() != nil {
			option.Credits = p.GetCredits().Value
		}
		out.PricingOptions = append(out.PricingOptions, option)
	}
	if out.GetTitle() == "" && f.Len() > 0 { // report every missing member together
		f.AddFirst("title", "required", "is required")
	}
	return out, names, f.err()
}

const (
	maxOptionPrice = 1_000_000_000 // major units
	maxTaxRate     = 100           // per cent
)

// amounts checks what the services would speak of in other units.
func (f *faults) amounts(i int, p *edgebv1.PricingOptionWrite) {
	if n := p.GetPrice().GetMinor(); n < 0 || n > 100*maxOptionPrice {
		f.add(index("pricingOptions", i, "price"), "range", fmt.Sprintf("must be 0 to %d", maxOptionPrice))
	}
	if n := p.GetTaxRate().GetBasisPoints(); n < 0 || n > 100*maxTaxRate {
		f.add(index("pricingOptions", i, "taxRate"), "range", fmt.Sprintf("must be 0 to %d", maxTaxRate))
	}
}

// newDate converts an entry of dates. What it leaves out is the event's.
func (f *faults) newDate(i int, d *edgebv1.EventDateWrite, in *edgebv1.EventWrite) *bookingv1.NewEventDate {
	date := &bookingv1.NewEventDate{Capacity: capacityOf(d.GetCapacity(), in.GetCapacity())}
	date.StartsAt, date.LocalStart = f.moment(index("dates", i, "startsAt"), d.StartsAt)
	switch {
	case d.Duration != nil || d.EndsAt != nil:
		f.size(date, index("dates", i, ""), d.Duration, d.EndsAt)
	case len(in.GetDates()) > 1 && in.Duration != nil: // the event's end is that of its last date
		f.size(date, "", in.Duration, nil)
	default:
		f.size(date, "", in.Duration, in.EndsAt)
	}
	return date
}

// size gives a date its duration or its end. The booking service finds out what is
// between wall times.
func (f *faults) size(date *bookingv1.NewEventDate, at string, duration *int32, end *string) {
	if duration != nil && end != nil && *duration < 1 { // 0 would mean none
		f.add(at+"duration", "min", "must be 1 or more")
	}
	if duration != nil {
		date.DurationMinutes = *duration
	}
	date.EndsAt, date.LocalEnd = f.moment(at+"endsAt", end)
}

// notEmpty refuses the empty text, which the services would take for none.
func (f *faults) notEmpty(field string, value *string) {
	if value != nil && *value == "" {
		f.add(field, "required", "must not be empty")
	}
}

// index is the path of a member of a list's entry.
func index(list string, i int, member string) string {
	return list + "[" + strconv.Itoa(i) + "]." + member
}

// capacityOf is a date's own capacity, or that of the event; unset: unlimited.
func capacityOf(own, usual *edgev1.NullableInt) *int32 {
	if own != nil {
		return own.Value
	}
	if usual != nil {
		return usual.Value
	}
	return nil
}

// eventUpdate converts the body of PUT /events/{id}.
func eventUpdate(in *edgebv1.EventWrite) (*bookingv1.UpdateEventRequest, error) {
	if in == nil {
		in = &edgebv1.EventWrite{}
	}
	var f faults
	out := &bookingv1.UpdateEventRequest{
		Title: in.Title, Description: in.Description, Timezone: in.Timezone, Location: in.Location,
		Type: value[bookingv1.EventType](&f, "type", in.Type), Status: value[bookingv1.EventStatus](&f, "status", in.Status),
	}
	if free := in.GetFreeCancellationMinutes(); free != nil {
		always := int32(-1)
		out.FreeCancellationMinutes = &always
		if free.Value != nil {
			out.FreeCancellationMinutes = free.Value
			if free.GetValue() < 0 {
				f.add("freeCancellationMinutes", "min", "must be 0 or more, or null")
			}
		}
	}
	f.notEmpty("timezone", in.Timezone)
	if r := in.GetRecurrence(); r != nil {
		out.Recurrence = &bookingv1.Recurrence{Rule: r.GetRule(), Exceptions: r.GetExceptions()}
	}
	for i, d := range in.GetDates() {
		change := f.dateChange(index("dates", i, ""), d.StartsAt, d.EndsAt, d.Duration, d.GetCapacity())
		change.Id = d.GetId()
		out.Dates = append(out.Dates, change)
	}
	if in.StartsAt != nil || in.Duration != nil || in.EndsAt != nil || in.GetCapacity() != nil {
		out.OnlyDate = f.dateChange("", in.StartsAt, in.EndsAt, in.Duration, in.GetCapacity())
	}
	for i, p := range in.GetPricingOptions() {
		f.amounts(i, p)
		f.notEmpty(index("pricingOptions", i, "currency"), p.Currency)
		change := &bookingv1.PricingOptionChange{Id: p.GetId(), Name: p.Name, Currency: p.Currency}
		if p.GetPrice() != nil {
			change.Price = &p.GetPrice().Minor
		}
		if p.GetTaxRate() != nil {
			change.TaxRateBasisPoints = &p.GetTaxRate().BasisPoints
		}
		if credits := p.GetCredits(); credits != nil {
			change.Credits, change.NoCredits = credits.Value, credits.Value == nil
		}
		out.PricingOptions = append(out.PricingOptions, change)
	}
	return out, f.err()
}

// dateChange converts what is said of a date, or of the dates together; at is where
// its members are.
func (f *faults) dateChange(at string, start, end *string, minutes *int32, capacity *edgev1.NullableInt) *bookingv1.EventDateChange {
	change := &bookingv1.EventDateChange{DurationMinutes: minutes}
	var local string
	if change.StartsAt, local = f.moment(at+"startsAt", start); local != "" {
		change.LocalStart = &local
	}
	var localEnd string
	if change.EndsAt, localEnd = f.moment(at+"endsAt", end); localEnd != "" {
		change.LocalEnd = &localEnd
	}
	if capacity != nil {
		change.Capacity, change.Unlimited = capacity.Value, capacity.Value == nil
	}
	return change
}
