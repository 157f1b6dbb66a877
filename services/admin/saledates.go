package admin

import (
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// saleDays is the number of days whose dates a sale offers.
const saleDays = 16

// saleTypes are the types of events whose dates a sale offers: all but appointments.
var saleTypes = []bookingv1.EventType{
	bookingv1.EventType_EVENT_TYPE_CLASS, bookingv1.EventType_EVENT_TYPE_EVENT, bookingv1.EventType_EVENT_TYPE_WORKSHOP, bookingv1.EventType_EVENT_TYPE_COURSE,
}

// saleDates reads the dates that can be added to a sale, from the day of the form on. The usual day is yesterday.
// If there are more dates of a type than one call returns, the list ends where those of that type end.
func (r *request) saleDates(page *salePage) error {
	f := page.Form
	from, err := dayOf(f.text("add-from"), r.session.Clock.Zone)
	if err != nil {
		from = r.midnight(r.now(), -1)
		f.values.Set("add-from", from.Format(time.DateOnly))
	}
	var all []*bookingv1.ScheduledDate
	until := r.midnight(from, saleDays)
	for _, kind := range saleTypes {
		res, err := r.services.events.ListEventDates(r.ctx, &bookingv1.ListEventDatesRequest{
			StartsFrom: timestamppb.New(from), StartsBefore: timestamppb.New(until), PageSize: calendarSize, Type: kind,
			Status: bookingv1.EventDateStatus_EVENT_DATE_STATUS_SCHEDULED, EventStatus: bookingv1.EventStatus_EVENT_STATUS_PUBLISHED,
		})
		if err != nil {
			return err
		}
		all = append(all, res.GetDates()...)
		if dates := res.GetDates(); res.GetNextPageToken() != "" && len(dates) > 0 {
			last := dates[len(dates)-1].GetDate().GetStartsAt()
			until, page.Cut = last.AsTime().Add(time.Nanosecond), r.format("long_weekday_month_day", last.AsTime().In(r.session.Clock.Zone))
		}
	}
	page.offer(all, until, r.session.Clock)
	return nil
}

// offer sets the dates that can be chosen: those before an instant, in the order of their starts. It chooses the
// first one that has not started, unless the form has a choice.
func (p *salePage) offer(all []*bookingv1.ScheduledDate, until time.Time, c clock) {
	slices.SortStableFunc(all, func(a, b *bookingv1.ScheduledDate) int {
		return a.GetDate().GetStartsAt().AsTime().Compare(b.GetDate().GetStartsAt().AsTime())
	})
	for _, d := range all {
		starts := d.GetDate().GetStartsAt()
		if !starts.AsTime().Before(until) {
			return
		}
		p.Dates = append(p.Dates, option{d.GetDate().GetId(), c.Time(starts) + " " + d.GetEventTitle()})
		if p.Form.Get("add-date") == "" && !c.Past(starts) {
			p.Form.values.Set("add-date", d.GetDate().GetId())
		}
	}
}
