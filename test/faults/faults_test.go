// Package faults breaks a running platform and holds it to what it promises of
// that: what was answered with a yes is never lost, nor is its event; what is
// away is answered 503 and never 500, and comes back by itself; a document that
// ends is whole; what was revoked stays so; a purchase happens once, or not at all,
// and places and credits add up.
package faults

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"reservation.dev/devkit/testkit/openapitest"
	"reservation.dev/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// TestFaults breaks one part after the other of one cluster, which must come
// through all of it.
func TestFaults(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	// What the killed parts said yes to is compared with the events at the end:
	// a relay that dies holds its events for half a minute.
	writers := w.writers(t)
	for _, writer := range writers {
		t.Run(writer.part+" is killed right after a yes", func(t *testing.T) { w.testKill(t, writer) })
	}
	t.Run("auth is away", w.testAuthAway)
	t.Run("revocation", w.testRevocation)
	t.Run("a stream breaks", w.testStream)
	t.Run("NATS is away", w.testNATSAway)
	t.Run("PostgreSQL is away", w.testPostgresAway)
	t.Run("no event was lost", func(t *testing.T) { w.testEvents(t, writers) })
	t.Run("nothing was answered that is not described", w.testDescribed)
}

// world is the cluster and what its answers are held to.
type world struct {
	*harness.Cluster
	root *testing.T // lives as long as the cluster
	op   *harness.Operator
	// probe is a client, and of whom it asks to see whether all is well.
	probe    harness.Credential
	customer string
	contract *openapitest.Contract
}

func newWorld(t *testing.T) *world {
	// A request that never ends holds up a part's end for the time of its drain.
	options := harness.ClusterOptions{Gateways: 2, Env: map[string]string{"SHUTDOWN_DRAIN": "2s"}}
	w := &world{Cluster: harness.StartCluster(t, options), root: t}
	w.op = w.Operator(t)
	described := w.A(t).Do(t, harness.Request{Path: "/openapi.yaml"})
	described.Into(t, http.StatusOK, nil)
	w.contract = openapitest.Load(t, described.Body, "")
	c := w.op.NewCompany(t, "Europe/London")
	w.probe, w.customer = c.NewClient(t), c.ImportCustomers(t, "probe", 1)[0]
	return w
}

// client returns a client of one of the gateways (0 or 1) whose every answer is
// held to the description.
func (w *world) client(t *testing.T, gateway int) *harness.A {
	a := harness.NewA(t, w.Gateways[gateway])
	a.Transport = w.contract.Transport(t, a.Transport)
	return a
}

// testDescribed makes sure that there was a 503 of each operation to look at.
func (w *world) testDescribed(t *testing.T) {
	for _, operation := range w.contract.Operations() {
		if !w.contract.Seen(operation, http.StatusServiceUnavailable) {
			t.Errorf("%s never answered 503", operation)
		}
	}
}

// code returns an error unless the request is answered with the given status.
func code(ctx context.Context, a *harness.A, r harness.Request, want int) error {
	answer, err := a.Try(ctx, r)
	if err == nil && answer.Code != want {
		err = fmt.Errorf("%s answered %d, want %d: %s", r.Path, answer.Code, want, answer.Body)
	}
	return err
}

// everything is a request of each kind that a token is for.
func everything(customer, token string) []harness.Request {
	return []harness.Request{
		{Path: "/customers", Token: token}, {Path: "/customers?page=0", Token: token},
		{Path: profilePath(customer), Token: token}, {Path: bookingsPath(customer), Token: token},
		{Method: http.MethodPut, Path: profilePath(customer), Token: token, Body: update},
	}
}

// awaitBack returns once both gateways answer everything: a connection that was
// cut waits for a moment before it is taken up again.
func (w *world) awaitBack(t *testing.T, customer, token string) {
	t.Helper()
	for gateway := range w.Gateways {
		a := w.client(t, gateway)
		for _, r := range everything(customer, token) {
			harness.Eventually(t, backLimit, func() error { return code(t.Context(), a, r, http.StatusOK) })
		}
	}
}

// settle returns once all is well again after something was broken, and gives
// the operator fresh connections.
func (w *world) settle(t *testing.T) {
	t.Helper()
	w.op = w.Operator(w.root)
	for gateway := range w.Gateways {
		a := w.client(t, gateway)
		harness.Eventually(t, backLimit, func() error { return code(t.Context(), a, harness.TokenRequest(w.probe), http.StatusOK) })
	}
	w.awaitBack(t, w.customer, w.client(t, 0).Token(t, w.probe))
}

// away holds an answer to what is said while something is away.
func away(t *testing.T, answer harness.Answer) {
	t.Helper()
	if answer.Code != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" {
		t.Errorf("answered %d, Retry-After %q: %s", answer.Code, answer.Header.Get("Retry-After"), answer.Body)
	}
}

// backLimit is how soon the platform is itself again once what was away is back.
const backLimit = 10 * time.Second

func profilePath(id string) string  { return "/customer/" + id + "/profile" }
func bookingsPath(id string) string { return "/customer/" + id + "/bookings" }

const update = `{"firstname":"Ada","lastname":"Lovelace","email":"ada@example.org"}`
