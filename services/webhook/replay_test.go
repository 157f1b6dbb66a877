package webhook

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// countReplays returns the count of a replay of a filter.
func (w *world) countReplays(t *testing.T, f *webhookv1.DeliveryFilter) *webhookv1.CountDeliveriesResponse {
	t.Helper()
	res, err := w.client.CountDeliveries(w.as(w.company), &webhookv1.CountDeliveriesRequest{Filter: f})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// replayAll replays a filter with an idempotency key, as the caller in who.
func (w *world) replayAll(who context.Context, key string, f *webhookv1.DeliveryFilter, asOf *timestamppb.Timestamp) (*webhookv1.ReplayDeliveriesResponse, error) {
	return w.client.ReplayDeliveries(rpc.WithIdempotencyKey(who, key), &webhookv1.ReplayDeliveriesRequest{Filter: f, AsOf: asOf})
}

// all returns the identifiers of the deliveries of an endpoint.
func (w *world) all(t *testing.T, endpoint string) []string {
	t.Helper()
	list, err := w.client.ListDeliveries(w.as(w.company), &webhookv1.ListDeliveriesRequest{EndpointId: endpoint, PageSize: 200})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, d := range list.GetDeliveries() {
		ids = append(ids, d.GetId())
	}
	return ids
}

func TestReplayOfAFilter(t *testing.T) {
	t.Parallel()
	w := open(t, quick())
	w.server.batch = 4 // causes several commits
	who := w.as(w.company)
	one, two := newReceiver(t, nil), newReceiver(t, nil)
	first, second := w.endpoint(one.URL).GetEndpoint().GetId(), w.endpoint(two.URL).GetEndpoint().GetId()
	if _, err := w.client.SendTest(w.as(w.company), &webhookv1.SendTestRequest{EndpointId: first, Event: webhookv1.EventType_EVENT_TYPE_PASS_PURCHASED}); err != nil {
		t.Fatal(err)
	}
	w.bookings(10)
	one.wait(t, 11)
	two.wait(t, 10)
	w.settled()

	t.Run("counts without test deliveries, and replays as many in batches", func(t *testing.T) {
		f := &webhookv1.DeliveryFilter{EndpointId: first, State: delivered}
		counted := w.countReplays(t, f)
		if counted.GetCount() != 10 || counted.GetMore() {
			t.Fatalf("got %v", counted)
		}
		res, err := w.replayAll(who, "a", f, counted.GetAsOf())
		if err != nil || res.GetReplayed() != 10 {
			t.Fatalf("got %v, %v", res, err)
		}
		one.wait(t, 21)
		w.settled()
		for range 2 {
			again, err := w.replayAll(who, "a", f, counted.GetAsOf())
			if err != nil || again.GetReplayed() != 10 {
				t.Errorf("a retry got %v, %v", again, err)
			}
		}
		if after, err := w.replayAll(who, "b", f, counted.GetAsOf()); err != nil || after.GetReplayed() != 0 {
			t.Errorf("another click of the same count: %v, %v", after, err)
		}
		w.settled()
		if one.count() != 21 || two.count() != 10 {
			t.Errorf("%d and %d requests", one.count(), two.count())
		}
	})
	t.Run("sends each delivery once, even after concurrent requests", func(t *testing.T) {
		before := one.count() + two.count()
		f := &webhookv1.DeliveryFilter{Event: webhookv1.EventType_EVENT_TYPE_REGISTRATION_CREATED}
		counted := w.countReplays(t, f)
		var wg sync.WaitGroup
		replayed := make([]int64, 6)
		for i := range replayed {
			wg.Go(func() {
				res, err := w.replayAll(who, "click-"+string(rune('a'+i/2)), f, counted.GetAsOf())
				if err != nil && fault.From(err).Reason != fault.ReasonIdempotencyInProgress {
					t.Error(err)
				}
				replayed[i] = res.GetReplayed()
			})
		}
		wg.Wait()
		w.settled()
		if got := one.count() + two.count() - before; got != 20 || counted.GetCount() != 20 {
			t.Errorf("%d requests for %d deliveries, by %v", got, counted.GetCount(), replayed)
		}
	})
	t.Run("leaves out deliveries created after the count, and those to a disabled endpoint", func(t *testing.T) {
		f := &webhookv1.DeliveryFilter{}
		counted := w.countReplays(t, f)
		w.bookings(1)
		w.settled()
		off := false
		if _, err := w.client.UpdateEndpoint(w.as(w.company), &webhookv1.UpdateEndpointRequest{Id: second, Enabled: &off}); err != nil {
			t.Fatal(err)
		}
		before := one.count()
		res, err := w.replayAll(who, "c", f, counted.GetAsOf())
		if err != nil || res.GetReplayed() != 10 || counted.GetCount() != 20 {
			t.Errorf("got %v of %v, %v", res, counted, err)
		}
		w.settled()
		if one.count() != before+10 {
			t.Errorf("%d requests", one.count()-before)
		}
		if n := w.countReplays(t, &webhookv1.DeliveryFilter{EndpointId: second}).GetCount(); n != 0 {
			t.Errorf("%d of a disabled endpoint", n)
		}
		_, err = w.replayAll(who, "d", &webhookv1.DeliveryFilter{EndpointId: second}, nil)
		wantReason(t, err, ReasonEndpointDisabled)
		if _, err := w.client.DeleteEndpoint(who, &webhookv1.DeleteEndpointRequest{Id: second}); err != nil {
			t.Fatal(err)
		}
		if res, err := w.replayAll(who, "e", &webhookv1.DeliveryFilter{EndpointId: second}, nil); err != nil || res.GetReplayed() != 0 {
			t.Errorf("of a deleted endpoint: %v, %v", res, err)
		}
	})
}

func TestReplayWithClocksThatDiffer(t *testing.T) {
	t.Parallel()
	for _, try := range []struct {
		name  string
		ahead time.Duration // the server's clock, of the clock of the engine that stores deliveries
	}{{"the server is ahead", time.Minute}, {"the server is behind", -time.Minute}} {
		t.Run(try.name, func(t *testing.T) {
			t.Parallel()
			w := open(t, quick())
			w.server.now = func() time.Time { return time.Now().Add(try.ahead) }
			r := newReceiver(t, nil)
			w.endpoint(r.URL)
			w.bookings(3)
			w.settled()
			counted := w.countReplays(t, &webhookv1.DeliveryFilter{})
			w.bookings(2)
			w.settled()
			res, err := w.replayAll(w.as(w.company), "a", &webhookv1.DeliveryFilter{}, counted.GetAsOf())
			if err != nil || res.GetReplayed() != 3 || counted.GetCount() != 3 {
				t.Errorf("got %v of %v, %v; want the 3 that were counted", res, counted, err)
			}
			w.settled()
			if r.count() != 8 {
				t.Errorf("%d requests, want 5 and 3 replays", r.count())
			}
		})
	}
}

func TestFiltersOfAReplay(t *testing.T) {
	t.Parallel()
	w := open(t, quick())
	who := w.as(w.company)
	r := newReceiver(t, nil)
	first := w.endpoint(r.URL).GetEndpoint().GetId()
	if _, err := w.client.SendTest(who, &webhookv1.SendTestRequest{EndpointId: first, Event: webhookv1.EventType_EVENT_TYPE_PASS_PURCHASED}); err != nil {
		t.Fatal(err)
	}
	w.bookings(11)
	w.settled()
	t.Run("accepts the filters of the list", func(t *testing.T) {
		for _, try := range []struct {
			f    *webhookv1.DeliveryFilter
			want int64
		}{
			{nil, 11}, {&webhookv1.DeliveryFilter{State: failed}, 0}, {&webhookv1.DeliveryFilter{Since: timestamp(time.Now().Add(time.Hour))}, 0},
			{&webhookv1.DeliveryFilter{Until: timestamp(time.Now().Add(-time.Hour)), EndpointId: first}, 0},
			{&webhookv1.DeliveryFilter{Since: timestamp(time.Now().Add(-time.Hour)), EndpointId: first}, 11},
			{&webhookv1.DeliveryFilter{Event: webhookv1.EventType_EVENT_TYPE_EVENT_PURCHASED}, 0},
			{&webhookv1.DeliveryFilter{EndpointId: "whe_1"}, 0},
			{&webhookv1.DeliveryFilter{EndpointId: "whe_00000000000000000000000000"}, 0},
		} {
			if got := w.countReplays(t, try.f).GetCount(); got != try.want {
				t.Errorf("%v: %d, want %d", try.f, got, try.want)
			}
		}
	})
	t.Run("refuses a count that is not from the last hour", func(t *testing.T) {
		for _, asOf := range []*timestamppb.Timestamp{timestamp(time.Now().Add(-61 * time.Minute)), timestamp(time.Now().Add(time.Minute)), {Seconds: 1 << 60}} {
			if _, err := w.replayAll(who, "d", &webhookv1.DeliveryFilter{}, asOf); !fault.Is(err, fault.Invalid) {
				t.Errorf("%v: %v", asOf, err)
			}
		}
		for _, f := range []*webhookv1.DeliveryFilter{{Event: 99}, {State: 99}} {
			if _, err := w.replayAll(who, "d", f, timestamppb.Now()); err == nil {
				t.Errorf("%v is taken", f)
			}
		}
		_, neither := w.client.ReplayDeliveries(w.as(w.company), &webhookv1.ReplayDeliveriesRequest{})
		_, both := w.client.ReplayDeliveries(w.as(w.company), &webhookv1.ReplayDeliveriesRequest{Ids: []string{"x"}, Filter: &webhookv1.DeliveryFilter{}})
		for _, err := range []error{neither, both} {
			if !fault.Is(err, fault.Invalid) {
				t.Errorf("got %v", err)
			}
		}
	})
	t.Run("replays only deliveries of the caller's company", func(t *testing.T) {
		stranger := w.as(id.New[id.Company]())
		for _, f := range []*webhookv1.DeliveryFilter{{}, {EndpointId: first}} {
			counted, err := w.client.CountDeliveries(stranger, &webhookv1.CountDeliveriesRequest{Filter: f})
			if err != nil || counted.GetCount() != 0 {
				t.Errorf("got %v, %v", counted, err)
			}
			res, err := w.client.ReplayDeliveries(stranger, &webhookv1.ReplayDeliveriesRequest{Filter: f, AsOf: counted.GetAsOf()})
			if err != nil || res.GetReplayed() != 0 {
				t.Errorf("got %v, %v", res, err)
			}
		}
		res, err := w.client.ReplayDeliveries(stranger, &webhookv1.ReplayDeliveriesRequest{Ids: w.all(t, first)})
		if err != nil || res.GetReplayed() != 0 || res.GetSkipped() != 12 {
			t.Errorf("got %v, %v", res, err)
		}
	})
}

func TestReplayOfASelection(t *testing.T) {
	t.Parallel()
	w := open(t, quick())
	r := newReceiver(t, nil)
	e := w.endpoint(r.URL).GetEndpoint().GetId()
	w.bookings(5)
	r.wait(t, 5)
	w.settled()
	chosen, who := w.all(t, e)[:3], w.as(w.company)
	t.Run("sends the listed deliveries again, once per key", func(t *testing.T) {
		unknown := id.New[id.WebhookDelivery]().String()
		for range 2 {
			res, err := w.client.ReplayDeliveries(rpc.WithIdempotencyKey(who, "a"), &webhookv1.ReplayDeliveriesRequest{Ids: append(chosen, chosen[0], "whd_1", unknown)})
			if err != nil || res.GetReplayed() != 3 || res.GetSkipped() != 3 {
				t.Fatalf("got %v, %v", res, err)
			}
		}
		r.wait(t, 8)
		w.settled()
		if r.count() != 8 {
			t.Errorf("%d requests", r.count())
		}
	})
	t.Run("accepts at most 200", func(t *testing.T) {
		if _, err := w.client.ReplayDeliveries(w.as(w.company), &webhookv1.ReplayDeliveriesRequest{Ids: make([]string, maxIDs+1)}); !fault.Is(err, fault.Invalid) {
			t.Errorf("got %v", err)
		}
		long, err := w.client.ReplayDeliveries(w.as(w.company), &webhookv1.ReplayDeliveriesRequest{Ids: []string{strings.Repeat("x", 100), "<script>", "يوجا"}})
		if err != nil || long.GetSkipped() != 3 {
			t.Errorf("got %v, %v", long, err)
		}
	})
}

// A repeated request completes a replay whose process crashed.
func TestReplayContinuesAfterCrash(t *testing.T) {
	t.Parallel()
	w := open(t, quick())
	r := newReceiver(t, nil)
	w.endpoint(r.URL)
	w.bookings(9)
	r.wait(t, 9)
	w.settled()
	f, who := &webhookv1.DeliveryFilter{}, w.as(w.company)
	counted := w.countReplays(t, f)
	asOf := counted.GetAsOf().AsTime()
	err := w.server.store.Write(t.Context(), w.company, func(ctx context.Context, tx *pg.Tx) error {
		_, err := w.server.store.replayBatch(ctx, tx, w.company, filteredReplay{filter: logFilter{}, asOf: asOf, now: time.Now()}, 4)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	res, err := w.replayAll(who, "a", f, counted.GetAsOf())
	if err != nil || res.GetReplayed() != 5 || counted.GetCount() != 9 {
		t.Errorf("got %v of %v, %v", res, counted, err)
	}
	r.wait(t, 18)
	w.settled()
	if r.count() != 18 {
		t.Errorf("%d requests", r.count())
	}
}
