package booking

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/store"
)

// walk returns all pages of a list of events.
func (w *world) walk(req *bookingv1.ListEventsRequest) (ids []string) {
	w.t.Helper()
	req = proto.Clone(req).(*bookingv1.ListEventsRequest)
	for {
		resp, err := w.events.ListEvents(w.ctx, req)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, e := range resp.GetEvents() {
			ids = append(ids, e.GetId())
		}
		if req.PageToken = resp.GetNextPageToken(); req.PageToken == "" {
			return ids
		}
	}
}

func TestListEventsInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var made []*bookingv1.Event
	for range 9 {
		made = append(made, w.event(w.ctx, nil))
	}
	// Three events have the same creation time.
	w.exec(`update events set created_at = '2026-01-01', updated_at = '2026-01-01' where id = any($1)`, []id.Event{
		idOf[id.Event](t, made[6].GetId()), idOf[id.Event](t, made[7].GetId()), idOf[id.Event](t, made[8].GetId()),
	})
	w.updateEvent(&bookingv1.UpdateEventRequest{Id: made[0].GetId(), Title: new("Changed")})
	in := func(places ...int) (ids []string) {
		for _, n := range places {
			ids = append(ids, made[n].GetId())
		}
		return ids
	}
	for order, want := range map[bookingv1.EventOrder][]string{
		bookingv1.EventOrder_EVENT_ORDER_UNSPECIFIED:  in(0, 1, 2, 3, 4, 5, 6, 7, 8),
		bookingv1.EventOrder_EVENT_ORDER_CREATED:      in(6, 7, 8, 0, 1, 2, 3, 4, 5),
		bookingv1.EventOrder_EVENT_ORDER_CREATED_DESC: in(5, 4, 3, 2, 1, 0, 8, 7, 6),
		bookingv1.EventOrder_EVENT_ORDER_UPDATED:      in(6, 7, 8, 1, 2, 3, 4, 5, 0),
		bookingv1.EventOrder_EVENT_ORDER_UPDATED_DESC: in(0, 5, 4, 3, 2, 1, 8, 7, 6),
	} {
		t.Run(order.String()+": pages contain each event once, in order, by cursor and by number (invariant 14)", func(t *testing.T) {
			for _, size := range []int32{1, 2, 4, 9, 50} {
				if got := w.walk(&bookingv1.ListEventsRequest{Order: order, PageSize: size}); !slices.Equal(got, want) {
					t.Errorf("pages of %d: %v\nwant %v", size, got, want)
				}
			}
			for offset := range int64(11) {
				resp, err := w.events.ListEvents(w.ctx, &bookingv1.ListEventsRequest{Order: order, PageSize: 4, Offset: offset})
				var got []string
				for _, e := range resp.GetEvents() {
					got = append(got, e.GetId())
				}
				if from := min(int(offset), 9); err != nil || resp.GetTotal() != 9 || !slices.Equal(got, want[from:min(from+4, 9)]) {
					t.Errorf("after %d: %v of %d, %v", offset, got, resp.GetTotal(), err)
				}
			}
		})
	}
	t.Run("a cursor continues from a page that was read by number", func(t *testing.T) {
		resp, err := w.events.ListEvents(w.ctx, &bookingv1.ListEventsRequest{PageSize: 4, Offset: 2})
		if err != nil {
			t.Fatal(err)
		}
		if got := w.walk(&bookingv1.ListEventsRequest{PageSize: 4, PageToken: resp.GetNextPageToken()}); !slices.Equal(got, in(6, 7, 8)) {
			t.Errorf("got %v", got)
		}
	})
	t.Run("refuses invalid paging parameters", func(t *testing.T) {
		byID, err := w.events.ListEvents(w.ctx, &bookingv1.ListEventsRequest{PageSize: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			field, rule string
			req         *bookingv1.ListEventsRequest
		}{
			{"page_token", "order", &bookingv1.ListEventsRequest{PageToken: byID.GetNextPageToken(), Order: bookingv1.EventOrder_EVENT_ORDER_CREATED}},
			{"page_token", "format", &bookingv1.ListEventsRequest{PageToken: byID.GetNextPageToken() + "A"}},
			{"offset", "exclusive", &bookingv1.ListEventsRequest{PageToken: byID.GetNextPageToken(), Offset: 1}},
			{"offset", "range", &bookingv1.ListEventsRequest{Offset: -1}},
			{"order", "enum", &bookingv1.ListEventsRequest{Order: 99}},
			{"type", "enum", &bookingv1.ListEventsRequest{Type: 99}},
			{"status", "enum", &bookingv1.ListEventsRequest{Status: 99}},
			{"starts_from", "range", &bookingv1.ListEventsRequest{StartsFrom: &timestamppb.Timestamp{Seconds: 1 << 60}}},
			{"updated_since", "range", &bookingv1.ListEventsRequest{UpdatedSince: &timestamppb.Timestamp{Seconds: -1 << 60}}},
		} {
			_, err := w.events.ListEvents(w.ctx, tt.req)
			f := wantFault(t, err, fault.Invalid, fault.ReasonInvalidParameter)
			if f.Fields[0].Field != tt.field || f.Fields[0].Rule != tt.rule {
				t.Errorf("got %+v, want %s %s", f.Fields, tt.field, tt.rule)
			}
		}
	})
}

func TestListEventsFiltered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := func(days int) time.Time { return time.Date(2027, 1, 1+days, 9, 0, 0, 0, time.UTC) }
	var ids []string
	for i, e := range []struct {
		kind   bookingv1.EventType
		status bookingv1.EventStatus
		days   []int
	}{
		{bookingv1.EventType_EVENT_TYPE_CLASS, bookingv1.EventStatus_EVENT_STATUS_PUBLISHED, []int{0, 10, 20}},
		{bookingv1.EventType_EVENT_TYPE_WORKSHOP, bookingv1.EventStatus_EVENT_STATUS_DRAFT, []int{5}},
		{bookingv1.EventType_EVENT_TYPE_CLASS, bookingv1.EventStatus_EVENT_STATUS_DRAFT, []int{15}},
		{bookingv1.EventType_EVENT_TYPE_COURSE, bookingv1.EventStatus_EVENT_STATUS_PUBLISHED, []int{30}},
	} {
		req := &bookingv1.CreateEventRequest{Title: "Yoga", Type: e.kind, Status: e.status}
		for _, d := range e.days {
			req.Dates = append(req.Dates, &bookingv1.NewEventDate{StartsAt: timestamppb.New(at(d)), DurationMinutes: 60})
		}
		made := w.createEvent(w.ctx, req)
		ids = append(ids, made.GetId())
		w.exec(`update events set updated_at = $2 where id = $1`, idOf[id.Event](t, made.GetId()), at(i))
	}
	stamp := func(days int) *timestamppb.Timestamp { return timestamppb.New(at(days)) }
	for behaviour, tt := range map[string]struct {
		req  *bookingv1.ListEventsRequest
		want []int
	}{
		"of a type":                     {&bookingv1.ListEventsRequest{Type: bookingv1.EventType_EVENT_TYPE_CLASS}, []int{0, 2}},
		"in a state":                    {&bookingv1.ListEventsRequest{Status: bookingv1.EventStatus_EVENT_STATUS_DRAFT}, []int{1, 2}},
		"of a type and in a state":      {&bookingv1.ListEventsRequest{Type: bookingv1.EventType_EVENT_TYPE_CLASS, Status: bookingv1.EventStatus_EVENT_STATUS_DRAFT}, []int{2}},
		"in a state without events":     {&bookingv1.ListEventsRequest{Status: bookingv1.EventStatus_EVENT_STATUS_CANCELLED}, nil},
		"from a start":                  {&bookingv1.ListEventsRequest{StartsFrom: stamp(15)}, []int{0, 2, 3}},
		"before a start":                {&bookingv1.ListEventsRequest{StartsBefore: stamp(15)}, []int{0, 1}},
		"with a date between two times": {&bookingv1.ListEventsRequest{StartsFrom: stamp(11), StartsBefore: stamp(19)}, []int{2}},
		"changed since":                 {&bookingv1.ListEventsRequest{UpdatedSince: stamp(2)}, []int{2, 3}},
	} {
		t.Run("a list "+behaviour+" contains and counts only matching events, in any order", func(t *testing.T) {
			var want []string
			for _, n := range tt.want {
				want = append(want, ids[n])
			}
			for order := range bookingv1.EventOrder_name {
				req := proto.Clone(tt.req).(*bookingv1.ListEventsRequest)
				req.Order, req.PageSize = bookingv1.EventOrder(order), 1
				got := w.walk(req)
				slices.Sort(got)
				resp, err := w.events.ListEvents(w.ctx, req)
				if err != nil || resp.GetTotal() != int64(len(want)) || !slices.Equal(got, want) {
					t.Errorf("order %d: %v of %d, %v", order, got, resp.GetTotal(), err)
				}
			}
		})
	}
	t.Run("returns events with their dates on request, as GetEvent does", func(t *testing.T) {
		resp, err := w.events.ListEvents(w.ctx, &bookingv1.ListEventsRequest{WithDates: true})
		if err != nil || len(resp.GetEvents()) != 4 {
			t.Fatalf("got %v, %v", resp, err)
		}
		for _, e := range resp.GetEvents() {
			if !proto.Equal(e, w.getEvent(e.GetId())) || len(e.GetDates()) == 0 {
				t.Errorf("got %v", e)
			}
		}
	})
}

func TestListEventsWhileTheyChange(t *testing.T) {
	t.Parallel()
	t.Run("following a cursor returns each event once, while others add and delete events (invariant 14)", func(t *testing.T) {
		w := newWorld(t)
		var stay []string
		var leave []*bookingv1.Event
		for i := range 60 {
			e := w.event(w.ctx, nil)
			if i%3 == 0 {
				leave = append(leave, e)
			} else {
				stay = append(stay, e.GetId())
			}
		}
		var over atomic.Bool
		together(4, func(n int) {
			switch n {
			case 0:
				for _, e := range leave {
					if _, err := w.events.DeleteEvent(w.ctx, &bookingv1.DeleteEventRequest{Id: e.GetId()}); err != nil {
						t.Error(err)
					}
				}
				over.Store(true)
			case 1:
				for !over.Load() {
					w.event(w.ctx, nil)
				}
			default:
				order := []bookingv1.EventOrder{bookingv1.EventOrder_EVENT_ORDER_CREATED, bookingv1.EventOrder_EVENT_ORDER_CREATED_DESC}[n-2]
				for !over.Load() {
					seen := map[string]int{}
					for _, e := range w.walk(&bookingv1.ListEventsRequest{Order: order, PageSize: 7}) {
						seen[e]++
						if seen[e] > 1 {
							t.Errorf("%s twice", e)
						}
					}
					for _, e := range stay {
						if seen[e] != 1 {
							t.Errorf("%s is missing", e)
						}
					}
				}
			}
		})
		resp, err := w.events.ListEvents(w.ctx, &bookingv1.ListEventsRequest{PageSize: 1})
		if n := one[int64](w, `select count(*) from events where deleted_at is null`); err != nil || resp.GetTotal() != n {
			t.Errorf("the total is %d, there are %d, %v", resp.GetTotal(), n, err)
		}
	})
}

// TestListEventsWithVeryManyDates reads pages whose dates do not fit in one message.
func TestListEventsWithVeryManyDates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var want []id.Event
	for _, n := range []int{3, 2, 0, 4, 1, 1, 1, 5} {
		dates := []*bookingv1.NewEventDate{}
		for i := range max(n, 1) {
			dates = append(dates, newDate(time.Duration(i+1)*time.Hour, nil))
		}
		e := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{
			Title: "Yoga", Dates: dates, PricingOptions: []*bookingv1.NewPricingOption{{Name: "Adult", Price: 1000}},
		})
		want = append(want, idOf[id.Event](t, e.GetId()))
		if n == 0 {
			w.exec(`delete from event_dates where event_id = $1`, want[2])
		}
	}
	for most := 6; most < 20; most++ {
		var got []id.Event
		q := &store.EventQuery{Page: page.Page{Order: store.EventsByID(), Size: 5}, WithDates: true, MostDates: most}
		for {
			list, more, total, err := w.server.store.Events(t.Context(), w.company, q)
			if err != nil || total != int64(len(want)) || len(list) == 0 || len(list) > 5 {
				t.Fatalf("got %d of %d events, %v", len(list), total, err)
			}
			for i := range list {
				got = append(got, list[i].ID)
				if n := one[int](w, `select count(*) from event_dates where event_id = $1`, list[i].ID); len(list[i].Dates) != n {
					t.Errorf("at most %d dates: event %d has %d of %d", most, len(got), len(list[i].Dates), n)
				}
			}
			if !more {
				break
			}
			after := q.Next(&list[len(list)-1])
			q.Page.After = &after
		}
		if !slices.Equal(got, want) {
			t.Errorf("at most %d dates: got %v\nwant %v", most, got, want)
		}
	}
}
