package message

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

func TestBookings(t *testing.T) {
	t.Parallel()
	booked := golden(t, "../../booking/testdata/booking_confirmed.json", "booking.v1.booking_confirmed", &bookingv1.BookingConfirmed{})
	t.Run("of a workshop by card for another person (9)", func(t *testing.T) {
		got := messages(t, booked)
		const registration = `{"id":"msg_01kg0000000000000000000009","event":"registration.created","timestamp":"2026-01-31T09:34:05Z","data":{` +
			`"registrationId":"reg_01kg0000000000000000000008","customerId":"cust_01kg000000000000000000007j","customerEmail":"max@example.com",` +
			`"customerName":"Max Müller","eventId":"evt_01kg0000000000000000000001","eventTitle":"Sunrise yoga","eventDate":"2026-03-29T08:30:00Z",` +
			`"spots":2,"totalPaid":24,"currency":"GBP","paymentMethod":"CARD","passUsed":null}}`
		if got["registration.created"] != registration {
			t.Errorf("got  %s\nwant %s", got["registration.created"], registration)
		}
		const purchase = `"event":"event.purchased","timestamp":"2026-01-31T09:34:05Z","data":{"purchaseId":"pur_01kg0000000000000000000008",` +
			`"customerId":"cust_01kg000000000000000000007h","customerEmail":"zoe@example.com","customerName":"Zoë O'Brien",` +
			`"eventId":"evt_01kg0000000000000000000001","eventTitle":"Sunrise yoga","eventDate":"2026-03-29T08:30:00Z","tickets":2,"totalPaid":24,` +
			`"currency":"GBP","paymentMethod":"CARD","discountCode":null}}`
		if body := got["event.purchased"]; !strings.HasSuffix(body, purchase) || strings.Contains(body, "01kg0000000000000000000009") {
			t.Errorf("got %s", body)
		}
		if again := messages(t, booked); again["event.purchased"] != got["event.purchased"] {
			t.Error("the same event created a different message")
		}
	})
	t.Run("of a booking by pass", func(t *testing.T) {
		var confirmed bookingv1.BookingConfirmed
		if err := proto.Unmarshal(booked.Payload, &confirmed); err != nil {
			t.Fatal(err)
		}
		pass := id.New[id.CustomerPass]().String()
		confirmed.GetBooking().GetBooking().Payment = &bookingv1.Booking_Pass{Pass: &bookingv1.PassPayment{CreditsUsed: 2, CustomerPassId: pass}}
		byPass := booked
		byPass.Payload, _ = proto.Marshal(&confirmed)
		got := messages(t, byPass)
		if want := `"totalPaid":0,"currency":"EUR","paymentMethod":"PASS","passUsed":"` + pass + `"}}`; len(got) != 1 || !strings.HasSuffix(got["registration.created"], want) {
			t.Errorf("got %s, want it to end %s", got, want)
		}
	})
}
