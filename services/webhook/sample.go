package webhook

import (
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// sampleData is the data of a test delivery: what the builders of real payloads
// make of a made-up purchase, at the time now.
func sampleData(event string, now time.Time) ([]byte, error) {
	const suffix = "01kg0000000000000000000000"
	starts := now.UTC().Truncate(24 * time.Hour).Add(7*24*time.Hour + 18*time.Hour)
	snapshot := &bookingv1.BookingSnapshot{
		Purchaser: &bookingv1.CustomerReference{Id: "cust_" + suffix, FirstName: "Ada", LastName: "Example", Email: "ada@example.com"},
		Booking: &bookingv1.Booking{
			Id: "booking_" + suffix, Spaces: 2, EventId: "evt_" + suffix, EventTitle: "Sample workshop",
			EventType: bookingv1.EventType_EVENT_TYPE_WORKSHOP, StartsAt: timestamppb.New(starts),
			Payment: &bookingv1.Booking_Card{Card: &bookingv1.CardPayment{Currency: "GBP", Gross: 2550, Net: 2125}},
		},
	}
	switch event {
	case eventRegistrationCreated:
		return registrationCreated(snapshot, "GBP")
	case eventEventPurchased:
		return eventPurchased(snapshot), nil
	}
	return passPurchased(&passv1.CustomerPass{
		Id: "cp_" + suffix, CustomerId: "cust_" + suffix, PassTypeId: "pass_" + suffix, RemainingUses: 10,
		StartDate: now.UTC().Format(time.DateOnly), ExpiryDate: now.UTC().AddDate(0, 0, 90).Format(time.DateOnly),
		Purchase: &passv1.PassPurchase{Gross: proto.Int64(11000), Currency: "GBP", Method: methodCard},
	}, &passv1.PassType{Id: "pass_" + suffix, Title: "Sample pass", TotalUses: 10, Currency: "GBP"},
		person{firstName: "Ada", lastName: "Example", email: "ada@example.com"}), nil
}
