package message

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/money"
	"reservation.dev/platform/resource"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// registrationCreated is registration.created: a booking is confirmed.
func registrationCreated() kind[*bookingv1.BookingConfirmed] {
	return kind[*bookingv1.BookingConfirmed]{
		event: webhookv1.EventType_EVENT_TYPE_REGISTRATION_CREATED, read: readRegistration, sample: sampleBooking,
	}
}

func readRegistration(e *bookingv1.BookingConfirmed) (*Draft, error) {
	snapshot := e.GetBooking()
	paid, err := paymentOf(snapshot.GetBooking())
	if err != nil {
		return nil, err
	}
	return &Draft{
		Customers: customersOfBooking(snapshot), NeedsCurrency: paid.method == money.MethodPass,
		data: func(r Records) ([]byte, error) {
			if paid.method == money.MethodPass {
				paid.currency = r.Currency
			}
			return registrationData(snapshot, paid), nil
		},
	}, nil
}

// registrationData shows the customer who has the spaces, as Interface B does.
func registrationData(s *bookingv1.BookingSnapshot, paid payment) []byte {
	b := s.GetBooking()
	customer := s.GetPurchaser()
	if b.GetBoughtFor() != nil {
		customer = b.GetBoughtFor()
	}
	var o object
	o.text("registrationId", publicID("reg_", b.GetId()))
	o.person(personOf(customer))
	o.text("eventId", b.GetEventId())
	o.text("eventTitle", b.GetEventTitle())
	o.instant("eventDate", b.GetStartsAt().AsTime())
	o.number("spots", int64(b.GetSpaces()))
	o.amount("totalPaid", paid.gross)
	o.text("currency", paid.currency)
	o.text("paymentMethod", paid.method)
	o.textOrNull("passUsed", paid.pass)
	return o.end()
}

// payment is the price of a booking and how it was paid.
type payment struct {
	method, pass string
	currency     string
	gross        int64 // minor units
}

// paymentOf returns how a booking was paid. For a booking with a pass nothing is paid; the amount
// is in the company's currency, which the booking does not name.
func paymentOf(b *bookingv1.Booking) (payment, error) {
	switch p := b.GetPayment().(type) {
	case *bookingv1.Booking_Card:
		return payment{method: resource.PaymentMethodName(p.Card.GetMethod()), currency: p.Card.GetCurrency(), gross: p.Card.GetGross()}, nil
	case *bookingv1.Booking_Pass:
		return payment{method: money.MethodPass, pass: p.Pass.GetCustomerPassId()}, nil
	}
	return payment{}, fmt.Errorf("booking %s has no payment", b.GetId())
}

// sampleBooking is a workshop booked by card.
func sampleBooking(now time.Time) *bookingv1.BookingConfirmed {
	buyer := samplePerson()
	return &bookingv1.BookingConfirmed{Booking: &bookingv1.BookingSnapshot{
		Purchaser: &bookingv1.CustomerReference{Id: buyer.ID, FirstName: buyer.FirstName, LastName: buyer.LastName, Email: buyer.Email},
		Booking: &bookingv1.Booking{
			Id: "booking_" + sampleSuffix, Spaces: 2, EventId: "evt_" + sampleSuffix, EventTitle: "Sample workshop",
			EventType: bookingv1.EventType_EVENT_TYPE_WORKSHOP, StartsAt: sampleStart(now),
			Payment: &bookingv1.Booking_Card{Card: &bookingv1.CardPayment{Currency: "GBP", Gross: 2550, Net: 2125}},
		},
	}}
}

// sampleStart is 18:00 in a week.
func sampleStart(now time.Time) *timestamppb.Timestamp {
	return timestamppb.New(now.UTC().Truncate(24 * time.Hour).Add(7*24*time.Hour + 18*time.Hour))
}
