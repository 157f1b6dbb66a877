package webhook

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"reservation.dev/platform/pg"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

func TestBreaker(t *testing.T) {
	t.Parallel()
	settings := quick()
	settings.BreakerFailures = 5
	settings.EndpointConcurrency = 2
	settings.BreakerPause, settings.BreakerPauseMax = 300*time.Millisecond, 300*time.Millisecond
	settings.Retries = []time.Duration{time.Hour}
	w := open(t, settings)
	var fail atomic.Bool
	fail.Store(true)
	r := newReceiver(t, func(rw http.ResponseWriter, _ *http.Request) {
		if fail.Load() {
			rw.WriteHeader(http.StatusInternalServerError)
		}
	})
	w.endpoint(r.URL)
	w.bookings(50)
	r.wait(t, 5)
	t.Run("an endpoint that keeps failing gets one probe at a time, and other deliveries wait (5)", func(t *testing.T) {
		r.wait(t, 7) // two probes
		if n := r.count(); n > 10 {
			t.Errorf("%d requests, want about 7", n)
		}
		untouched, err := pg.One[int64](t.Context(), w.db, pg.AllCompanies(), `select count(*) from deliveries where attempts = 0`)
		if err != nil || untouched < 40 {
			t.Errorf("%d are untouched, %v", untouched, err)
		}
	})
	t.Run("a successful probe releases all waiting deliveries", func(t *testing.T) {
		fail.Store(false)
		before := r.distinct()
		waitFor(t, func() error {
			if got := r.distinct(); got < 50 {
				return fmt.Errorf("%d messages, %d before", got, before)
			}
			return nil
		})
	})
}

func TestHealth(t *testing.T) {
	t.Parallel()
	settings := quick()
	settings.WarnAfter, settings.DisableAfter = 150*time.Millisecond, 600*time.Millisecond
	settings.Retries = []time.Duration{50 * time.Millisecond, 50 * time.Millisecond, 200 * time.Millisecond, 200 * time.Millisecond, 200 * time.Millisecond, 200 * time.Millisecond, 200 * time.Millisecond}
	w := open(t, settings)
	r := newReceiver(t, func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusInternalServerError) })
	e := w.endpoint(r.URL).GetEndpoint().GetId()
	w.bookings(1)
	waitFor(t, func() error {
		got, err := w.client.GetEndpoint(w.as(w.company), &webhookv1.GetEndpointRequest{Id: e})
		if err == nil && got.GetEndpoint().GetDisabledReason() != webhookv1.DisabledReason_DISABLED_REASON_FAILING {
			err = fmt.Errorf("%v", got)
		}
		return err
	})
	w.settled()
	subjects, err := pg.Rows[string](t.Context(), w.db, pg.AllCompanies(), `select subject from outbox where subject <> 'webhook.v1.change_recorded' order by created_at, id`)
	if err != nil || fmt.Sprint(subjects) != fmt.Sprint([]string{subjectEndpointFailing, subjectEndpointDisabled}) {
		t.Errorf("published %v, %v", subjects, err)
	}
}
