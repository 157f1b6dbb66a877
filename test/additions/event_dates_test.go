package additions

import (
	"slices"
	"testing"
	"time"
)

func testEventDates(t *testing.T, p *platform) {
	c := p.newCaller(t)
	ada, ben := c.customer(t, "Ada", "Byron"), c.customer(t, "Ben", "King")
	clay := c.event(t, object{"title": "Clay", "type": "workshop", "location": "Studio 2", "startsAt": in(5 * day), "capacity": 2, "pricingOptions": []object{
		{"name": "Seat", "price": 40, "currency": "GBP"}, {"name": "Student", "price": 25.5, "currency": "GBP"},
	}})
	yoga := c.event(t, object{"title": "Yoga", "startsAt": in(3 * day), "capacity": nil})
	student := object{"pricingOptionId": text(clay, "pricingOptions.1.id")}
	clayDate, yogaDate := text(clay, "dates.0.id"), text(yoga, "dates.0.id")

	t.Run("a date has what a calendar shows", func(t *testing.T) {
		c.register(t, clay, ada, student)
		has(t, c.get(t, path(clayDate)), object{
			"eventId": clay["id"], "title": "Clay", "type": "workshop", "location": "Studio 2", "startsAt": clay["startsAt"], "duration": 60,
			"timezone": "Europe/London", "capacity": 2, "spotsTaken": 1, "spotsAvailable": 1, "waitlistLength": 0, "lowestPrice": 25.5, "currency": "GBP",
			"status": "scheduled", "available": true,
		})
		has(t, c.get(t, path(yogaDate)), object{"title": "Yoga", "capacity": nil, "spotsAvailable": nil, "available": true})
	})
	t.Run("the list is ordered by start and can be filtered", func(t *testing.T) {
		if got, want := ids(c.list(t, "/event-dates")), []string{yogaDate, clayDate}; !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		c.lists(t, "/event-dates?startsFrom="+in(4*day), clayDate)
		c.lists(t, "/event-dates?startsBefore="+in(4*day), yogaDate)
		c.lists(t, "/event-dates?startsFrom="+text(yoga, "startsAt")+"&startsBefore="+text(clay, "startsAt"), yogaDate)
		c.lists(t, "/event-dates?eventId="+text(clay, "id"), clayDate)
		c.lists(t, "/event-dates?type=workshop", clayDate)
	})
	t.Run("available=true leaves full dates out, and the waitlist is counted", func(t *testing.T) {
		full := c.register(t, clay, ben, student)
		c.lists(t, "/event-dates?available=true", yogaDate)
		entry := c.create(t, path(clayDate)+"/waitlist", with(student, object{"customerId": ben}))
		has(t, c.get(t, path(clayDate)), object{"waitlistLength": 1, "available": false, "spotsAvailable": 0})
		c.delete(t, path(text(entry, "id")))
		c.do(t, path(text(full, "id"))+"/cancel", nil)
		c.lists(t, "/event-dates?available=true", yogaDate, clayDate)
	})
	t.Run("a date can be added and changed", func(t *testing.T) {
		added := c.create(t, path(text(clay, "id"))+"/dates", object{"startsAt": in(12 * day), "duration": 90, "capacity": 5})
		has(t, added, object{"eventId": clay["id"], "title": "Clay", "duration": 90, "capacity": 5})
		later := in(13 * day)
		has(t, c.change(t, text(added, "id"), object{"startsAt": later, "capacity": 6}), object{"startsAt": later, "duration": 90, "capacity": 6, "spotsAvailable": 6})
		c.refuses(t, "VALIDATION_ERROR", patch, path(text(added, "id")), object{"capacity": -1})
	})
	t.Run("a cancelled date cancels its registrations, and everything paid is due", func(t *testing.T) {
		// An hour before the start, a cancellation by the customer would be late.
		soon := c.event(t, object{"startsAt": in(time.Hour), "freeCancellationMinutes": 720})
		registration, soonDate := c.register(t, soon, ada, nil), text(soon, "dates.0.id")
		has(t, c.do(t, path(soonDate)+"/cancel", object{"reason": "The kiln is broken."}), object{"status": "cancelled", "available": false, "spotsTaken": 0})
		has(t, c.get(t, path(text(registration, "id"))), object{
			"status": "cancelled", "refundDue": 40, "late": false, "cancellationReason": "The kiln is broken.",
		})
		c.refuses(t, "ALREADY_CANCELLED", post, path(soonDate)+"/cancel", nil)
		c.refuses(t, "EVENT_CANCELLED", post, path(text(soon, "id"))+"/registrations", object{"customerId": ben, "eventDateId": soonDate})
	})
}
