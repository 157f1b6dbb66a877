package webhook

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

func TestTestMode(t *testing.T) { // invariant 13
	t.Parallel()
	w := open(t, quick())
	live := w.company
	const mode = `"mode":"test"`
	check := func(t *testing.T, where, text string, isTest bool) {
		t.Helper()
		if strings.Contains(text, mode) != isTest {
			t.Errorf("%s: %s", where, text)
		}
	}
	for name, isTest := range map[string]bool{"in test mode, every message says so": true, "in live mode, no message has a mode": false} {
		t.Run(name, func(t *testing.T) {
			w.company = live
			if isTest {
				w.company = live.Test()
			}
			r := newReceiver(t, nil)
			endpoint := w.endpoint(r.URL).GetEndpoint().GetId()
			w.consume(classBooking(w.company))
			r.wait(t, 1)
			delivered := w.delivery(endpoint, webhookv1.DeliveryState_DELIVERY_STATE_DELIVERED)
			test, err := w.client.SendTest(w.as(w.company), &webhookv1.SendTestRequest{EndpointId: endpoint, Event: passPurchase})
			if err != nil {
				t.Fatal(err)
			}
			check(t, "the response to a test", string(test.GetBody()), isTest)
			if _, err := w.client.ReplayDelivery(w.as(w.company), &webhookv1.ReplayDeliveryRequest{Id: delivered.GetDelivery().GetId()}); err != nil {
				t.Fatal(err)
			}
			r.wait(t, 3)
			for i := range 3 {
				got := r.at(i)
				check(t, "the body", string(got.body), isTest)
				check(t, "the JWT", claimsOf(t, got.header), isTest)
			}
			list, err := w.client.ListMessages(w.as(w.company), &webhookv1.ListMessagesRequest{})
			if err != nil || len(list.GetMessages()) != 1 {
				t.Fatalf("%v %v", list, err)
			}
			check(t, "the list of messages", string(list.GetMessages()[0].GetBody()), isTest)
		})
	}
}

// claimsOf returns the claims of a request's JWT as text.
func claimsOf(t *testing.T, header http.Header) string {
	t.Helper()
	parts := strings.Split(header.Get("X-Service-Signature"), ".")
	if len(parts) != 3 {
		t.Fatalf("the JWT has %d parts", len(parts))
	}
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	return string(claims)
}
