package booking

import (
	"testing"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

func TestPricesOfAppointmentDates(t *testing.T) { // invariant 34
	t.Parallel()
	p := newParlour(t)
	hour := p.reserve("2030-01-07T10:00", by(p.lea)).GetBooking().GetEventDateId()
	lines := func(date, option string) []*bookingv1.TransactionLine {
		return []*bookingv1.TransactionLine{{EventDateId: date, PricingOptionId: option, Spaces: 1}}
	}
	buy := func(option string) error {
		_, err := p.bookings.CreateTransaction(p.ctx, &bookingv1.CreateTransactionRequest{PurchaserId: p.ben.String(), Lines: lines(hour, option)})
		return err
	}
	hold := func(option string) error {
		_, err := p.bookings.HoldPlaces(p.ctx, &bookingv1.HoldPlacesRequest{PurchaserId: p.ben.String(), Lines: lines(hour, option)})
		return err
	}
	for name, try := range map[string]func(option string) error{"a transaction": buy, "a hold": hold} {
		t.Run(name+" at the price of another length is refused", func(t *testing.T) {
			if got := broken(t, try(p.half)); got != "lines[0].pricing_option_id length" {
				t.Errorf("got %s", got)
			}
		})
		t.Run(name+" without a price takes the only one of the length", func(t *testing.T) {
			wantFault(t, try(""), fault.Refused, model.ReasonEventFull)
			wantFault(t, try(p.full), fault.Refused, model.ReasonEventFull)
		})
	}
	t.Run("a line with only the event is refused", func(t *testing.T) {
		_, err := p.bookings.CreateTransaction(p.ctx, &bookingv1.CreateTransactionRequest{PurchaserId: p.ben.String(),
			Lines: []*bookingv1.TransactionLine{{EventId: p.massage.GetEventId(), PricingOptionId: p.full, Spaces: 1}}})
		if f := wantFault(t, err, fault.Refused, model.ReasonAppointmentEvent); f.Meta["appointment_type_id"] != p.massage.GetId() {
			t.Errorf("got %v", f.Meta)
		}
	})
	t.Run("a waitlist entry at the price of another length is refused, and without a price it takes the only one", func(t *testing.T) {
		join := func(option string) (*bookingv1.JoinWaitlistResponse, error) {
			return p.waitlist.JoinWaitlist(p.ctx, &bookingv1.JoinWaitlistRequest{CustomerId: p.ben.String(), EventDateId: hour, Mode: byBooking, Spaces: 1, PricingOptionId: option})
		}
		_, err := join(p.half)
		if got := broken(t, err); got != "pricing_option_id length" {
			t.Errorf("got %s", got)
		}
		_, err = join(id.New[id.PricingOption]().String())
		wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
		resp, err := join("")
		if err != nil || resp.GetEntry().GetPricingOptionId() != p.full {
			t.Errorf("got %v, %v", resp, err)
		}
	})
	t.Run("the lowest price of a date is that of its length", func(t *testing.T) {
		if got := p.getDate(hour).GetLowestPrice(); got != 5000 {
			t.Errorf("got %d", got)
		}
	})
	p.finish()
}
