package booking

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// calendar returns every date of a list, in pages of a size.
func (w *world) calendar(req *bookingv1.ListEventDatesRequest, size int32) (all []*bookingv1.ScheduledDate) {
	w.t.Helper()
	req = proto.CloneOf(req)
	req.PageSize = size
	for {
		resp, err := w.events.ListEventDates(w.ctx, req)
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, resp.GetDates()...)
		if req.PageToken = resp.GetNextPageToken(); req.PageToken == "" {
			return all
		}
	}
}

// randomCalendar creates events of every type and status with random rules and dates.
func (w *world) randomCalendar(r *rand.Rand, now time.Time) {
	w.t.Helper()
	zones := []string{"Europe/London", "Asia/Tokyo", "Australia/Lord_Howe", "America/New_York"}
	ann := w.customer(w.company, "ann")
	for range 40 {
		var dates []*bookingv1.NewEventDate
		for i := range 1 + r.IntN(3) {
			d := newDate(0, nil)
			d.StartsAt = timestamppb.New(now.Add(time.Duration(r.IntN(200)-40)*time.Hour + time.Duration(i)*time.Minute))
			if r.IntN(3) > 0 {
				d.Capacity = new(int32(r.IntN(3)))
			}
			dates = append(dates, d)
		}
		rules := &bookingv1.BookingRules{}
		if r.IntN(3) == 0 {
			rules.OpensAt = timestamppb.New(now.Add(time.Duration(r.IntN(3)-1) * time.Hour))
		}
		if r.IntN(3) == 0 {
			rules.ClosesAt = timestamppb.New(now.Add(time.Duration(2+r.IntN(100)) * time.Hour))
		}
		if r.IntN(3) == 0 {
			rules.MinimumNoticeMinutes = int32(r.IntN(6000))
		}
		if r.IntN(3) == 0 {
			rules.MaximumAdvanceDays = int32(1 + r.IntN(6))
		}
		e := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{
			Title: "Yoga", Dates: dates, BookingRules: rules, Timezone: zones[r.IntN(len(zones))], Type: bookingv1.EventType(1 + r.IntN(5)),
			Status: bookingv1.EventStatus(1 + min(r.IntN(4), 1)), // a quarter are drafts
		})
		for _, d := range e.GetDates() {
			if r.IntN(4) == 0 {
				_, _ = w.bookings.CreateTransaction(w.ctx, &bookingv1.CreateTransactionRequest{
					PurchaserId: ann.String(), Lines: []*bookingv1.TransactionLine{{EventDateId: d.GetId()}},
				})
			}
			if r.IntN(6) == 0 {
				if _, err := w.events.CancelEventDate(w.ctx, &bookingv1.CancelEventDateRequest{Id: d.GetId()}); err != nil {
					w.t.Fatal(err)
				}
			}
		}
		if r.IntN(8) == 0 {
			if _, err := w.events.CancelEvent(w.ctx, &bookingv1.CancelEventRequest{Id: e.GetId()}); err != nil {
				w.t.Fatal(err)
			}
		}
	}
}

func TestCalendarFilters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	now := time.Now().Truncate(time.Second)
	w.server.now = func() time.Time { return now }
	w.randomCalendar(rand.New(rand.NewPCG(8, 2)), now)
	all := w.calendar(&bookingv1.ListEventDatesRequest{}, 200)
	since := all[len(all)/2].GetUpdatedAt()
	some := []string{"", "date_x", id.New[id.EventDate]().String()}
	for i := 0; i < len(all); i += 3 {
		some = append(some, all[i].GetDate().GetId())
	}
	filters := map[string]struct {
		req     *bookingv1.ListEventDatesRequest
		matches func(*bookingv1.ScheduledDate) bool
	}{
		"all": {&bookingv1.ListEventDatesRequest{}, func(*bookingv1.ScheduledDate) bool { return true }},
		"identifiers": {&bookingv1.ListEventDatesRequest{Ids: some}, func(d *bookingv1.ScheduledDate) bool {
			return slices.Contains(some, d.GetDate().GetId())
		}},
		"available": {&bookingv1.ListEventDatesRequest{Available: true}, (*bookingv1.ScheduledDate).GetAvailable},
		"type": {&bookingv1.ListEventDatesRequest{Type: bookingv1.EventType_EVENT_TYPE_COURSE}, func(d *bookingv1.ScheduledDate) bool {
			return d.GetEventType() == bookingv1.EventType_EVENT_TYPE_COURSE
		}},
		"status": {&bookingv1.ListEventDatesRequest{Status: bookingv1.EventDateStatus_EVENT_DATE_STATUS_CANCELLED}, func(d *bookingv1.ScheduledDate) bool {
			return d.GetDate().GetStatus() == bookingv1.EventDateStatus_EVENT_DATE_STATUS_CANCELLED
		}},
		"event status": {&bookingv1.ListEventDatesRequest{EventStatus: bookingv1.EventStatus_EVENT_STATUS_DRAFT}, func(d *bookingv1.ScheduledDate) bool {
			return d.GetEventStatus() == bookingv1.EventStatus_EVENT_STATUS_DRAFT
		}},
		"updated since": {&bookingv1.ListEventDatesRequest{UpdatedSince: since}, func(d *bookingv1.ScheduledDate) bool {
			return !d.GetUpdatedAt().AsTime().Before(since.AsTime())
		}},
		"a span, available": {&bookingv1.ListEventDatesRequest{StartsFrom: timestamppb.New(now.Add(time.Hour)), StartsBefore: timestamppb.New(now.Add(90 * time.Hour)), Available: true},
			func(d *bookingv1.ScheduledDate) bool {
				at := d.GetDate().GetStartsAt().AsTime()
				return d.GetAvailable() && !at.Before(now.Add(time.Hour)) && at.Before(now.Add(90*time.Hour))
			}},
	}
	for name, c := range filters {
		t.Run("pages, offsets and totals agree on the dates that match: "+name, func(t *testing.T) {
			var want []*bookingv1.ScheduledDate
			for _, d := range all {
				if c.matches(d) {
					want = append(want, d)
				}
			}
			if len(want) < 3 {
				t.Fatalf("only %d of %d dates match", len(want), len(all))
			}
			got := w.calendar(c.req, 7)
			if !proto.Equal(&bookingv1.ListEventDatesResponse{Dates: got}, &bookingv1.ListEventDatesResponse{Dates: want}) {
				t.Errorf("got %d dates, want %d", len(got), len(want))
			}
			for limit, total := range map[int64]int64{0: 0, 2: 2, 100_000: int64(len(want))} {
				req := proto.CloneOf(c.req)
				req.TotalLimit, req.Offset = limit, 2
				resp, err := w.events.ListEventDates(w.ctx, req)
				if err != nil || resp.GetTotal() != total || resp.GetDates()[0].GetDate().GetId() != want[2].GetDate().GetId() {
					t.Errorf("with the limit %d: got %d of %v, %v", limit, resp.GetTotal(), len(resp.GetDates()), err)
				}
			}
		})
	}
	t.Run("a date that is available can be booked, and one that is not is refused", func(t *testing.T) {
		ben := w.customer(w.company, "ben")
		for _, d := range all {
			_, err := w.bookings.CreateTransaction(w.ctx, &bookingv1.CreateTransactionRequest{
				PurchaserId: ben.String(), Lines: []*bookingv1.TransactionLine{{EventDateId: d.GetDate().GetId()}},
			})
			starting := d.GetDate().GetStartsAt().AsTime().Equal(now) // can still be booked in its first second
			if (err == nil) != d.GetAvailable() && !starting {
				t.Errorf("got %v for %v", err, d)
			}
		}
	})
	t.Run("GetEventDate returns the date of the list", func(t *testing.T) {
		for _, d := range w.calendar(&bookingv1.ListEventDatesRequest{}, 200)[:20] {
			resp, err := w.events.GetEventDate(w.ctx, &bookingv1.GetEventDateRequest{Id: d.GetDate().GetId()})
			if err != nil || !proto.Equal(resp.GetDate(), d) {
				t.Errorf("got %v, %v\nwant %v", resp, err, d)
			}
		}
		for _, which := range []string{id.New[id.EventDate]().String(), "date_x", ""} {
			_, err := w.events.GetEventDate(w.ctx, &bookingv1.GetEventDateRequest{Id: which})
			wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
		}
	})
	t.Run("refuses filters that are out of range", func(t *testing.T) {
		for _, req := range []*bookingv1.ListEventDatesRequest{
			{TotalLimit: -1}, {TotalLimit: 100_001}, {Type: 99}, {EventStatus: 99}, {Status: 99}, {Offset: -1}, {UpdatedSince: &timestamppb.Timestamp{Nanos: -1}},
		} {
			_, err := w.events.ListEventDates(w.ctx, req)
			wantFault(t, err, fault.Invalid, fault.ReasonInvalidParameter)
		}
	})
}

func TestLowestPrice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, c := range map[string]struct {
		options []*bookingv1.NewPricingOption
		want    int64
	}{
		"is the lowest":                                  {[]*bookingv1.NewPricingOption{{Name: "a", Price: 900}, {Name: "b", Price: 700}, {Name: "c", Price: 800}}, 700},
		"leaves out the price of a whole course":         {[]*bookingv1.NewPricingOption{{Name: "a", Price: 5, WholeCourse: true}, {Name: "b", Price: 700}}, 700},
		"is that of a whole course if there is no other": {[]*bookingv1.NewPricingOption{{Name: "a", Price: 900, WholeCourse: true}, {Name: "b", Price: 800, WholeCourse: true}}, 800},
		"is 0 for a free event":                          {nil, 0},
	} {
		t.Run("the lowest price "+name, func(t *testing.T) {
			e := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{
				Title: "Yoga", Type: bookingv1.EventType_EVENT_TYPE_COURSE, Dates: []*bookingv1.NewEventDate{newDate(time.Hour, nil)}, PricingOptions: c.options,
			})
			read, err := w.events.GetEventDate(w.ctx, &bookingv1.GetEventDateRequest{Id: e.GetDates()[0].GetId()})
			if err != nil || read.GetDate().LowestPrice == nil || read.GetDate().GetLowestPrice() != c.want || read.GetDate().GetCurrency() != "GBP" {
				t.Errorf("read %v, %v", read, err)
			}
			changed, err := w.events.UpdateEventDate(w.ctx, &bookingv1.UpdateEventDateRequest{Date: &bookingv1.EventDateChange{Id: e.GetDates()[0].GetId(), Capacity: new(int32(9))}})
			if err != nil || changed.GetScheduled().LowestPrice == nil || changed.GetScheduled().GetLowestPrice() != c.want {
				t.Errorf("changed %v, %v", changed, err)
			}
		})
	}
}

// TestOpeningInWallTime compares the opening times that the filter and the rules compute, around the
// clock changes of several zones.
func TestOpeningInWallTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	changes := map[string][]string{
		"Europe/London": {"2026-03-29T01:00:00Z", "2026-10-25T01:00:00Z"}, "America/New_York": {"2026-03-08T07:00:00Z", "2026-11-01T06:00:00Z"},
		"Australia/Lord_Howe": {"2026-04-04T15:00:00Z", "2026-10-03T15:30:00Z"}, "Antarctica/Troll": {"2026-03-29T01:00:00Z", "2026-10-25T01:00:00Z"},
		"Asia/Kathmandu": {"2026-06-01T00:00:00Z"},
	}
	for zone, instants := range changes {
		for _, instant := range instants {
			t.Run(fmt.Sprintf("the filter opens dates when the rules do, around %s in %s", instant, zone), func(t *testing.T) {
				change, err := time.Parse(time.RFC3339, instant)
				if err != nil {
					t.Fatal(err)
				}
				var dates []*bookingv1.NewEventDate
				for n := range 40 { // the opening is three days before the start
					start := change.AddDate(0, 0, 3).Add(time.Duration(n-20) * 15 * time.Minute)
					dates = append(dates, &bookingv1.NewEventDate{StartsAt: timestamppb.New(start), DurationMinutes: 10})
				}
				e := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{
					Title: "Yoga", Timezone: zone, Dates: dates, BookingRules: &bookingv1.BookingRules{MaximumAdvanceDays: 3},
				})
				rules := model.BookingRules{MaximumAdvance: 3}
				for n := range 40 {
					now := change.Add(time.Duration(n-20) * 15 * time.Minute)
					w.server.now = func() time.Time { return now }
					open := map[string]bool{}
					for _, d := range w.calendar(&bookingv1.ListEventDatesRequest{EventId: e.GetId(), Available: true}, 200) {
						open[d.GetDate().GetId()] = true
					}
					for _, d := range e.GetDates() {
						opens, _ := rules.Window(d.GetStartsAt().AsTime(), zone)
						if want := !now.Before(opens); open[d.GetId()] != want {
							t.Fatalf("at %v, the date at %v is open: %t; it opens at %v", now, d.GetStartsAt().AsTime(), open[d.GetId()], opens.UTC())
						}
					}
				}
			})
		}
	}
}
