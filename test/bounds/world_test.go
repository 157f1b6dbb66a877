package bounds

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/rpc"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
	"reservation.dev/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

const (
	megabyte = 1 << 20
	// mostAnswer is the maximum size of an answer to a refused request, in bytes.
	mostAnswer = 64 << 10
	// limit is the maximum duration of a refusal, and of a neighbour's request.
	limit = time.Second
	// workers is the number of concurrent attackers.
	workers = 2
)

// world is a running platform with an attacking company and a neighbour company.
type world struct {
	*harness.Standalone
	attacker, neighbour side
	conns               map[string]*grpc.ClientConn // by the name of the service
}

// side is a company with its credentials.
type side struct {
	company  *harness.Company
	customer string
	a, b     *harness.A
	tokens   map[*harness.A]string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	// A connection that ends because of its age has not been broken by an attack.
	platform := harness.StartStandalone(t, harness.StandaloneOptions{Env: map[string]string{"GRPC_CONNECTION_AGE": "2h"}})
	w := &world{Standalone: platform, conns: map[string]*grpc.ClientConn{}}
	op := w.Operator(t)
	w.attacker, w.neighbour = w.side(t, op), w.side(t, op)
	for name, addr := range map[string]string{
		"auth": w.Auth, "customer": w.Customer, "booking": w.Booking, "pass": w.Pass, "subscription": w.Subscription, "media": w.Media, "reports": w.Reports, "webhook": w.Webhook, "privacy": w.Customer,
	} {
		conn, err := rpc.Dial(addr, rpc.DialOptions{Timeout: 30 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		w.conns[name] = conn
	}
	return w
}

func (w *world) side(t *testing.T, op *harness.Operator) side {
	t.Helper()
	s := side{company: op.NewCompany(t, "Europe/London"), a: w.A(t), b: w.A(t), tokens: map[*harness.A]string{}}
	s.b.BaseURL = w.Credentials.InterfaceB.BaseURL
	s.customer = s.company.NewCustomer(t, "Ada", "Byron").GetId()
	s.tokens[s.a] = s.a.Token(t, s.company.NewClient(t))
	s.tokens[s.b] = (&harness.B{A: *s.b}).Token(t, s.company.NewKey(t, 10_000))
	return s
}

// do makes a request with the company's credentials.
func (s side) do(ctx context.Context, face *harness.A, r harness.Request) (harness.Answer, error) {
	r.Token = s.tokens[face]
	return face.Try(ctx, r)
}

// quickest makes a request up to ten times until one takes less than the limit, and returns the
// shortest time. Other work on the machine may delay some of them, but a request that causes too
// much work is slow every time.
func quickest(request func()) time.Duration {
	shortest := time.Duration(math.MaxInt64)
	for range 10 {
		began := time.Now()
		request()
		if shortest = min(shortest, time.Since(began)); shortest <= limit {
			break
		}
	}
	return shortest
}

// undisturbed makes requests of the neighbour until attack returns, on the connections and
// gateways that attack uses. It fails t if a request fails, a connection breaks, or more than one in
// ten requests takes too long. Other work on the machine may delay some of them.
func (w *world) undisturbed(t *testing.T, attack func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	calls := w.calls()
	made, slow := make([]int, len(calls)), make([]int, len(calls))
	for i, call := range calls {
		group.Go(func() {
			for ctx.Err() == nil {
				began := time.Now()
				if err := call(t.Context()); err != nil {
					t.Errorf("the neighbour: %v", err)
					return
				}
				if time.Since(began) > 5*limit {
					slow[i]++
				}
				made[i]++
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
	for name, conn := range w.conns {
		conn.Connect()
		for state := conn.GetState(); state != connectivity.Ready; state = conn.GetState() {
			conn.WaitForStateChange(t.Context(), state)
		}
		group.Go(func() {
			if conn.WaitForStateChange(ctx, connectivity.Ready) {
				t.Errorf("the connection to %s broke", name)
			}
		})
	}
	attack()
	cancel()
	group.Wait()
	for i, n := range made {
		if n == 0 {
			t.Errorf("the neighbour's request %d was never answered", i)
		}
		if slow[i]*10 > n {
			t.Errorf("%d of %d times, the neighbour waited more than %s for request %d", slow[i], n, 5*limit, i)
		}
	}
}

// calls returns the neighbour's requests.
func (w *world) calls() []func(context.Context) error {
	n := w.neighbour
	rest := func(face *harness.A, path string) func(context.Context) error {
		return func(ctx context.Context) error {
			answer, err := n.do(ctx, face, harness.Request{Path: path})
			if err == nil && answer.Code != http.StatusOK {
				err = fmt.Errorf("%s: %d %s", path, answer.Code, answer.Body)
			}
			return err
		}
	}
	call := func(name, method string, req, res proto.Message) func(context.Context) error {
		return func(ctx context.Context) error {
			if err := w.conns[name].Invoke(n.company.Ctx(ctx), method, req, res); err != nil {
				return fmt.Errorf("%s: %w", method, err)
			}
			return nil
		}
	}
	return []func(context.Context) error{
		rest(n.a, "/customer/"+n.customer+"/profile"),
		rest(n.b, "/customers/"+n.customer),
		call("auth", authv1.CompanyService_GetCompany_FullMethodName, &authv1.GetCompanyRequest{}, &authv1.GetCompanyResponse{}),
		call("customer", customerv1.CustomerService_GetCustomer_FullMethodName, &customerv1.GetCustomerRequest{Id: n.customer}, &customerv1.GetCustomerResponse{}),
		call("booking", bookingv1.EventService_ListEvents_FullMethodName, &bookingv1.ListEventsRequest{}, &bookingv1.ListEventsResponse{}),
		call("pass", passv1.PassService_ListPassTypes_FullMethodName, &passv1.ListPassTypesRequest{}, &passv1.ListPassTypesResponse{}),
		call("webhook", webhookv1.WebhookService_ListEndpoints_FullMethodName, &webhookv1.ListEndpointsRequest{}, &webhookv1.ListEndpointsResponse{}),
	}
}

// each calls do for every item, a few at the same time.
func each[T any](items []T, do func(T)) {
	queue := make(chan T)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for item := range queue {
				do(item)
			}
		})
	}
	for _, item := range items {
		queue <- item
	}
	close(queue)
	group.Wait()
}
