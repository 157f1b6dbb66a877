package webhook

import (
	"context"
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
	w := openSteady(t, settings)
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
		n := r.count()
		untouched, err := pg.One[int64](t.Context(), w.db, pg.AllCompanies(), `select count(*) from deliveries where attempts = 0`)
		// A busy machine counts late, after further probes.
		most := settings.BreakerFailures + settings.EndpointConcurrency + int(time.Since(r.at(0).at)/settings.BreakerPause) + 1
		if n > most {
			t.Errorf("%d requests, want at most %d", n, most)
		}
		if err != nil || untouched < int64(50-most) {
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
	w := open(t, quick())
	r := newReceiver(t, func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusInternalServerError) })
	e := w.endpoint(r.URL).GetEndpoint().GetId()
	// failing sets for how long the endpoint has been failing. A new version lets the engine read it.
	failing := func(since time.Duration) {
		t.Helper()
		err := w.db.InTx(t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
			_, err := tx.Exec(ctx, `update endpoints set failing_since = now() - make_interval(secs => $1), version = version + 1`, since.Seconds())
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	// fails lets all attempts of a delivery fail, and waits until the endpoint has a state. When the last attempt is
	// stored, the others have had their effect.
	fails := func(state string) {
		t.Helper()
		w.bookings(1)
		w.settled()
		waitFor(t, func() error {
			if n := w.rows(`select count(*) from endpoints where ` + state); n != 1 {
				return fmt.Errorf("it is not true that %s", state)
			}
			return nil
		})
	}
	fails(`failing_since is not null`)
	failing(w.settings.WarnAfter - time.Hour)
	fails(`warned_at is null`)
	failing(w.settings.WarnAfter + time.Hour)
	fails(`warned_at is not null`)
	failing(w.settings.DisableAfter + time.Hour)
	fails(`disabled_reason = 'failing'`)
	got, err := w.client.GetEndpoint(w.as(w.company), &webhookv1.GetEndpointRequest{Id: e})
	if err != nil || got.GetEndpoint().GetDisabledReason() != webhookv1.DisabledReason_DISABLED_REASON_FAILING {
		t.Errorf("%v %v", got, err)
	}
	subjects, err := pg.Rows[string](t.Context(), w.db, pg.AllCompanies(), `select subject from outbox where subject <> 'webhook.v1.change_recorded' order by created_at, id`)
	if err != nil || fmt.Sprint(subjects) != fmt.Sprint([]string{subjectEndpointFailing, subjectEndpointDisabled}) {
		t.Errorf("published %v, %v", subjects, err)
	}
}
