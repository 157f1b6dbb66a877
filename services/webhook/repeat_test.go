package webhook

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/rpc"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

func TestRepeatedActions(t *testing.T) {
	t.Parallel()
	w := open(t, quick())
	who := w.as(w.company)
	r := newReceiver(t, nil)
	endpoint := w.endpoint(r.URL).GetEndpoint().GetId()
	w.bookings(3)
	r.wait(t, 3)
	w.settled()

	t.Run("a test with the same key is sent once, and its stored response has no signature", func(t *testing.T) {
		req := &webhookv1.SendTestRequest{EndpointId: endpoint, Event: webhookv1.EventType_EVENT_TYPE_PASS_PURCHASED}
		first, err := w.client.SendTest(rpc.WithIdempotencyKey(who, "test"), req)
		if err != nil || len(first.GetAttempt().GetRequestHeaders()) == 0 {
			t.Fatalf("got %v, %v", first, err)
		}
		again, err := w.client.SendTest(rpc.WithIdempotencyKey(who, "test"), req)
		if err != nil || again.GetDeliveryId() != first.GetDeliveryId() || len(again.GetAttempt().GetRequestHeaders()) != 0 {
			t.Errorf("got %v, %v", again, err)
		}
		first.Attempt.RequestHeaders = nil
		if !proto.Equal(first, again) || r.count() != 4 {
			t.Errorf("%d requests, got %v, then %v", r.count(), first, again)
		}
	})
	t.Run("a replay with the same key is sent once", func(t *testing.T) {
		before := r.count()
		req := &webhookv1.ReplayDeliveryRequest{Id: w.all(t, endpoint)[1]}
		first, err := w.client.ReplayDelivery(rpc.WithIdempotencyKey(who, "replay"), req)
		if err != nil || first.GetDelivery().GetId() != req.GetId() {
			t.Fatalf("got %v, %v", first, err)
		}
		r.wait(t, before+1)
		w.settled()
		again, err := w.client.ReplayDelivery(rpc.WithIdempotencyKey(who, "replay"), req)
		if err != nil || !proto.Equal(first, again) {
			t.Errorf("got %v, %v", again, err)
		}
		w.settled()
		if r.count() != before+1 {
			t.Errorf("%d requests", r.count()-before)
		}
	})
	t.Run("a replay of a filter without a count covers what matches now, once per key", func(t *testing.T) {
		before := r.count()
		f := &webhookv1.DeliveryFilter{EndpointId: endpoint, State: delivered}
		for range 2 {
			res, err := w.replayAll(who, "all", f, nil)
			if err != nil || res.GetReplayed() != 3 {
				t.Fatalf("got %v, %v", res, err)
			}
			r.wait(t, before+3)
			w.settled()
		}
		if r.count() != before+3 {
			t.Errorf("%d requests", r.count()-before)
		}
	})
}

func TestTotalsOfDeliveries(t *testing.T) {
	t.Parallel()
	w := open(t, quick())
	r := newReceiver(t, nil)
	first, second := w.endpoint(r.URL).GetEndpoint().GetId(), w.endpoint(r.URL).GetEndpoint().GetId()
	w.bookings(3)
	r.wait(t, 6)
	w.settled()
	list := func(req *webhookv1.ListDeliveriesRequest) *webhookv1.ListDeliveriesResponse {
		t.Helper()
		res, err := w.client.ListDeliveries(w.as(w.company), req)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	for _, tt := range []struct {
		name        string
		req         *webhookv1.ListDeliveriesRequest
		items       int
		total       int64
		hasNextPage bool
	}{
		{"counts only if it is asked to", &webhookv1.ListDeliveriesRequest{}, 6, 0, false},
		{"counts all pages", &webhookv1.ListDeliveriesRequest{WithTotal: true, PageSize: 4}, 4, 6, true},
		{"skips the deliveries before the offset", &webhookv1.ListDeliveriesRequest{WithTotal: true, PageSize: 4, Offset: 4}, 2, 6, false},
		{"counts the deliveries of an endpoint", &webhookv1.ListDeliveriesRequest{WithTotal: true, EndpointId: second}, 3, 3, false},
		{"counts the deliveries in a state", &webhookv1.ListDeliveriesRequest{WithTotal: true, EndpointId: first, State: failed}, 0, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := list(tt.req)
			if len(res.GetDeliveries()) != tt.items || res.GetTotal() != tt.total || (res.GetNextPageToken() != "") != tt.hasNextPage {
				t.Errorf("got %d deliveries, total %d, next %q", len(res.GetDeliveries()), res.GetTotal(), res.GetNextPageToken())
			}
		})
	}
}
