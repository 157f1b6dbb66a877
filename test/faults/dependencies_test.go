package faults

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	"reservation.dev/test/harness"
)

// traffic makes requests of all kinds in several concurrent loops until it is ended.
type traffic struct {
	stop context.CancelFunc
	wg   sync.WaitGroup
	all  []string // the requests

	mu      sync.Mutex
	counts  map[string]map[int]int // by request, then by status
	strange []string
	updates atomic.Int64 // profile updates that were acknowledged
}

// traffic starts traffic for one customer.
func (w *world) traffic(t *testing.T, customer, token string, credential harness.Credential) *traffic {
	ctx, cancel := context.WithCancel(t.Context())
	tr := &traffic{stop: cancel, counts: map[string]map[int]int{}}
	t.Cleanup(tr.end)
	note := "/customer/" + customer + "/note/note_01jb4x9m3vf6ksn8w2d7pq5r0t"
	requests := map[string]harness.Request{
		"profile": {Path: profilePath(customer), Token: token}, "bookings": {Path: bookingsPath(customer), Token: token},
		"customers": {Path: "/customers", Token: token}, "page": {Path: "/customers?page=0", Token: token},
		"booking": {Path: "/customer/" + customer + "/booking/txn_01jb4x9m3vf6ksn8w2d7pq5r0t", Token: token},
		"update":  {Method: http.MethodPut, Path: profilePath(customer), Token: token, Body: update}, "token": harness.TokenRequest(credential),
		"passes": {Path: "/customer/" + customer + "/passes", Token: token}, "notes": {Path: "/customer/" + customer + "/notes", Token: token},
		"subscriptions": {Path: "/customer/" + customer + "/subscriptions", Token: token}, "media": {Path: "/customer/" + customer + "/media", Token: token},
		"subscription": {Path: "/customer/" + customer + "/subscription/sub_01jb4x9m3vf6ksn8w2d7pq5r0t", Token: token},
		"appointments": {Path: "/customer/" + customer + "/appointments", Token: token},
		"appointment":  {Path: "/customer/" + customer + "/appointment/appt_01jb4x9m3vf6ksn8w2d7pq5r0t", Token: token},
		"media item":   {Path: "/customer/" + customer + "/media/media_01jb4x9m3vf6ksn8w2d7pq5r0t", Token: token},
		"pass":         {Path: "/customer/" + customer + "/pass/cp_01jb4x9m3vf6ksn8w2d7pq5r0t", Token: token},
		"note":         {Path: note, Token: token}, "change note": {Method: http.MethodPut, Path: note, Token: token, Body: `{"pinned":true}`},
		"delete note": {Method: http.MethodDelete, Path: note, Token: token},
		"add note":    {Method: http.MethodPost, Path: "/customer/" + customer + "/notes", Token: token, Body: `{"body":"Prefers the front row."}`},
	}
	for name, r := range requests {
		tr.all = append(tr.all, name)
		a := w.client(t, len(name)%2)
		tr.wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				if name == "update" {
					r.Body = fmt.Sprintf(`{"firstname":"Number","lastname":"%d","email":"n@example.org"}`, n)
				}
				answer, err := a.Try(ctx, r)
				if ctx.Err() != nil {
					return
				}
				tr.note(name, answer, err)
			}
		})
	}
	return tr
}

// end stops the traffic and waits for requests in progress.
func (tr *traffic) end() {
	tr.stop()
	tr.wg.Wait()
}

func (tr *traffic) note(name string, answer harness.Answer, err error) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if tr.counts[name] == nil {
		tr.counts[name] = map[int]int{}
	}
	full := name == "add note" && (answer.Code == http.StatusCreated || answer.Reason() == "TOO_MANY_NOTES")
	if full {
		answer.Code = http.StatusOK
	}
	tr.counts[name][answer.Code]++
	if name == "update" && answer.Code == http.StatusOK {
		tr.updates.Add(1)
	}
	absent := slices.Contains([]string{"booking", "pass", "subscription", "media item", "appointment"}, name) || strings.HasSuffix(name, "note") && name != "add note"
	fine := answer.Code == http.StatusOK || absent && answer.Code == http.StatusNotFound ||
		answer.Code == http.StatusServiceUnavailable && answer.Header.Get("Retry-After") != ""
	if (err != nil || !fine) && len(tr.strange) < 20 {
		tr.strange = append(tr.strange, fmt.Sprintf("%s: %d %s %v", name, answer.Code, answer.Body, err))
	}
}

// reset clears the counts.
func (tr *traffic) reset() {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.counts = map[string]map[int]int{}
}

// await returns when each kind of request has been answered n times with one of the given
// statuses since the last reset. Each service recovers on its own, so none of their requests is left out.
func (tr *traffic) await(t *testing.T, limit time.Duration, n int, codes ...int) {
	t.Helper()
	harness.Eventually(t, limit, func() error {
		tr.mu.Lock()
		defer tr.mu.Unlock()
		var faults []error
		for _, name := range tr.all {
			sum := 0
			for _, code := range codes {
				sum += tr.counts[name][code]
			}
			if sum < n {
				faults = append(faults, fmt.Errorf("%s was answered %v", name, tr.counts[name]))
			}
		}
		return errors.Join(faults...)
	})
}

// check fails t if a request was answered with a status that is not allowed.
func (tr *traffic) check(t *testing.T, allowed ...int) {
	t.Helper()
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for _, s := range tr.strange {
		t.Error(s)
	}
	for name, counts := range tr.counts {
		for code := range maps.Keys(counts) {
			if !slices.Contains(allowed, code) {
				t.Errorf("%s was answered %v", name, counts)
				break
			}
		}
	}
}

// newSubject returns a customer and an API client for traffic.
func (w *world) newSubject(t *testing.T, prefix string) (c *harness.Company, customer, token string, credential harness.Credential) {
	c = w.op.NewCompany(t, "Europe/London")
	customer = c.ImportCustomers(t, prefix, 3)[0]
	credential = c.NewClient(t)
	return c, customer, w.client(t, 0).Token(t, credential), credential
}

// testWithoutNATS checks that requests succeed without NATS: events wait in the outbox and gateways
// already know the signing keys. Only consumers of events notice.
func (w *world) testWithoutNATS(t *testing.T) {
	c, customer, token, credential := w.newSubject(t, "nats")
	doomed := c.NewClient(t)
	doomedToken := w.client(t, 0).Token(t, doomed)
	tr := w.traffic(t, customer, token, credential)
	tr.await(t, backLimit, 20, http.StatusOK, http.StatusNotFound)

	w.NATS.Stop(t)
	tr.reset()
	tr.await(t, backLimit, 100, http.StatusOK, http.StatusNotFound)
	tr.check(t, http.StatusOK, http.StatusNotFound)
	if _, err := w.op.Clients.DisableApiClient(c.Ctx(t.Context()), &authv1.DisableApiClientRequest{Id: doomed.ID}); err != nil {
		t.Fatal(err)
	}

	w.NATS.Start(t)
	tr.reset()
	tr.await(t, backLimit, 50, http.StatusOK, http.StatusNotFound)
	tr.end()
	tr.check(t, http.StatusOK, http.StatusNotFound)
	t.Run("a client revoked during the outage is refused when NATS is available again", func(t *testing.T) {
		for gateway := range 2 {
			a := w.client(t, gateway)
			harness.Eventually(t, backLimit, func() error {
				return code(t.Context(), a, harness.Request{Path: "/customers", Token: doomedToken}, http.StatusUnauthorized)
			})
		}
	})
	t.Run("every update has its event", func(t *testing.T) {
		want := int(tr.updates.Load())
		// While NATS is unavailable, the relay retries with increasing pauses.
		harness.Eventually(t, eventsLimit, func() error {
			got := 0
			for _, e := range w.Events(t) {
				if e.Company == c.ID && e.Subject == "customer.v1.customer_updated" {
					got++
				}
			}
			// The last update in progress may have succeeded without an answer.
			if got != want && got != want+1 {
				return fmt.Errorf("%d updates, %d events", want, got)
			}
			return nil
		})
	})
}

func (w *world) testWithoutPostgres(t *testing.T) {
	_, customer, token, credential := w.newSubject(t, "postgres")
	tr := w.traffic(t, customer, token, credential)
	tr.await(t, backLimit, 20, http.StatusOK, http.StatusNotFound)
	for name, end := range map[string]func(testing.TB){"stopped": w.Postgres.Stop, "killed": w.Postgres.Crash} {
		t.Run("requests are 503 while PostgreSQL is "+name+", and 200 after it starts again", func(t *testing.T) {
			end(t)
			tr.reset()
			tr.await(t, 2*backLimit, 5, http.StatusServiceUnavailable)
			w.Postgres.Start(t)
			tr.reset()
			tr.await(t, backLimit, 50, http.StatusOK, http.StatusNotFound)
			tr.check(t, http.StatusOK, http.StatusNotFound, http.StatusServiceUnavailable)
			tr.reset()
			tr.await(t, backLimit, 50, http.StatusOK, http.StatusNotFound)
			tr.check(t, http.StatusOK, http.StatusNotFound)
		})
	}
	tr.end()
	t.Run("the last acknowledged update is stored", func(t *testing.T) {
		a := w.client(t, 0)
		a.Do(t, harness.Request{Method: http.MethodPut, Path: profilePath(customer), Token: token, Body: update}).Into(t, http.StatusOK, nil)
		w.Postgres.Crash(t)
		w.Postgres.Start(t)
		var body struct{ Data struct{ Firstname string } }
		// Each of the service's idle sessions was lost, so the request after a successful one can fail too.
		harness.Eventually(t, backLimit, func() error {
			answer, err := a.Try(t.Context(), harness.Request{Path: profilePath(customer), Token: token})
			if err != nil {
				return err
			}
			return answer.Want(http.StatusOK, &body)
		})
		if body.Data.Firstname != "Ada" {
			t.Errorf("got %+v", body)
		}
	})
}
