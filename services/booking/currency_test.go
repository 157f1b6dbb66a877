package booking

import (
	"testing"
	"time"

	"reservation.dev/platform/money"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// The database has its own list of currencies.
func TestEveryCurrencyCanBePaid(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.customer(w.company, "Ann")
	for _, currency := range money.Currencies() {
		e := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{
			Title: "Yoga", Dates: []*bookingv1.NewEventDate{newDate(time.Hour, nil)},
			PricingOptions: []*bookingv1.NewPricingOption{{Name: "Adult", Price: 1200, Currency: currency, TaxRateBasisPoints: 2000}},
		})
		paid := w.mustBook(w.ctx, ann, e, 1).GetBookings()[0].GetCard()
		if paid.GetCurrency() != currency || paid.GetGross() != 1200 {
			t.Errorf("%s: got %v", currency, paid)
		}
	}
}
