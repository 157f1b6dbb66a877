package booking

import (
	"slices"
	"testing"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

func TestEventsOfADiscountCode(t *testing.T) {
	w := newWorld(t)
	own, deleted := w.event(w.ctx, nil).GetId(), w.event(w.ctx, nil).GetId()
	theirs := w.event(w.as(id.New[id.Company]()), nil).GetId()
	if _, err := w.events.DeleteEvent(w.ctx, &bookingv1.DeleteEventRequest{Id: deleted}); err != nil {
		t.Fatal(err)
	}
	tooMany := make([]string, 101)
	for i := range tooMany {
		tooMany[i] = "malformed"
	}
	for name, tt := range map[string]struct {
		events []string
		want   []string // fields at fault, with their rules
	}{
		"an event of the company":                   {[]string{own}, nil},
		"no event, which means all":                 {nil, nil},
		"an event that does not exist":              {[]string{own, id.New[id.Event]().String()}, []string{"event_ids[1] exists"}},
		"an event that was deleted":                 {[]string{deleted}, []string{"event_ids[0] exists"}},
		"an event of another company":               {[]string{theirs}, []string{"event_ids[0] exists"}},
		"an identifier of something else":           {[]string{id.New[id.Customer]().String()}, []string{"event_ids[0] exists"}},
		"a malformed and an empty one":              {[]string{"x", own, ""}, []string{"event_ids[0] exists", "event_ids[2] exists"}},
		"the zero identifier":                       {[]string{id.Event{}.String()}, []string{"event_ids[0] exists"}},
		"one event twice":                           {[]string{own, own}, []string{"event_ids[1] unique"}},
		"one more than the most, and all malformed": {tooMany, []string{"event_ids max_items"}},
	} {
		t.Run(name, func(t *testing.T) {
			req := percent(id.New[id.DiscountCode]().String(), 1000)
			req.EventIds = tt.events
			made, err := w.discounts.CreateDiscountCode(w.ctx, req)
			var got []string
			if f := fault.From(err); f != nil {
				for _, field := range f.Fields {
					got = append(got, field.Field+" "+field.Rule)
				}
			}
			if !slices.Equal(got, tt.want) || (err != nil) != (tt.want != nil) {
				t.Errorf("got %v, %v", made, err)
			}
		})
	}
}
