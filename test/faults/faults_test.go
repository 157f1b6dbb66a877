// Package faults breaks a running platform and checks its guarantees. An acknowledged write and
// its event are never lost. While a dependency is unavailable, requests are answered 503, never
// 500, and recover automatically. A streamed document that ends is complete. Revoked credentials
// stay revoked. A purchase happens once or not at all, and spaces and credits add up.
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

// TestFaults breaks one service after another in the same cluster.
func TestFaults(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	// The acknowledged writes of the killed services are compared with the events at the end,
	// because a killed relay keeps the lease of its events for half a minute.
	writers := w.writers(t)
	for _, writer := range writers {
		t.Run(writer.part+" is killed right after it acknowledged a write", func(t *testing.T) { w.testKill(t, writer) })
	}
	t.Run("auth is unavailable", w.testWithoutAuth)
	t.Run("revocation", w.testRevocation)
	t.Run("a stream is interrupted", w.testStream)
	t.Run("NATS is unavailable", w.testWithoutNATS)
	t.Run("PostgreSQL is unavailable", w.testWithoutPostgres)
	t.Run("no event was lost", func(t *testing.T) { w.testEvents(t, writers) })
	t.Run("every operation answered 503 as described", w.testDescribed)
}

// world is the cluster, with the description that every answer must match.
type world struct {
	*harness.Cluster
	root *testing.T // the test of the cluster
	op   *harness.Operator
	// probe is an API client, with the customer whose data it reads to see whether the platform
	// works.
	probe    harness.Credential
	customer string
	contract *openapitest.Contract
}

func newWorld(t *testing.T) *world {
	// A request that never ends delays the end of a service by its whole drain time.
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

// client returns a client of one of the gateways (0 or 1). Every answer is checked against the
// description.
func (w *world) client(t *testing.T, gateway int) *harness.A {
	a := harness.NewA(t, w.Gateways[gateway])
	a.Transport = w.contract.Transport(t, a.Transport)
	return a
}

// testDescribed checks that every operation answered 503 at least once.
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

// oneRequestOfEachKind returns one request of each kind that needs a token.
func oneRequestOfEachKind(customer, token string) []harness.Request {
	return []harness.Request{
		{Path: "/customers", Token: token}, {Path: "/customers?page=0", Token: token},
		{Path: profilePath(customer), Token: token}, {Path: bookingsPath(customer), Token: token},
		{Method: http.MethodPut, Path: profilePath(customer), Token: token, Body: update},
	}
}

// awaitBack returns when both gateways answer every request. A broken connection is only retried
// after a pause.
func (w *world) awaitBack(t *testing.T, customer, token string) {
	t.Helper()
	for gateway := range w.Gateways {
		a := w.client(t, gateway)
		for _, r := range oneRequestOfEachKind(customer, token) {
			harness.Eventually(t, backLimit, func() error { return code(t.Context(), a, r, http.StatusOK) })
		}
	}
}

// settle returns when the platform works again after a fault, and gives the operator new
// connections.
func (w *world) settle(t *testing.T) {
	t.Helper()
	w.op = w.Operator(w.root)
	for gateway := range w.Gateways {
		a := w.client(t, gateway)
		harness.Eventually(t, backLimit, func() error { return code(t.Context(), a, harness.TokenRequest(w.probe), http.StatusOK) })
	}
	w.awaitBack(t, w.customer, w.client(t, 0).Token(t, w.probe))
}

// checkUnavailable checks an answer that a request gets while a dependency is unavailable.
func checkUnavailable(t *testing.T, answer harness.Answer) {
	t.Helper()
	if answer.Code != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" {
		t.Errorf("answered %d, Retry-After %q: %s", answer.Code, answer.Header.Get("Retry-After"), answer.Body)
	}
}

// backLimit is the time within which the platform recovers after a dependency is available again. It takes seconds,
// and longer while several clusters share a loaded machine.
const backLimit = time.Minute

func profilePath(id string) string  { return "/customer/" + id + "/profile" }
func bookingsPath(id string) string { return "/customer/" + id + "/bookings" }

const update = `{"firstname":"Ada","lastname":"Lovelace","email":"ada@example.org"}`
