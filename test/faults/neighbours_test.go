package faults

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/test/harness"
)

// TestNeighbours locks the rows that hundreds of requests of one company wait for, and uses the
// platform as another company while they stay locked.
func TestNeighbours(t *testing.T) {
	t.Parallel()
	cluster := harness.StartCluster(t, harness.ClusterOptions{GatewaysB: 1})
	op := cluster.Operator(t)
	busy, other := newNeighbour(t, cluster, op), newNeighbour(t, cluster, op)
	customers := lockRows(t, cluster.OwnerURL("customer"), `select from customers where company_id = $1 for update`, busy)
	dates := lockRows(t, cluster.OwnerURL("booking"), `select from event_dates where company_id = $1 for update`, busy)

	// One key has enough requests for half a minute only, and a loaded machine may need more.
	var tokens []string
	for range 6 {
		tokens = append(tokens, busy.b.Token(t, busy.company.NewKey(t, 10_000)))
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var all sync.WaitGroup
	var refused atomic.Int64
	send := func(n int, request func(i int) harness.Request) {
		for i := range n {
			all.Go(func() {
				r := request(i)
				r.Token = tokens[i%len(tokens)]
				for ctx.Err() == nil {
					answer, err := busy.b.Try(ctx, r)
					switch {
					case ctx.Err() != nil:
					case err != nil:
						t.Error(err)
					case answer.Code != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "":
						t.Errorf("answered %d, Retry-After %q: %s", answer.Code, answer.Header.Get("Retry-After"), answer.Body)
					case strings.Contains(string(answer.Body), "too many requests of this company are waiting"):
						refused.Add(1)
					}
					select {
					case <-ctx.Done():
					case <-time.After(2 * time.Second):
					}
				}
			})
		}
	}
	send(450, func(int) harness.Request { return busy.rename() })
	send(64, func(i int) harness.Request { return busy.register(fmt.Sprint("key-", i)) })
	harness.Eventually(t, backLimit, func() error {
		if refused.Load() == 0 {
			return errors.New("no request is refused")
		}
		return isAwaited(t.Context(), customers)
	})
	harness.Eventually(t, backLimit, func() error { return isAwaited(t.Context(), dates) })

	t.Run("another company reads, books and creates customers", func(t *testing.T) {
		for i := range 5 {
			for _, request := range []struct {
				harness.Request
				code int
			}{
				{harness.Request{Path: "/events/" + other.event, Token: other.token}, http.StatusOK},
				{harness.Request{Path: "/customers/" + other.customer, Token: other.token}, http.StatusOK},
				{other.register(fmt.Sprint("key-", i)), http.StatusCreated},
				{harness.Request{Path: "/customers", Token: other.token, Body: `{"firstName":"Ann","lastName":"Lee","email":"ann@example.com"}`}, http.StatusCreated},
				{other.rename(), http.StatusOK},
			} {
				answer := other.b.Do(t, request.Request)
				if err := answer.Want(request.code, nil); err != nil {
					t.Errorf("%s %s: %v", request.Method, request.Path, err)
				}
			}
		}
	})
	t.Run("the company itself can still read", func(t *testing.T) {
		for _, path := range []string{"/events/" + busy.event, "/customers/" + busy.customer} {
			busy.b.Do(t, harness.Request{Path: path, Token: busy.token}).Into(t, http.StatusOK, nil)
		}
	})
	// The rows are still locked. A write stops waiting for a date at times, so look more than once.
	for _, locked := range []*pgx.Conn{customers, dates} {
		harness.Eventually(t, backLimit, func() error { return isAwaited(t.Context(), locked) })
	}
	stop()
	all.Wait()
	for _, locked := range []*pgx.Conn{customers, dates} {
		if _, err := locked.Exec(t.Context(), "rollback"); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("the company's requests succeed after the rows are unlocked", func(t *testing.T) {
		for _, r := range []struct {
			harness.Request
			code int
		}{{busy.rename(), http.StatusOK}, {busy.register("after"), http.StatusCreated}} {
			harness.Eventually(t, backLimit, func() error {
				answer, err := busy.b.Try(t.Context(), r.Request)
				if err != nil {
					return err
				}
				return answer.Want(r.code, nil)
			})
		}
	})
}

// neighbour is a company with a customer and an event.
type neighbour struct {
	company                *harness.Company
	b                      *harness.B
	token, customer, event string
}

func newNeighbour(t *testing.T, cluster *harness.Cluster, op *harness.Operator) *neighbour {
	t.Helper()
	n := &neighbour{company: op.NewCompany(t, "Europe/London"), b: harness.NewB(t, cluster.GatewaysB[0])}
	n.token = n.b.Token(t, n.company.NewKey(t, 10_000))
	n.customer = n.company.ImportCustomers(t, "neighbour", 1)[0]
	made, err := op.Events.CreateEvent(n.company.Ctx(t.Context()), &bookingv1.CreateEventRequest{
		Title: "Morning Vinyasa", PricingOptions: []*bookingv1.NewPricingOption{{Name: "Drop-in", Price: 1200}},
		Dates: []*bookingv1.NewEventDate{{StartsAt: timestamppb.New(time.Now().Add(7 * aDay).Truncate(time.Second)), DurationMinutes: 60}},
	})
	if err != nil {
		t.Fatal(err)
	}
	n.event = made.GetEvent().GetId()
	return n
}

// rename returns the request that changes the company's customer.
func (n *neighbour) rename() harness.Request {
	return harness.Request{Method: http.MethodPatch, Path: "/customers/" + n.customer, Token: n.token, Body: `{"firstName":"Ann"}`}
}

// register returns the request that books the company's event, under an Idempotency-Key.
func (n *neighbour) register(key string) harness.Request {
	return harness.Request{
		Path: "/events/" + n.event + "/registrations", Token: n.token, Body: fmt.Sprintf(`{"customerId":%q,"spots":1}`, n.customer),
		Header: http.Header{"Idempotency-Key": {key}},
	}
}

// lockRows locks rows of a company until the returned session ends its transaction.
func lockRows(t *testing.T, url, sql string, n *neighbour) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	company, err := id.Parse[id.Company](n.company.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "begin"); err != nil {
		t.Fatal(err)
	}
	tag, err := conn.Exec(t.Context(), sql, company)
	if err != nil || tag.RowsAffected() == 0 {
		t.Fatalf("%d rows are locked: %v", tag.RowsAffected(), err)
	}
	return conn
}

// isAwaited returns an error unless a session waits for the transaction of conn to end.
func isAwaited(ctx context.Context, conn *pgx.Conn) error {
	var waits bool
	err := conn.QueryRow(ctx, `select exists (select from pg_locks
		where not granted and transactionid = pg_current_xact_id()::xid)`).Scan(&waits)
	if err == nil && !waits {
		err = errors.New("no session waits for the locked rows")
	}
	return err
}
