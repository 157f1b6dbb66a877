package resource

import (
	"cmp"
	"math"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/enum"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	edgev1 "reservation.dev/proto/gen/reservation/edge/v1"
)

// The most dates to come that an event shows: alone, and as an item of a list.
const (
	MaxDates       = 100
	MaxDatesInList = 3
)

// Event converts an event with its summary and the dates that it has.
func Event(e *bookingv1.Event) *edgebv1.Event { return eventWith(e, e.GetDates()) }

// WholeEvent converts an event that has its summary and all its dates.
func WholeEvent(e *bookingv1.Event) *edgebv1.Event { return eventWith(e, shownDates(e)) }

// shownDates returns the dates of an event that its resource shows: the first dates to come, or the
// last dates if there are none. The event has all its dates, sorted.
func shownDates(e *bookingv1.Event) []*bookingv1.EventDate {
	all := e.GetDates()
	takePlace := slices.DeleteFunc(slices.Clone(all), func(d *bookingv1.EventDate) bool {
		return d.GetStatus() == bookingv1.EventDateStatus_EVENT_DATE_STATUS_CANCELLED
	})
	toCome := takePlace[max(0, len(takePlace)-int(e.GetSummary().GetUpcoming())):]
	if len(toCome) > 0 {
		return toCome[:min(len(toCome), MaxDates)]
	}
	return all[max(0, len(all)-MaxDates):]
}

func eventWith(e *bookingv1.Event, dates []*bookingv1.EventDate) *edgebv1.Event {
	out := &edgebv1.Event{
		Id: e.GetId(), Title: e.GetTitle(), Description: e.GetDescription(), Type: enum.Name(e.GetType()),
		Status: enum.Name(e.GetStatus()), Timezone: e.GetTimezone(), Location: e.GetLocation(),
		FreeCancellationMinutes: nullableInt(e.FreeCancellationMinutes), BookingRules: bookingRules(e.GetBookingRules()),
		Dates:          edge.Convert(dates, EventDate),
		PricingOptions: edge.Convert(e.GetPricingOptions(), pricingOption),
		StaffIds:       e.GetStaffAndRooms().GetStaffIds(), RoomIds: e.GetStaffAndRooms().GetRoomIds(), AppointmentTypeId: nullableText(e.GetAppointmentTypeId()),
		CreatedAt: utc(e.GetCreatedAt()), UpdatedAt: utc(e.GetUpdatedAt()),
	}
	summarize(out, e.GetSummary())
	if r := e.GetRecurrence(); r != nil {
		out.Recurrence = &edgebv1.Recurrence{Rule: r.GetRule(), Exceptions: r.GetExceptions()}
	}
	return out
}

// summarize sets the members that describe all dates together.
func summarize(out *edgebv1.Event, s *bookingv1.DatesSummary) {
	out.StartsAt, out.EndsAt, out.Duration = utc(s.GetStartsAt()), utc(s.GetEndsAt()), s.GetDurationMinutes()
	out.Capacity, out.SpotsTaken, out.SpotsAvailable = nullableInt(nil), number(s.GetBooked()), nullableInt(nil)
	if s != nil && s.Capacity != nil {
		capacity, available := number(s.GetCapacity()), number(s.GetCapacity()-s.GetBooked())
		out.Capacity, out.SpotsAvailable = nullableInt(&capacity), nullableInt(&available)
	}
	out.DateCount, out.DatesTruncated = s.GetDates(), int(cmp.Or(s.GetUpcoming(), s.GetDates())) > len(out.GetDates())
	if next := s.GetNext(); next != nil {
		out.NextDate = &edgebv1.NextDate{Id: next.GetId(), StartsAt: utc(next.GetStartsAt())}
	}
}

// number converts a sum over dates. The interface has 32-bit numbers, so a larger sum becomes the
// largest 32-bit number.
func number(sum int64) int32 { return int32(min(sum, math.MaxInt32)) }

// EventDate converts a date as its event shows it.
func EventDate(d *bookingv1.EventDate) *edgebv1.EventDate {
	return &edgebv1.EventDate{
		Id: d.GetId(), StartsAt: utc(d.GetStartsAt()), Duration: d.GetDurationMinutes(), Timezone: d.GetTimezone(),
		Capacity: nullableInt(d.Capacity), SpotsTaken: d.GetBooked(), Status: enum.Name(d.GetStatus()),
	}
}

func pricingOption(p *bookingv1.PricingOption) *edgebv1.PricingOption {
	return &edgebv1.PricingOption{
		Id: p.GetId(), Name: p.GetName(), Price: amount(p.GetPrice()), Currency: p.GetCurrency(),
		Credits: nullableInt(p.Credits), TaxRate: &edgev1.Percentage{BasisPoints: p.GetTaxRateBasisPoints()}, WholeCourse: p.GetWholeCourse(),
	}
}

// bookingRules converts booking rules, or returns nil if there are none.
func bookingRules(r *bookingv1.BookingRules) *edgebv1.BookingRules {
	if proto.Size(r) == 0 {
		return nil
	}
	return &edgebv1.BookingRules{
		OpensAt: nullableTime(r.GetOpensAt()), ClosesAt: nullableTime(r.GetClosesAt()), MinimumNoticeMinutes: r.GetMinimumNoticeMinutes(),
		MaximumAdvanceDays: limit(r.GetMaximumAdvanceDays()), OncePerCustomer: r.GetOncePerCustomer(),
	}
}

// ScheduledDate converts a date with the details of its event.
func ScheduledDate(s *bookingv1.ScheduledDate) *edgebv1.ScheduledDate {
	d := s.GetDate()
	out := &edgebv1.ScheduledDate{
		Id: d.GetId(), EventId: s.GetEventId(), Title: s.GetEventTitle(), Type: enum.Name(s.GetEventType()), EventStatus: enum.Name(s.GetEventStatus()),
		Status: enum.Name(d.GetStatus()), StartsAt: utc(d.GetStartsAt()), EndsAt: utc(end(d)), Duration: d.GetDurationMinutes(),
		Timezone: d.GetTimezone(), Location: s.GetLocation(), Capacity: nullableInt(d.Capacity), SpotsTaken: d.GetBooked(), SpotsAvailable: nullableInt(nil),
		WaitlistLength: s.GetWaiting(), Available: s.GetAvailable(), OpensAt: nullableTime(s.GetOpensAt()), ClosesAt: nullableTime(s.GetClosesAt()),
		UpdatedAt: utc(s.GetUpdatedAt()), Staff: edge.Convert(d.GetStaff(), assignedStaff), Rooms: edge.Convert(d.GetRooms(), assignedRoom),
	}
	if d != nil && d.Capacity != nil {
		available := d.GetCapacity() - d.GetBooked()
		out.SpotsAvailable = nullableInt(&available)
	}
	if s.LowestPrice != nil {
		out.LowestPrice, out.Currency = amount(s.GetLowestPrice()), &s.Currency
	}
	return out
}

func assignedStaff(s *bookingv1.AssignedStaff) *edgebv1.AssignedStaff {
	p := s.GetStaff()
	return &edgebv1.AssignedStaff{Id: p.GetId(), Name: p.GetName(), Color: p.GetColor(), SubstitutesForId: nullableText(s.GetSubstitutesForId())}
}

func assignedRoom(r *bookingv1.RoomReference) *edgebv1.AssignedRoom {
	return &edgebv1.AssignedRoom{Id: r.GetId(), Name: r.GetName(), Unit: r.GetUnit()}
}

// end returns the instant at which an event date or a booking ends.
func end(d interface {
	GetStartsAt() *timestamppb.Timestamp
	GetDurationMinutes() int32
}) *timestamppb.Timestamp {
	return timestamppb.New(d.GetStartsAt().AsTime().Add(time.Duration(d.GetDurationMinutes()) * time.Minute))
}
