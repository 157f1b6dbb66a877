package webhook

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

const (
	delivered = webhookv1.DeliveryState_DELIVERY_STATE_DELIVERED
	failed    = webhookv1.DeliveryState_DELIVERY_STATE_FAILED
	pending   = webhookv1.DeliveryState_DELIVERY_STATE_PENDING
)

func TestDelivering(t *testing.T) {
	t.Parallel()
	t.Run("a booking reaches an endpoint once, and the log shows it as sent", func(t *testing.T) {
		t.Parallel()
		w := open(t, quick())
		r := newReceiver(t, nil)
		e := w.endpoint(r.URL + "/hook?x=1")
		ids := w.bookings(1)
		d := w.delivery(e.GetEndpoint().GetId(), delivered)
		got := r.at(0)
		if r.count() != 1 || string(got.body) != string(d.GetBody()) || got.header.Get("Webhook-Id") != ids[0] {
			t.Errorf("got %d requests, the first %s %s", r.count(), got.header, got.body)
		}
		if len(d.GetAttempts()) != 1 || d.GetAttempts()[0].GetStatus() != 204 {
			t.Fatalf("attempts %v", d.GetAttempts())
		}
		for _, h := range d.GetAttempts()[0].GetRequestHeaders() {
			if got.header.Get(h.GetName()) != h.GetValue() {
				t.Errorf("the log has %s: %s, the request had %s", h.GetName(), h.GetValue(), got.header.Get(h.GetName()))
			}
		}
		if len(d.GetAttempts()[0].GetRequestHeaders()) != 6 {
			t.Errorf("headers %v", d.GetAttempts()[0].GetRequestHeaders())
		}
	})
	t.Run("a repeated event, alone or in one batch, is delivered once (1)", func(t *testing.T) {
		t.Parallel()
		w := open(t, quick())
		r := newReceiver(t, nil)
		w.endpoint(r.URL)
		e := classBooking(w.company)
		w.consume(e)
		w.consume(e)
		w.consume(e, classBooking(w.company))
		w.settled()
		if r.count() != 2 || r.distinct() != 2 {
			t.Errorf("%d requests of %d messages, want 2 of 2", r.count(), r.distinct())
		}
	})
	t.Run("a workshop booked by card sends a registration and a purchase", func(t *testing.T) {
		t.Parallel()
		w := open(t, quick())
		r := newReceiver(t, nil)
		w.endpoint(r.URL)
		w.consume(bookingEvent(w.company, bookingv1.EventType_EVENT_TYPE_WORKSHOP), passEvent(w.company, nil))
		w.settled()
		if r.distinct() != 3 {
			t.Errorf("%d messages, want 3", r.distinct())
		}
	})
	t.Run("deliveries use HTTP/2 if the endpoint supports it, and reuse connections", func(t *testing.T) {
		t.Parallel()
		w := open(t, quick())
		var fresh, second atomic.Int32
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
			if req.ProtoMajor == 2 && len(req.Header["Idempotency-Key"]) == 0 {
				second.Add(1)
			}
		}))
		s.EnableHTTP2 = true
		s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				fresh.Add(1)
			}
		}
		s.StartTLS()
		t.Cleanup(s.Close)
		w.endpoint(s.URL)
		began := time.Now()
		w.bookings(200)
		w.settled()
		// A busy machine can leave the connections idle for too long.
		most := minConcurrency * int32(1+time.Since(began)/longestIdle)
		if second.Load() != 200 || fresh.Load() > most {
			t.Errorf("%d requests over HTTP/2, %d connections, want at most %d", second.Load(), fresh.Load(), most)
		}
	})
	t.Run("an endpoint gets only its subscribed events, and only while it is enabled", func(t *testing.T) {
		t.Parallel()
		w := open(t, quick())
		r := newReceiver(t, nil)
		e := w.endpoint(r.URL).GetEndpoint()
		if _, err := w.client.UpdateEndpoint(w.as(w.company), &webhookv1.UpdateEndpointRequest{
			Id: e.GetId(), Events: &webhookv1.EventTypes{Types: []webhookv1.EventType{webhookv1.EventType_EVENT_TYPE_PASS_PURCHASED}},
		}); err != nil {
			t.Fatal(err)
		}
		w.consume(classBooking(w.company), passEvent(w.company, nil))
		w.settled()
		off := false
		if _, err := w.client.UpdateEndpoint(w.as(w.company), &webhookv1.UpdateEndpointRequest{Id: e.GetId(), Enabled: &off}); err != nil {
			t.Fatal(err)
		}
		w.consume(passEvent(w.company, nil))
		w.settled()
		if r.count() != 1 {
			t.Errorf("%d requests, want 1", r.count())
		}
	})
}

func TestRetries(t *testing.T) {
	t.Parallel()
	t.Run("three retries follow the first attempt at growing delays, then the delivery fails", func(t *testing.T) {
		t.Parallel()
		w := openSteady(t, quick())
		r := newReceiver(t, func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusInternalServerError) })
		e := w.endpoint(r.URL)
		w.bookings(1)
		d := w.delivery(e.GetEndpoint().GetId(), failed)
		if r.count() != 4 || len(d.GetAttempts()) != 4 {
			t.Fatalf("%d requests and %d attempts, want 4", r.count(), len(d.GetAttempts()))
		}
		for i, least := range w.settings.Retries {
			if gap := r.at(i + 1).at.Sub(r.at(i).at); gap < least*9/10 {
				t.Errorf("retry %d came after %s, want %s and a tenth more or less", i+1, gap, least)
			}
		}
		if a := d.GetAttempts()[3]; a.GetFailure() != webhookv1.Failure_FAILURE_STATUS || a.GetStatus() != 500 || a.GetNumber() != 4 {
			t.Errorf("the last attempt is %v", a)
		}
	})
	t.Run("a success ends the retries", func(t *testing.T) {
		t.Parallel()
		w := open(t, quick())
		var n atomic.Int32
		r := newReceiver(t, func(rw http.ResponseWriter, _ *http.Request) {
			if n.Add(1) < 3 {
				rw.WriteHeader(http.StatusBadGateway)
			}
		})
		e := w.endpoint(r.URL)
		w.bookings(1)
		if d := w.delivery(e.GetEndpoint().GetId(), delivered); len(d.GetAttempts()) != 3 {
			t.Errorf("%d attempts, want 3", len(d.GetAttempts()))
		}
	})
	t.Run("a redirect is not followed (6)", func(t *testing.T) {
		t.Parallel()
		w := open(t, quick())
		other := newReceiver(t, nil)
		r := newReceiver(t, func(rw http.ResponseWriter, req *http.Request) { http.Redirect(rw, req, other.URL, http.StatusFound) })
		e := w.endpoint(r.URL)
		w.bookings(1)
		d := w.delivery(e.GetEndpoint().GetId(), failed)
		if other.count() != 0 || d.GetDelivery().GetLastStatus() != 302 || r.count() != 4 {
			t.Errorf("%d followed, status %d, %d requests", other.count(), d.GetDelivery().GetLastStatus(), r.count())
		}
	})
	t.Run("410 disables the endpoint and fails its queued deliveries", func(t *testing.T) {
		t.Parallel()
		w := open(t, quick())
		r := newReceiver(t, func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusGone) })
		e := w.endpoint(r.URL)
		w.bookings(1)
		w.delivery(e.GetEndpoint().GetId(), failed)
		waitFor(t, func() error {
			got, err := w.client.GetEndpoint(w.as(w.company), &webhookv1.GetEndpointRequest{Id: e.GetEndpoint().GetId()})
			if err == nil && (got.GetEndpoint().GetEnabled() || got.GetEndpoint().GetDisabledReason() != webhookv1.DisabledReason_DISABLED_REASON_GONE) {
				err = fmt.Errorf("endpoint %v", got)
			}
			return err
		})
		if r.count() != 1 {
			t.Errorf("%d requests, want 1", r.count())
		}
		on := true
		got, err := w.client.UpdateEndpoint(w.as(w.company), &webhookv1.UpdateEndpointRequest{Id: e.GetEndpoint().GetId(), Enabled: &on})
		if err != nil || !got.GetEndpoint().GetEnabled() || got.GetEndpoint().GetDisabledReason() != 0 || got.GetEndpoint().GetDisabledAt() != nil {
			t.Errorf("enabled again: %v %v", got, err)
		}
	})
	t.Run("Retry-After of a 429 delays the retry if it is later than the schedule", func(t *testing.T) {
		t.Parallel()
		w := openSteady(t, quick())
		var n atomic.Int32
		r := newReceiver(t, func(rw http.ResponseWriter, _ *http.Request) {
			if n.Add(1) == 1 {
				rw.Header().Set("Retry-After", "1")
				rw.WriteHeader(http.StatusTooManyRequests)
			}
		})
		e := w.endpoint(r.URL)
		w.bookings(1)
		w.delivery(e.GetEndpoint().GetId(), delivered)
		if gap := r.at(1).at.Sub(r.at(0).at); gap < 950*time.Millisecond {
			t.Errorf("the retry came after %s, want 1 s", gap)
		}
	})
	t.Run("a deleted endpoint gets no more deliveries, and none stay queued", func(t *testing.T) {
		t.Parallel()
		w := open(t, quick())
		r := newReceiver(t, func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusInternalServerError) })
		e := w.endpoint(r.URL)
		w.bookings(100)
		r.wait(t, 1)
		if _, err := w.client.DeleteEndpoint(w.as(w.company), &webhookv1.DeleteEndpointRequest{Id: e.GetEndpoint().GetId()}); err != nil {
			t.Fatal(err)
		}
		w.settled()
		n := r.count()
		w.bookings(3)
		w.settled()
		if r.count() != n {
			t.Errorf("%d requests after the deletion", r.count()-n)
		}
	})
}

func TestReplay(t *testing.T) {
	t.Parallel()
	w := openSteady(t, quick())
	var fail atomic.Bool
	fail.Store(true)
	r := newReceiver(t, func(rw http.ResponseWriter, _ *http.Request) {
		if fail.Load() {
			rw.WriteHeader(http.StatusInternalServerError)
		}
	})
	began := time.Now()
	e := w.endpoint(r.URL).GetEndpoint().GetId()
	ids := w.bookings(1)
	d := w.delivery(e, failed)
	fail.Store(false)
	t.Run("all deliveries that failed since a time are sent again, with the same id", func(t *testing.T) {
		res, err := w.client.ReplayFailed(w.as(w.company), &webhookv1.ReplayFailedRequest{Since: timestamp(began)})
		if err != nil || res.GetReplayed() != 1 {
			t.Fatalf("%v %v", res, err)
		}
		got := w.delivery(e, delivered)
		if r.at(4).header.Get("Webhook-Id") != ids[0] || len(got.GetAttempts()) != 5 {
			t.Errorf("%s, %d attempts", r.at(4).header, len(got.GetAttempts()))
		}
	})
	t.Run("a delivered message can be sent again", func(t *testing.T) {
		if _, err := w.client.ReplayDelivery(w.as(w.company), &webhookv1.ReplayDeliveryRequest{Id: d.GetDelivery().GetId()}); err != nil {
			t.Fatal(err)
		}
		r.wait(t, 6)
		w.settled()
	})
	t.Run("a replayed delivery has a full set of retries", func(t *testing.T) {
		fail.Store(true)
		if _, err := w.client.ReplayDelivery(w.as(w.company), &webhookv1.ReplayDeliveryRequest{Id: d.GetDelivery().GetId()}); err != nil {
			t.Fatal(err)
		}
		r.wait(t, 10)
		w.delivery(e, failed)
	})
	t.Run("the response has the number of failed tests if nothing else has failed", func(t *testing.T) {
		tested := time.Now()
		if _, err := w.client.SendTest(w.as(w.company), &webhookv1.SendTestRequest{EndpointId: e, Event: webhookv1.EventType_EVENT_TYPE_PASS_PURCHASED}); err != nil {
			t.Fatal(err)
		}
		for endpoint, want := range map[string]int64{"": 1, e: 1} {
			res, err := w.client.ReplayFailed(w.as(w.company), &webhookv1.ReplayFailedRequest{EndpointId: endpoint, Since: timestamp(tested)})
			if err != nil || res.GetReplayed() != 0 || res.GetTests() != want {
				t.Errorf("%q: %v %v", endpoint, res, err)
			}
		}
		for state, want := range map[webhookv1.DeliveryState]int64{webhookv1.DeliveryState_DELIVERY_STATE_FAILED: 1, webhookv1.DeliveryState_DELIVERY_STATE_DELIVERED: 0} {
			res, err := w.client.CountDeliveries(w.as(w.company), &webhookv1.CountDeliveriesRequest{Filter: &webhookv1.DeliveryFilter{State: state, Since: timestamp(tested)}})
			if err != nil || res.GetCount() != 0 || res.GetTests() != want {
				t.Errorf("%s: %v %v", state, res, err)
			}
		}
	})
	t.Run("a replay to a disabled endpoint is refused", func(t *testing.T) {
		off := false
		if _, err := w.client.UpdateEndpoint(w.as(w.company), &webhookv1.UpdateEndpointRequest{Id: e, Enabled: &off}); err != nil {
			t.Fatal(err)
		}
		_, err := w.client.ReplayDelivery(w.as(w.company), &webhookv1.ReplayDeliveryRequest{Id: d.GetDelivery().GetId()})
		wantReason(t, err, ReasonEndpointDisabled)
		_, err = w.client.ReplayFailed(w.as(w.company), &webhookv1.ReplayFailedRequest{Since: timestamp(began), EndpointId: e})
		wantReason(t, err, ReasonEndpointDisabled)
		res, err := w.client.ReplayFailed(w.as(w.company), &webhookv1.ReplayFailedRequest{Since: timestamp(began)})
		if err != nil || res.GetReplayed() != 0 {
			t.Errorf("%v %v", res, err)
		}
	})
}

func TestFairness(t *testing.T) {
	const endpoints, each = 10, 60
	for _, hanging := range []int{1, 9} {
		t.Run(fmt.Sprintf("%d of %d endpoints hang and hold up nobody (4)", hanging, endpoints), func(t *testing.T) {
			settings := quick()
			settings.Timeout, settings.Lease = 5*patience, 10*patience
			w := open(t, settings)
			release := make(chan struct{})
			t.Cleanup(func() { close(release) })
			hang := func(_ http.ResponseWriter, req *http.Request) {
				select {
				case <-release:
				case <-req.Context().Done():
				}
			}
			var good []*receiver
			for i := range endpoints {
				if i < hanging {
					w.endpoint(newReceiver(t, hang).URL)
					continue
				}
				r := newReceiver(t, nil)
				w.endpoint(r.URL)
				good = append(good, r)
			}
			w.bookings(each)
			for _, r := range good {
				r.wait(t, each) // gives up long before the requests that hang do
			}
		})
	}
}

func TestEngineStopsAndCrashes(t *testing.T) {
	t.Parallel()
	t.Run("an engine that stops finishes the requests in flight and releases the rest (2, 3)", func(t *testing.T) {
		t.Parallel()
		settings := quick()
		settings.EndpointConcurrency = 2
		settings.Lease = time.Hour
		w := open(t, settings)
		gate := make(chan struct{})
		r := newReceiver(t, func(http.ResponseWriter, *http.Request) { <-gate })
		w.endpoint(r.URL)
		w.bookings(20)
		r.wait(t, 2)
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			w.stop()
		}()
		waitFor(t, func() error {
			w.engine.mu.Lock()
			defer w.engine.mu.Unlock()
			if !w.engine.stopping {
				return fmt.Errorf("not stopping")
			}
			return nil
		})
		close(gate)
		<-stopped
		leased, err := pg.One[int64](t.Context(), w.db, pg.AllCompanies(), `select count(*) from deliveries where lease is not null`)
		if err != nil || leased != 0 {
			t.Fatalf("%d are leased, %v", leased, err)
		}
		sent, err := pg.One[int64](t.Context(), w.db, pg.AllCompanies(), `select count(*) from deliveries where state = 'delivered'`)
		if err != nil || sent != 2 || r.count() != 2 {
			t.Fatalf("%d are delivered by %d requests, %v", sent, r.count(), err)
		}
		w.run(w.newEngine())
		w.settled()
		if r.count() != 20 || r.distinct() != 20 {
			t.Errorf("%d requests of %d messages, want 20 of 20", r.count(), r.distinct())
		}
	})
	t.Run("engines that crash at any moment lose nothing, and repeat only what was in flight (2)", func(t *testing.T) {
		t.Parallel()
		settings := quick()
		settings.Concurrency = 64
		w := openStopped(t, settings)
		r := newReceiver(t, func(http.ResponseWriter, *http.Request) { time.Sleep(2 * time.Millisecond) })
		for range 3 {
			w.endpoint(r.URL)
		}
		engine := w.engine
		var unwritten, inFlight int64 // requests without an outcome
		for range 8 {
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan struct{})
			go func() {
				defer close(done)
				_ = engine.Run(ctx)
			}()
			w.intake.engine = engine
			w.bookings(60)
			engine.mu.Lock()
			inFlight += int64(engine.inFlight)
			engine.abort() // its deliveries stay leased, and its outcomes are lost
			engine.mu.Unlock()
			cancel()
			<-done
			written, err := pg.One[int64](t.Context(), w.db, pg.AllCompanies(), `select count(*) from attempts`)
			if err != nil {
				t.Fatal(err)
			}
			unwritten = int64(r.count()) - written
			engine = w.newEngine()
		}
		w.run(engine)
		w.settled()
		if got, want := r.distinct(), 8*60; got != want {
			t.Errorf("%d messages came, want %d", got, want)
		}
		if extra := int64(r.count() - 8*60*3); extra < 0 || extra > unwritten+inFlight {
			t.Errorf("%d requests more than deliveries; %d had no outcome, %d were in flight", extra, unwritten, inFlight)
		}
	})
	t.Run("two engines share the work and send nothing twice (3)", func(t *testing.T) {
		t.Parallel()
		w := openStopped(t, quick())
		second := w.newEngine()
		w.engine.pulse, second.pulse = slowPulse(), slowPulse() // on a busy machine, a report can take too long
		second.notifyPeers = w.engine.wake
		w.engine.notifyPeers = second.wake
		w.start()
		w.run(second)
		r := newReceiver(t, func(http.ResponseWriter, *http.Request) { time.Sleep(3 * time.Millisecond) })
		w.endpoint(r.URL)
		w.bookings(1500)
		w.settled()
		if r.count() != 1500 || r.distinct() != 1500 {
			t.Errorf("%d requests of %d messages, want 1500", r.count(), r.distinct())
		}
		share, err := pg.One[int64](t.Context(), w.db, pg.AllCompanies(), `select count(*) from deliveries where state = 'delivered'`)
		if err != nil || share != 1500 {
			t.Errorf("%d delivered, %v", share, err)
		}
	})
}
