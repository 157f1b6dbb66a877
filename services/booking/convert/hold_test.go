package convert

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// largestHold returns a hold with the most bookings, each with the longest texts.
func largestHold() *model.Hold {
	wide := func(n int) string { return strings.Repeat("\U0001F9D8", n) }
	h := &model.Hold{Status: model.HoldActive, ExpiresAt: time.Now()}
	h.ID, h.Purchaser.ID = id.New[id.Transaction](), id.New[id.Customer]()
	for range 200 {
		h.Bookings = append(h.Bookings, model.Booking{
			ID: id.New[id.Booking](), Spaces: 1000, Option: id.New[id.PricingOption](),
			BoughtFor: &model.Customer{ID: id.New[id.Customer](), FirstName: wide(100), LastName: wide(100), Email: strings.Repeat("a", 254)},
			Date: model.BookedDate{ID: id.New[id.EventDate](), StartsAt: time.Now(), Timezone: "America/Argentina/Buenos_Aires",
				Minutes: 60, Event: id.New[id.Event](), EventTitle: wide(200), EventType: model.Class},
			Price: model.MaxPrice, ManagedBy: id.New[id.Customer](),
			Payment: model.Payment{Method: model.Card, Currency: "GBP", Gross: model.MaxPrice, Net: model.MaxPrice, Discount: model.MaxPrice, Code: strings.Repeat("C", 64)},
		})
	}
	return h
}

func TestHolds(t *testing.T) { // invariant 16
	h := largestHold()
	t.Run("the event of the largest hold fits in a message", func(t *testing.T) {
		event := &bookingv1.HoldExpired{Hold: Hold(h.Ended(model.HoldExpired)), Previous: Hold(h)}
		const most = 1<<20 - 16<<10 // of an event
		if size := proto.Size(event); size > most {
			t.Errorf("%d bytes, %d are possible", size, most)
		}
	})
	t.Run("an ended hold is kept without names, and read with the current ones", func(t *testing.T) {
		ended := h.Ended(model.HoldReleased)
		content, err := EndedHold(ended)
		if err != nil || strings.Contains(string(content), "@") || strings.Count(string(content), "\U0001F9D8") != 200*200 {
			t.Fatalf("got %.300s, %v", content, err)
		}
		recipients := map[id.Customer]model.Customer{}
		for i := range h.Bookings {
			c := h.Bookings[i].BoughtFor
			c.FirstName = fmt.Sprint("New", i)
			recipients[c.ID] = *c
		}
		got, err := KeptHold(content, recipients)
		if want := Hold(ended); err != nil || !proto.Equal(got, want) || got.GetVersion() != 1 {
			t.Errorf("got %.300v, %v\nwant %.300v", got, err, want)
		}
	})
	t.Run("a hold that the previous release ended has a price, and its purchaser manages it", func(t *testing.T) {
		content := `{"purchaser_id": "cust_01kg000000000000000000007h", "bookings": [{"card": {"gross": "1200"}}]}`
		got, err := KeptHold([]byte(content), nil)
		if err != nil || got.GetBookings()[0].GetPrice() != 1200 || got.GetBookings()[0].GetManagedById() != got.GetPurchaserId() {
			t.Errorf("got %v, %v", got, err)
		}
	})
}
