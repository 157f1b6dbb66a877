package convert

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// bookingRules reads booking rules; nil means none.
func bookingRules(r *bookingv1.BookingRules) model.BookingRules {
	return model.BookingRules{
		OpensAt: Instant(r.GetOpensAt()), ClosesAt: Instant(r.GetClosesAt()), MinimumNotice: r.GetMinimumNoticeMinutes(),
		MaximumAdvance: r.GetMaximumAdvanceDays(), OncePerCustomer: r.GetOncePerCustomer(),
	}
}

// bookingRulesToProto converts booking rules; nil if there are none.
func bookingRulesToProto(r *model.BookingRules) *bookingv1.BookingRules {
	if *r == (model.BookingRules{}) {
		return nil
	}
	return &bookingv1.BookingRules{
		OpensAt: timestampOrNil(r.OpensAt), ClosesAt: timestampOrNil(r.ClosesAt), MinimumNoticeMinutes: r.MinimumNotice,
		MaximumAdvanceDays: r.MaximumAdvance, OncePerCustomer: r.OncePerCustomer,
	}
}

func timestampOrNil(at time.Time) *timestamppb.Timestamp {
	if at.IsZero() {
		return nil
	}
	return timestamppb.New(at)
}

// summary converts the summary of an event's dates.
func summary(s *model.Summary) *bookingv1.DatesSummary {
	if s == nil {
		return nil
	}
	out := &bookingv1.DatesSummary{
		Upcoming: s.Upcoming, Dates: s.Dates, StartsAt: timestamppb.New(s.StartsAt), DurationMinutes: s.Minutes,
		EndsAt: timestamppb.New(s.EndsAt), Capacity: s.Capacity, Booked: s.Taken,
	}
	if s.Next != nil {
		out.Next = bareDate(s.Next)
	}
	return out
}

// ScheduledDate converts a date with the details of its event, as they are at now.
func ScheduledDate(d *model.ScheduledDate, now time.Time) *bookingv1.ScheduledDate {
	opens, closes := d.Rules.Window(d.StartsAt, d.Timezone)
	return &bookingv1.ScheduledDate{
		Date: Date(&d.EventDate), EventId: d.Event.String(), EventTitle: d.EventTitle, EventType: valueOf[bookingv1.EventType](d.EventType),
		EventStatus: valueOf[bookingv1.EventStatus](d.EventStatus), Location: d.Location, Waiting: d.Waiting,
		LowestPrice: d.LowestPrice, Currency: d.Currency, Available: d.Available(now),
		OpensAt: timestampOrNil(opens), ClosesAt: timestampOrNil(closes), UpdatedAt: timestamppb.New(d.UpdatedAt), Version: d.Version,
	}
}

// DateStatus reads the status of a date. Unspecified means any; ok is false if the value is unknown.
func DateStatus(s bookingv1.EventDateStatus) (status model.DateStatus, ok bool) {
	switch s {
	case bookingv1.EventDateStatus_EVENT_DATE_STATUS_UNSPECIFIED:
		return "", true
	case bookingv1.EventDateStatus_EVENT_DATE_STATUS_SCHEDULED:
		return model.Scheduled, true
	case bookingv1.EventDateStatus_EVENT_DATE_STATUS_CANCELLED:
		return model.DateCancelled, true
	}
	return "", false
}
