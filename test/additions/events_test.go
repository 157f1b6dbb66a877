package additions

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func testEvents(t *testing.T, p *platform) {
	c := p.newCaller(t)
	customer := c.customer(t, "Ada", "Byron")

	t.Run("a list item has at most three dates to come, the next date and the number of dates", func(t *testing.T) {
		weekly := c.event(t, with(recurs("FREQ=WEEKLY;COUNT=5"), object{"title": "Weekly"}))
		item := c.list(t, "/events")[0]
		has(t, item, object{"title": "Weekly", "dateCount": 5, "nextDate.id": at(weekly, "dates.0.id"), "nextDate.startsAt": weekly["startsAt"], "datesTruncated": true})
		if got := len(item["dates"].([]any)); got != 3 {
			t.Errorf("%d dates", got)
		}
		has(t, weekly, object{"dateCount": 5, "datesTruncated": false})
		c.do(t, path(text(weekly, "dates.0.id"))+"/cancel", nil)
		has(t, c.get(t, path(text(weekly, "id"))), object{"dateCount": 5, "nextDate.id": at(weekly, "dates.1.id"), "datesTruncated": false})
	})
	t.Run("a single event has at most 100 dates to come", func(t *testing.T) {
		daily := c.event(t, recurs("FREQ=DAILY;COUNT=120"))
		has(t, daily, object{"dateCount": 120, "datesTruncated": true})
		if got := len(daily["dates"].([]any)); got != 100 {
			t.Errorf("%d dates", got)
		}
		if diff := cmp.Diff(daily, c.Read(t, 200, put, path(text(daily, "id")), daily)); diff != "" {
			t.Errorf("PUT of what GET returned (-GET +answer): %s", diff)
		}
	})
	t.Run("capacity and spots count the dates to come", func(t *testing.T) {
		event := c.event(t, object{"startsAt": nil, "duration": nil, "capacity": nil, "dates": []object{
			{"startsAt": in(-7 * day), "duration": 60, "capacity": 100},
			{"startsAt": in(7 * day), "duration": 60, "capacity": 5},
			{"startsAt": in(14 * day), "duration": 60, "capacity": 6},
		}})
		has(t, event, object{"capacity": 11, "spotsTaken": 0, "spotsAvailable": 11})
		c.register(t, event, customer, object{"eventDateId": text(event, "dates.0.id"), "spots": 2})
		has(t, c.get(t, path(text(event, "id"))), object{"capacity": 11, "spotsTaken": 2, "spotsAvailable": 9})
	})
	t.Run("an event with a single date always counts it", func(t *testing.T) {
		has(t, c.event(t, object{"startsAt": in(-7 * day), "capacity": 4}), object{"capacity": 4, "spotsTaken": 0, "spotsAvailable": 4})
	})
	t.Run("dates that PUT leaves out stay", func(t *testing.T) {
		event := c.event(t, recurs("FREQ=WEEKLY;COUNT=3"))
		dates := event["dates"].([]any)
		event["title"], event["dates"] = "Glaze", dates[:1]
		changed := c.Read(t, 200, put, path(text(event, "id")), event)
		has(t, changed, object{"title": "Glaze", "dates": dates})
	})
	t.Run("an event can be deleted when nobody is registered", func(t *testing.T) {
		event := c.event(t, nil)
		at := path(text(event, "id"))
		registration := c.register(t, event, customer, nil)
		c.refuses(t, "EVENT_HAS_REGISTRATIONS", remove, at, nil)
		c.do(t, path(text(registration, "id"))+"/cancel", nil)
		has(t, c.delete(t, at), object{"id": event["id"], "deleted": true})
		c.Refused(t, 404, "NOT_FOUND", remove, at, nil)
	})
	t.Run("a page of 100 events of 52 dates is below 150 kB", func(t *testing.T) {
		busy := p.newCaller(t)
		for i := range 100 {
			busy.Read(t, 201, post, "/events", object{
				"title": fmt.Sprintf("Morning class %03d", i), "type": "class", "timezone": "Europe/London", "location": "Studio 2, first floor",
				"startsAt": fmt.Sprintf("%sT%02d:30:00", date(1+i/10), 8+i%10), "duration": 60, "capacity": 12, "recurrence": object{"rule": "FREQ=WEEKLY;COUNT=52"},
				"pricingOptions": []object{{"name": "Drop-in", "price": 12.5, "currency": "GBP", "credits": 1, "taxRate": 20}},
			})
		}
		answer := busy.Send(t, 200, get, "/events?perPage=100", nil)
		if got := len(busy.list(t, "/events?perPage=100")); got != 100 {
			t.Fatalf("%d events", got)
		}
		if got := len(answer.Body); got >= 150_000 {
			t.Errorf("the page has %d bytes", got)
		}
	})
}
