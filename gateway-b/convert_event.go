package gatewayb

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	edgev1 "reservation.dev/proto/gen/reservation/edge/v1"
)

// The names of the booking service's values, in the order of their numbers from 1.
func eventTypes() []string    { return []string{"class", "event", "workshop", "course", "appointment"} }
func eventStatuses() []string { return []string{"draft", "published", "cancelled"} }
func dateStatuses() []string  { return []string{"scheduled", "cancelled"} }

// nameOf is the name of a value that is numbered from 1.
func nameOf[T ~int32](names []string, v T) string {
	if v < 1 || int(v) > len(names) {
		return ""
	}
	return names[v-1]
}

func nullableInt(v *int32) *edgev1.NullableInt { return &edgev1.NullableInt{Value: v} }

func event(e *bookingv1.Event) *edgebv1.Event {
	out := &edgebv1.Event{
		Id: e.GetId(), Title: e.GetTitle(), Description: e.GetDescription(), Type: nameOf(eventTypes(), e.GetType()),
		Status: nameOf(eventStatuses(), e.GetStatus()), Timezone: e.GetTimezone(), Location: e.GetLocation(),
		FreeCancellationMinutes: nullableInt(e.FreeCancellationMinutes),
		CreatedAt:               utc(e.GetCreatedAt()), UpdatedAt: utc(e.GetUpdatedAt()),
	}
	for _, d := range e.GetDates() {
		out.Dates = append(out.Dates, &edgebv1.EventDate{
			Id: d.GetId(), StartsAt: utc(d.GetStartsAt()), Duration: d.GetDurationMinutes(), Timezone: d.GetTimezone(),
			Capacity: nullableInt(d.Capacity), SpotsTaken: d.GetBooked(), Status: nameOf(dateStatuses(), d.GetStatus()),
		})
	}
	summarize(out, e.GetDates())
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

// summarize fills what an event says of its dates together: those that take
// place, or all of them where none does.
func summarize(out *edgebv1.Event, dates []*bookingv1.EventDate) {
	scheduled := slices.DeleteFunc(slices.Clone(dates), func(d *bookingv1.EventDate) bool {
		return d.GetStatus() == bookingv1.EventDateStatus_EVENT_DATE_STATUS_CANCELLED
	})
	if len(scheduled) > 0 {
		dates = scheduled
	}
	var capacity, available int64
	var taken int32
	var end time.Time
	unlimited := false
	for i, d := range dates {
		if i == 0 {
			out.StartsAt, out.Duration = utc(d.GetStartsAt()), d.GetDurationMinutes()
		}
		if over := d.GetStartsAt().AsTime().Add(time.Duration(d.GetDurationMinutes()) * time.Minute); over.After(end) {
			end = over
		}
		taken += d.GetBooked()
		capacity += int64(d.GetCapacity())
		available += int64(d.GetCapacity() - d.GetBooked())
		unlimited = unlimited || d.Capacity == nil
	}
	out.EndsAt, out.SpotsTaken = utc(timestamppb.New(end)), taken
	out.Capacity, out.SpotsAvailable = nullableInt(nil), nullableInt(nil)
	if !unlimited && len(dates) > 0 {
		out.Capacity, out.SpotsAvailable = sumOf(capacity), sumOf(available)
	}
}

// sumOf is a sum over the dates; more than a number of the interface can be is
// shown as the most it can be.
func sumOf(n int64) *edgev1.NullableInt {
	shown := int32(min(n, math.MaxInt32))
	return nullableInt(&shown)
}

// faults collects what is wrong with a request before a service sees it.
type faults struct{ fault.Checks }

func (f *faults) add(field, rule, phrase string) { f.Add(field, rule, phrase) }

func (f *faults) err() error { return f.Err() }

// enum reads a name of a service's value; absent: its zero.
func enum[T ~int32](f *faults, field string, value *string, names []string) T {
	if value == nil {
		return 0
	}
	for i, known := range names {
		if known == *value {
			return T(i + 1)
		}
	}
	f.add(field, "enum", "must be "+choices(names))
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

// firstDateNames are what errors about an event's only new date are called where
// the request described it at the top.
func firstDateNames() map[string]string {
	return map[string]string{
		"dates[0].starts_at": "startsAt", "dates[0].local_start": "startsAt", "dates[0].duration_minutes": "duration",
		"dates[0].capacity": "capacity", "recurrence.local_start": "startsAt", "duration_minutes": "duration",
		"tax_rate_basis_points": "taxRate", "dates": "startsAt",
	}
}

func onlyDateNames() map[string]string {
	return map[string]string{
		"only_date": "startsAt", "only_date.starts_at": "startsAt", "only_date.local_start": "startsAt", "only_date.duration_minutes": "duration",
		"only_date.capacity": "capacity", "duration_minutes": "duration", "tax_rate_basis_points": "taxRate", "local_start": "startsAt",
	}
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
		Type: enum[bookingv1.EventType](&f, "type", in.Type, eventTypes()), Status: enum[bookingv1.EventStatus](&f, "status", in.Status, eventStatuses()),
	}
	if free := in.GetFreeCancellationMinutes(); free != nil {
		out.FreeCancellationMinutes = free.Value
	}
	names := map[string]string{"duration_minutes": "duration", "tax_rate_basis_points": "taxRate", "local_start": "startsAt"}
	switch {
	case len(in.GetDates()) > 0:
		if in.GetRecurrence() != nil {
			f.add("recurrence", "exclusive", "must not be given with dates")
		}
		for i, d := range in.GetDates() {
			at, local := f.moment(index("dates", i, "startsAt"), d.StartsAt)
			out.Dates = append(out.Dates, &bookingv1.NewEventDate{
				StartsAt: at, LocalStart: local, DurationMinutes: d.GetDuration(), Capacity: capacityOf(d.GetCapacity(), in.GetCapacity()),
			})
			if d.Duration == nil {
				out.Dates[i].DurationMinutes = f.duration(in, at, local)
			}
		}
	default:
		names = firstDateNames()
		at, local := f.moment("startsAt", in.StartsAt)
		if in.StartsAt == nil {
			f.add("startsAt", "required", "is required")
		}
		if in.Duration == nil && in.EndsAt == nil {
			f.add("duration", "required", "is required")
		}
		out.Dates = []*bookingv1.NewEventDate{{
			StartsAt: at, LocalStart: local, DurationMinutes: f.duration(in, at, local), Capacity: capacityOf(in.GetCapacity(), nil),
		}}
		if r := in.GetRecurrence(); r != nil {
			out.Recurrence = &bookingv1.Recurrence{Rule: r.GetRule(), LocalStart: local, Exceptions: r.GetExceptions()}
			if at != nil {
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
		if p.GetCredits() != nil {
			option.Credits = p.GetCredits().Value
		}
		out.PricingOptions = append(out.PricingOptions, option)
	}
	if out.GetTitle() == "" && f.Len() > 0 { // all that is missing is told at once
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

// duration is that of the request, or what endsAt leaves between.
func (f *faults) duration(in *edgebv1.EventWrite, at *timestamppb.Timestamp, local string) int32 {
	if in.Duration != nil || in.EndsAt == nil {
		return in.GetDuration()
	}
	end, localEnd := f.moment("endsAt", in.EndsAt)
	var between time.Duration
	switch {
	case at != nil && end != nil:
		between = end.AsTime().Sub(at.AsTime())
	case local != "" && localEnd != "":
		from, _ := time.Parse("2006-01-02T15:04:05", local)
		to, _ := time.Parse("2006-01-02T15:04:05", localEnd)
		between = to.Sub(from)
	default:
		f.add("endsAt", "format", "must be written as startsAt is, both with an offset or both without")
		return 1
	}
	if between <= 0 || between%time.Minute != 0 || between > maxDuration {
		f.add("endsAt", "min", "must be whole minutes after startsAt, at most a year")
		return 1
	}
	return int32(between / time.Minute)
}

const maxDuration = 525_600 * time.Minute

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
		Type: enum[bookingv1.EventType](&f, "type", in.Type, eventTypes()), Status: enum[bookingv1.EventStatus](&f, "status", in.Status, eventStatuses()),
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
	if in.GetRecurrence() != nil {
		f.add("recurrence", "immutable", "is given when the event is made; change its dates instead")
	}
	for i, d := range in.GetDates() {
		out.Dates = append(out.Dates, f.dateChange(index("dates", i, "startsAt"), d.GetId(), d.StartsAt, d.Duration, d.GetCapacity()))
	}
	if in.StartsAt != nil || in.Duration != nil || in.EndsAt != nil || in.GetCapacity() != nil {
		out.OnlyDate = f.dateChange("startsAt", "", in.StartsAt, in.Duration, in.GetCapacity())
		if in.EndsAt != nil && in.Duration == nil {
			if in.StartsAt == nil {
				f.add("endsAt", "requires", "needs startsAt; give duration instead")
			} else {
				minutes := f.duration(in, out.OnlyDate.GetStartsAt(), out.OnlyDate.GetLocalStart())
				out.OnlyDate.DurationMinutes = &minutes
			}
		}
	}
	for i, p := range in.GetPricingOptions() {
		f.amounts(i, p)
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

func (f *faults) dateChange(field, id string, startsAt *string, minutes *int32, capacity *edgev1.NullableInt) *bookingv1.EventDateChange {
	at, local := f.moment(field, startsAt)
	change := &bookingv1.EventDateChange{Id: id, StartsAt: at, DurationMinutes: minutes}
	if local != "" {
		change.LocalStart = &local
	}
	if capacity != nil {
		change.Capacity, change.Unlimited = capacity.Value, capacity.Value == nil
	}
	return change
}
