package gatewaya

import (
	"fmt"
	"slices"

	"reservation.dev/platform/money"
	"reservation.dev/platform/resource"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgeav1 "reservation.dev/proto/gen/reservation/edge/a/v1"
)

// The values of type and currency on Interface A.
const (
	typeEventBooking = "event-booking"
	typeEvent        = "event"
	typeEventDate    = "event_date"
	currencyCredits  = "CR"
)

func transactions(all []*bookingv1.Transaction) ([]*edgeav1.Transaction, error) {
	out := make([]*edgeav1.Transaction, len(all))
	for i, t := range all {
		var err error
		if out[i], err = transaction(t); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func transaction(t *bookingv1.Transaction) (*edgeav1.Transaction, error) {
	clock, err := clockOf(t.GetTimezone())
	if err != nil {
		return nil, err
	}
	out := &edgeav1.Transaction{
		Id: t.GetId(), Type: typeEventBooking, PurchaseDate: clock.local(t.GetPurchasedAt()),
		Bookings: make([]*edgeav1.Booking, 0, len(t.GetBookings())),
	}
	purchaser := customer(t.GetPurchaser())
	for _, b := range t.GetBookings() {
		converted, err := booking(b, purchaser)
		if err != nil {
			return nil, err
		}
		out.Bookings = append(out.Bookings, converted)
	}
	return out, nil
}

func booking(b *bookingv1.Booking, purchaser *edgeav1.Customer) (*edgeav1.Booking, error) {
	clock, err := clockOf(b.GetTimezone())
	if err != nil {
		return nil, err
	}
	paid, err := payment(b)
	if err != nil {
		return nil, err
	}
	return &edgeav1.Booking{
		Id: b.GetId(), Type: typeEventBooking, IsCancelled: b.GetIsCancelled(), IsRefunded: b.GetIsRefunded(),
		Spaces: b.GetSpaces(), PurchasedBy: purchaser, BoughtFor: customer(b.GetBoughtFor()),
		Event: &edgeav1.Event{
			Id: b.GetEventId(), Type: typeEvent, Name: b.GetEventTitle(),
			Date: &edgeav1.EventDate{
				Id: b.GetEventDateId(), Type: typeEventDate, Datetime: clock.local(b.GetStartsAt()),
				Tz: b.GetTimezone(), Duration: b.GetDurationMinutes(),
			},
		},
		PricingOption: &edgeav1.PricingOption{Id: b.GetPricingOptionId()},
		Payment:       paid,
	}, nil
}

// customer converts a customer reference. nil, which means that the purchaser attends, stays nil
// and is absent in the JSON.
func customer(c *bookingv1.CustomerReference) *edgeav1.Customer {
	if c == nil {
		return nil
	}
	return &edgeav1.Customer{
		Id: c.GetId(), Type: typeCustomer, Firstname: c.GetFirstName(), Lastname: c.GetLastName(), Email: c.GetEmail(),
	}
}

func payment(b *bookingv1.Booking) (*edgeav1.Payment, error) {
	switch p := b.GetPayment().(type) {
	case *bookingv1.Booking_Card:
		return moneyPayment(resource.PaymentMethodName(p.Card.GetMethod()), p.Card.GetCurrency(), p.Card.GetGross(), p.Card.GetNet()), nil
	case *bookingv1.Booking_Pass:
		return &edgeav1.Payment{Method: money.MethodPass, Currency: new(currencyCredits), CreditsUsed: &p.Pass.CreditsUsed}, nil
	}
	return nil, fmt.Errorf("booking %s: payment of type %T", b.GetId(), b.GetPayment())
}

// methodOtherCurrency is the method of payments in a currency that the member currency cannot have.
const methodOtherCurrency = "OTHER_CURRENCY"

// moneyPayment converts a payment with money. Clients know three values of currency, so a payment in another
// currency has a method of its own, and members of its own for the currency and the method.
func moneyPayment(method, currency string, gross, net int64) *edgeav1.Payment {
	p := &edgeav1.Payment{Method: method, Currency: &currency, Base100GrossPrice: &gross, Base100NetPrice: &net}
	if !slices.Contains(money.InterfaceA(), currency) {
		p.Method, p.Currency, p.PaymentMethod, p.CurrencyCode = methodOtherCurrency, nil, &method, &currency
	}
	return p
}
