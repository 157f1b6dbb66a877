package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"reservation.dev/devkit/testkit/openapitest"
	"reservation.dev/platform/bus"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// validate holds a body to the schema of its event.
func validate(t *testing.T, event string, body []byte) {
	t.Helper()
	schema := openapitest.Schema(t, "../../docs/webhooks/"+event+".schema.json")
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	if err := schema.Validate(v); err != nil {
		t.Errorf("%s: %v", body, err)
	}
}

// golden is an event as its producer's test wrote it.
func golden(t *testing.T, path, subject string, m proto.Message) bus.Message {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := protojson.Unmarshal(text, m); err != nil {
		t.Fatal(err)
	}
	payload, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	event, err := id.ParseUUID("01kg0000000000000000000009")
	if err != nil {
		t.Fatal(err)
	}
	return bus.Message{ID: event, Subject: subject, Payload: payload, OccurredAt: time.Date(2026, 1, 31, 10, 34, 5, 999, time.FixedZone("", 3600))}
}

func TestPayloads(t *testing.T) {
	in := NewIntake(nil, others{})
	made := func(e bus.Message) map[string]string {
		msgs, err := in.messages(context.Background(), []bus.Message{e})
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]string{}
		for _, m := range msgs {
			validate(t, m.Event, m.Body)
			out[m.Event] = string(m.Body)
		}
		return out
	}
	booked := golden(t, "../booking/testdata/booking_confirmed.json", subjectBookingConfirmed, &bookingv1.BookingConfirmed{})
	t.Run("of a workshop by card for somebody else (9)", func(t *testing.T) {
		got := made(booked)
		const registration = `{"id":"msg_01kg0000000000000000000009","event":"registration.created","timestamp":"2026-01-31T09:34:05Z","data":{` +
			`"registrationId":"reg_01kg0000000000000000000008","customerId":"cust_01kg000000000000000000007j","customerEmail":"max@example.com",` +
			`"customerName":"Max Müller","eventId":"evt_01kg0000000000000000000001","eventTitle":"Sunrise yoga","eventDate":"2026-03-29T08:30:00Z",` +
			`"spots":2,"totalPaid":24,"currency":"GBP","paymentMethod":"CARD","passUsed":null}}`
		if got[eventRegistrationCreated] != registration {
			t.Errorf("got  %s\nwant %s", got[eventRegistrationCreated], registration)
		}
		const purchase = `"event":"event.purchased","timestamp":"2026-01-31T09:34:05Z","data":{"purchaseId":"pur_01kg0000000000000000000008",` +
			`"customerId":"cust_01kg000000000000000000007h","customerEmail":"zoe@example.com","customerName":"Zoë O'Brien",` +
			`"eventId":"evt_01kg0000000000000000000001","eventTitle":"Sunrise yoga","eventDate":"2026-03-29T08:30:00Z","tickets":2,"totalPaid":24,` +
			`"currency":"GBP","paymentMethod":"CARD","discountCode":null}}`
		if body := got[eventEventPurchased]; !strings.HasSuffix(body, purchase) || strings.Contains(body, "01kg0000000000000000000009") {
			t.Errorf("got %s", body)
		}
		if again := made(booked); again[eventEventPurchased] != got[eventEventPurchased] {
			t.Error("the same event made another message")
		}
	})
	t.Run("of a purchase by pass", func(t *testing.T) {
		var confirmed bookingv1.BookingConfirmed
		if err := proto.Unmarshal(booked.Payload, &confirmed); err != nil {
			t.Fatal(err)
		}
		pass := id.New[id.CustomerPass]().String()
		confirmed.GetBooking().GetBooking().Payment = &bookingv1.Booking_Pass{Pass: &bookingv1.PassPayment{CreditsUsed: 2, CustomerPassId: pass}}
		byPass := booked
		byPass.Payload, _ = proto.Marshal(&confirmed)
		got := made(byPass)
		if want := `"totalPaid":0,"currency":"EUR","paymentMethod":"PASS","passUsed":"` + pass + `"}}`; len(got) != 1 || !strings.HasSuffix(got[eventRegistrationCreated], want) {
			t.Errorf("got %s, want it to end %s", got, want)
		}
	})
	t.Run("of a pass that was bought, and of one that was free", func(t *testing.T) {
		var assigned passv1.CustomerPassAssigned
		e := golden(t, "../pass/testdata/customer_pass_assigned.json", subjectCustomerPassAssigned, &assigned)
		const want = `"data":{"customerPassId":"cp_01kg0000000000000000000002","customerId":"cust_01kg000000000000000000006c","customerEmail":"zoe@example.com",` +
			`"customerName":"Zoë O'Brien","passId":"pass_01kg0000000000000000000001","passTitle":"Ten Classes","totalUses":10,"remainingUses":10,` +
			`"startDate":"2026-01-31","expiryDate":"2026-02-28","totalPaid":110,"currency":"GBP","paymentMethod":"CARD"}}`
		if got := made(e)[eventPassPurchased]; !strings.HasSuffix(got, want) {
			t.Errorf("got %s, want it to end %s", got, want)
		}
		assigned.GetCustomerPass().Purchase = nil
		e.Payload, _ = proto.Marshal(&assigned)
		if got := made(e)[eventPassPurchased]; !strings.HasSuffix(got, `"totalPaid":0,"currency":"GBP","paymentMethod":"FREE"}}`) {
			t.Errorf("got %s", got)
		}
	})
	t.Run("samples are like real ones", func(t *testing.T) {
		for _, event := range eventNames() {
			data, err := sampleData(event, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			validate(t, event, newEnvelope(id.New[id.WebhookMessage](), event, time.Now(), true, data))
		}
	})
	t.Run("amounts are decimal numbers", func(t *testing.T) {
		for minor, want := range map[int64]string{0: "0", 5: "0.05", 50: "0.5", 2500: "25", 2551: "25.51", 123456789: "1234567.89", -5: "-0.05"} {
			var o object
			o.amount("n", minor)
			if got := string(o.end()); got != `{"n":`+want+`}` || !json.Valid([]byte(got)) {
				t.Errorf("%d is %s, want %s", minor, got, want)
			}
		}
	})
}
