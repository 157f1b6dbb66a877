package gatewayb

import (
	"fmt"

	"reservation.dev/platform/edge"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	edgev1 "reservation.dev/proto/gen/reservation/edge/v1"
)

// topDateNames maps the fields of a date in the service's request to the top-level members of
// Interface B that described it. date is the path of the date in the service's request.
func topDateNames(date string) map[string]string {
	names := map[string]string{}
	for member, name := range map[string]string{
		"starts_at": "startsAt", "local_start": "startsAt", "ends_at": "endsAt", "local_end": "endsAt", "duration_minutes": "duration",
		"capacity": "capacity", "unlimited": "capacity",
	} {
		names[date+"."+member] = name
	}
	return names
}

// firstDateNames is topDateNames for the first date of a new event, and for its recurrence.
func firstDateNames() map[string]string {
	names := topDateNames("dates[0]")
	names["dates"], names["recurrence.local_start"], names["recurrence.ends_at"], names["recurrence.local_end"] = "startsAt", "startsAt", "endsAt", "endsAt"
	return names
}

// newEvent converts the body of POST /events. names maps the fields in errors about the service's
// request to the members of the body.
func newEvent(in *edgebv1.EventWrite) (out *bookingv1.CreateEventRequest, names map[string]string, err error) {
	in = edge.OrEmpty(in)
	var b body
	out = &bookingv1.CreateEventRequest{
		Title: in.GetTitle(), Description: in.GetDescription(), Timezone: in.GetTimezone(), Location: in.GetLocation(),
		Type: value[bookingv1.EventType](&b, "type", in.Type), Status: value[bookingv1.EventStatus](&b, "status", in.Status),
		FreeCancellationMinutes: edge.OrEmpty(in.GetFreeCancellationMinutes()).Value, BookingRules: b.bookingRules(in.GetBookingRules()),
	}
	if in.GetStaffIds() != nil || in.GetRoomIds() != nil {
		out.StaffAndRooms = &bookingv1.StaffAndRooms{StaffIds: in.GetStaffIds().GetValues(), RoomIds: in.GetRoomIds().GetValues()}
	}
	b.notEmpty("timezone", in.Timezone)
	if len(in.GetDates()) > 0 {
		b.newDates(out, in)
	} else {
		var date *bookingv1.NewEventDate
		date, out.Recurrence = b.firstDate(&edgebv1.EventDateAdd{
			StartsAt: in.StartsAt, EndsAt: in.EndsAt, Duration: in.Duration, Capacity: in.GetCapacity(), Recurrence: in.GetRecurrence(),
		})
		if in.Duration == nil && in.EndsAt == nil {
			b.Add("duration", "required", "is required")
		}
		out.Dates, names = []*bookingv1.NewEventDate{date}, firstDateNames()
	}
	for i, p := range in.GetPricingOptions() {
		out.PricingOptions = append(out.PricingOptions, b.newPricingOption(i, p))
	}
	if out.GetTitle() == "" && b.Len() > 0 { // the service would report this one later than the others
		b.AddFirst("title", "required", "is required")
	}
	return out, names, b.Err()
}

// newDates converts the dates that the request lists.
func (b *body) newDates(out *bookingv1.CreateEventRequest, in *edgebv1.EventWrite) {
	if in.GetRecurrence() != nil {
		b.Add("recurrence", "exclusive", "cannot be used together with dates")
	}
	for i, d := range in.GetDates() {
		out.Dates = append(out.Dates, b.newDate(i, d, in))
	}
}

// newDate converts an entry of dates. An omitted duration or capacity is that of the event.
func (b *body) newDate(i int, d *edgebv1.EventDateWrite, in *edgebv1.EventWrite) *bookingv1.NewEventDate {
	date := &bookingv1.NewEventDate{Capacity: capacityOf(d.GetCapacity(), in.GetCapacity())}
	date.StartsAt, date.LocalStart = b.moment(index("dates", i, "startsAt"), d.StartsAt)
	switch {
	case d.Duration != nil || d.EndsAt != nil:
		b.size(date, index("dates", i, ""), d.Duration, d.EndsAt)
	case len(in.GetDates()) > 1 && in.Duration != nil: // the event's endsAt is the end of the last date, not of each
		b.size(date, "", in.Duration, nil)
	default:
		b.size(date, "", in.Duration, in.EndsAt)
	}
	return date
}

// firstDate converts the date that the members of a body describe, and the recurrence.
func (b *body) firstDate(in *edgebv1.EventDateAdd) (*bookingv1.NewEventDate, *bookingv1.Recurrence) {
	if in.StartsAt == nil {
		b.Add("startsAt", "required", "is required")
	}
	date := &bookingv1.NewEventDate{Capacity: capacityOf(in.GetCapacity(), nil)}
	date.StartsAt, date.LocalStart = b.moment("startsAt", in.StartsAt)
	b.size(date, "", in.Duration, in.EndsAt)
	r := in.GetRecurrence()
	if r == nil {
		return date, nil
	}
	if date.GetStartsAt() != nil {
		b.Add("startsAt", "local", "must be a local time without an offset if recurrence is given")
	}
	return date, &bookingv1.Recurrence{Rule: r.GetRule(), LocalStart: date.GetLocalStart(), Exceptions: r.GetExceptions()}
}

// size sets the duration or the end of a date. at is the path of the members. The booking service
// computes the duration between local times.
func (b *body) size(date *bookingv1.NewEventDate, at string, duration *int32, end *string) {
	if duration != nil && end != nil && *duration < 1 { // the service would treat 0 as absent
		b.Add(at+"duration", "min", "must be 1 or more")
	}
	if duration != nil {
		date.DurationMinutes = *duration
	}
	date.EndsAt, date.LocalEnd = b.moment(at+"endsAt", end)
}

// capacityOf returns a date's own capacity, or that of the event; nil means unlimited.
func capacityOf(own, usual *edgev1.NullableInt) *int32 {
	if own != nil {
		return own.Value
	}
	return edge.OrEmpty(usual).Value
}

func (b *body) newPricingOption(i int, p *edgebv1.PricingOptionWrite) *bookingv1.NewPricingOption {
	if p.GetPrice() == nil {
		b.Add(index("pricingOptions", i, "price"), "required", "is required")
	}
	b.checkPricingOption(i, p)
	return &bookingv1.NewPricingOption{
		Name: p.GetName(), Price: p.GetPrice().GetMinor(), Currency: p.GetCurrency(), TaxRateBasisPoints: p.GetTaxRate().GetBasisPoints(),
		Credits: edge.OrEmpty(p.GetCredits()).Value, WholeCourse: p.GetWholeCourse(),
	}
}

const (
	maxOptionPrice = 1_000_000_000 // major units
	maxTaxRate     = 100           // percent
)

// checkPricingOption checks the currency and the amounts. The services would report the amounts in
// other units.
func (b *body) checkPricingOption(i int, p *edgebv1.PricingOptionWrite) {
	if n := p.GetPrice().GetMinor(); n < 0 || n > 100*maxOptionPrice {
		b.Add(index("pricingOptions", i, "price"), "range", fmt.Sprintf("must be 0 to %d", maxOptionPrice))
	}
	if n := p.GetTaxRate().GetBasisPoints(); n < 0 || n > 100*maxTaxRate {
		b.Add(index("pricingOptions", i, "taxRate"), "range", fmt.Sprintf("must be 0 to %d", maxTaxRate))
	}
	b.notEmpty(index("pricingOptions", i, "currency"), p.Currency)
}

// eventUpdate converts the body of PUT /events/{id}.
func eventUpdate(in *edgebv1.EventWrite) (*bookingv1.UpdateEventRequest, error) {
	in = edge.OrEmpty(in)
	var b body
	out := &bookingv1.UpdateEventRequest{
		Title: in.Title, Description: in.Description, Timezone: in.Timezone, Location: in.Location,
		Type: value[bookingv1.EventType](&b, "type", in.Type), Status: value[bookingv1.EventStatus](&b, "status", in.Status),
		FreeCancellationMinutes: b.freeCancellation(in.GetFreeCancellationMinutes()), BookingRules: b.bookingRules(in.GetBookingRules()),
		StaffAndRooms: staffAndRooms(in.GetStaffIds(), in.GetRoomIds()),
	}
	b.notEmpty("timezone", in.Timezone)
	if r := in.GetRecurrence(); r != nil {
		out.Recurrence = &bookingv1.Recurrence{Rule: r.GetRule(), Exceptions: r.GetExceptions()}
	}
	for i, d := range in.GetDates() {
		change := b.dateChange(index("dates", i, ""), d.StartsAt, d.EndsAt, d.Duration, d.GetCapacity())
		change.Id = d.GetId()
		out.Dates = append(out.Dates, change)
	}
	if in.StartsAt != nil || in.Duration != nil || in.EndsAt != nil || in.GetCapacity() != nil {
		out.OnlyDate = b.dateChange("", in.StartsAt, in.EndsAt, in.Duration, in.GetCapacity())
	}
	for i, p := range in.GetPricingOptions() {
		out.PricingOptions = append(out.PricingOptions, b.pricingOptionChange(i, p))
	}
	return out, b.Err()
}

// freeCancellation converts a change of freeCancellationMinutes. null, which means until the start,
// is -1 in the service's request.
func (b *body) freeCancellation(in *edgev1.NullableInt) *int32 {
	switch {
	case in == nil:
		return nil
	case in.Value == nil:
		untilStart := int32(-1)
		return &untilStart
	case in.GetValue() < 0:
		b.Add("freeCancellationMinutes", "min", "must be 0 or more, or null")
	}
	return in.Value
}

// bookingRules converts booking rules. An absent member means no limit.
func (b *body) bookingRules(in *edgebv1.BookingRulesWrite) *bookingv1.BookingRules {
	if in == nil {
		return nil
	}
	if in.MaximumAdvanceDays != nil && in.GetMaximumAdvanceDays() < 1 { // the service would treat 0 as absent
		b.Add("bookingRules.maximumAdvanceDays", "min", "must be 1 or more, or null")
	}
	return &bookingv1.BookingRules{
		OpensAt: b.instant("bookingRules.opensAt", in.OpensAt), ClosesAt: b.instant("bookingRules.closesAt", in.ClosesAt),
		MinimumNoticeMinutes: in.GetMinimumNoticeMinutes(), MaximumAdvanceDays: in.GetMaximumAdvanceDays(), OncePerCustomer: in.GetOncePerCustomer(),
	}
}

// dateChange converts a change of one date, or of all dates together. at is the path of the members.
func (b *body) dateChange(at string, start, end *string, minutes *int32, capacity *edgev1.NullableInt) *bookingv1.EventDateChange {
	change := &bookingv1.EventDateChange{DurationMinutes: minutes}
	var local string
	if change.StartsAt, local = b.moment(at+"startsAt", start); local != "" {
		change.LocalStart = &local
	}
	var localEnd string
	if change.EndsAt, localEnd = b.moment(at+"endsAt", end); localEnd != "" {
		change.LocalEnd = &localEnd
	}
	if capacity != nil {
		change.Capacity, change.Unlimited = capacity.Value, capacity.Value == nil
	}
	return change
}

func (b *body) pricingOptionChange(i int, p *edgebv1.PricingOptionWrite) *bookingv1.PricingOptionChange {
	b.checkPricingOption(i, p)
	change := &bookingv1.PricingOptionChange{Id: p.GetId(), Name: p.Name, Currency: p.Currency, WholeCourse: p.WholeCourse}
	if p.GetPrice() != nil {
		change.Price = &p.GetPrice().Minor
	}
	if p.GetTaxRate() != nil {
		change.TaxRateBasisPoints = &p.GetTaxRate().BasisPoints
	}
	if credits := p.GetCredits(); credits != nil {
		change.Credits, change.NoCredits = credits.Value, credits.Value == nil
	}
	return change
}
