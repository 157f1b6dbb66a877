package operations

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"reservation.dev/test/harness"
)

// pace is the pause between two requests of a client. buyers and others are the numbers of
// clients of each kind.
const (
	pace   = 15 * time.Millisecond
	buyers = 4
	others = 2
)

// traffic is the load from clients while processes are replaced.
type traffic struct {
	w          *world
	a, b, desk *balancer
	stop       context.CancelFunc
	people     sync.WaitGroup
	answers    atomic.Int64
	orders     atomic.Int64 // makes keys and names unique

	mu     sync.Mutex
	now    string              // the phase
	sold   map[string]bool     // acknowledged registrations, and whether they are cancelled
	faults []string            // answers that no client should get
	broken map[string][]string // connections, by phase
	counts map[string]int64    // answers at the beginning, by phase
	phases []string
}

// open starts the traffic, which ends with close or with the test. Idempotency keys are numbered
// from from.
func (w *world) open(t *testing.T, from int64) *traffic {
	t.Helper()
	f := &traffic{w: w, sold: map[string]bool{}, broken: map[string][]string{}, counts: map[string]int64{}}
	f.orders.Store(from)
	f.phase("before")
	processes := func(part string) (list []*harness.Part) {
		for i := range replicas {
			list = append(list, w.Part(processName(part, i)))
		}
		return list
	}
	f.a = balance(t, f.cut, processes("gateway-a"), w.Gateways)
	f.b = balance(t, f.cut, processes("gateway-b"), w.GatewaysB)
	f.desk = balance(t, f.cut, processes("admin"), w.Dashboards)
	ctx, stop := context.WithCancel(context.Background())
	f.stop = stop
	t.Cleanup(f.close)
	for range buyers {
		f.loop(ctx, "buyer", f.buy)
	}
	for range others {
		f.loop(ctx, "reader", f.read)
	}
	f.loop(ctx, "owner", f.manage)
	f.awaitAnswers(t, 100)
	return f
}

func (f *traffic) close() {
	f.stop()
	f.people.Wait()
}

// loop calls do in a loop until ctx ends. The last call is completed.
func (f *traffic) loop(ctx context.Context, name string, do func(ctx context.Context) error) {
	f.people.Go(func() {
		for ctx.Err() == nil {
			if err := do(context.WithoutCancel(ctx)); err != nil {
				f.mu.Lock()
				f.faults = append(f.faults, fmt.Sprintf("%s, %s: %.400v", f.now, name, err))
				f.mu.Unlock()
			}
			select {
			case <-ctx.Done():
			case <-time.After(pace):
			}
		}
	})
}

func (f *traffic) phase(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = name
	f.phases = append(f.phases, name)
	f.counts[name] = f.answers.Load()
}

func (f *traffic) cut(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.broken[f.now] = append(f.broken[f.now], err.Error())
}

// awaitAnswers returns after n further answers.
func (f *traffic) awaitAnswers(t *testing.T, n int64) {
	t.Helper()
	from := f.answers.Load()
	harness.Eventually(t, answerLimit, func() error {
		if got := f.answers.Load() - from; got < n {
			return fmt.Errorf("%d of %d answers", got, n)
		}
		return nil
	})
}

// sales returns the acknowledged registrations, and whether they are cancelled.
func (f *traffic) sales() map[string]bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.sold
}

// report logs the traffic of each phase, and fails t with the answers that no client should get.
func (f *traffic) report(t *testing.T) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, name := range f.phases {
		until := f.answers.Load()
		if i+1 < len(f.phases) {
			until = f.counts[f.phases[i+1]]
		}
		t.Logf("%s: %d answers, %d connections broke %v", name, until-f.counts[name], len(f.broken[name]), f.broken[name][:min(len(f.broken[name]), 3)])
	}
	for _, fault := range f.faults[:min(len(f.faults), 20)] {
		t.Error(fault)
	}
	if len(f.faults) > 20 {
		t.Errorf("and %d more faults", len(f.faults)-20)
	}
}

// checkUnbroken fails t if connections broke in one of the phases.
func (f *traffic) checkUnbroken(t *testing.T, phases ...string) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range phases {
		if !slices.Contains(f.phases, name) {
			t.Errorf("there was no phase %q", name)
		}
		for _, fault := range f.broken[name] {
			t.Errorf("%s: %s", name, fault)
		}
	}
}

// ask makes a request and checks its status.
func (f *traffic) ask(ctx context.Context, b *balancer, r harness.Request, code int, into any) (lost int, err error) {
	answer, lost, err := b.do(ctx, r)
	if err != nil {
		return lost, err
	}
	f.answers.Add(1)
	if err := answer.Want(code, into); err != nil {
		return lost, fmt.Errorf("%s %s: %w", r.Method, r.Path, err)
	}
	return lost, nil
}

// randomCustomer returns a random customer.
func (w *world) randomCustomer() string { return w.people[rand.IntN(len(w.people))] }

// buy gets a new token, buys a space by card or pass, reads the registration, and sometimes
// cancels it.
func (f *traffic) buy(ctx context.Context) error {
	var in struct{ Token string }
	if _, err := f.ask(ctx, f.b, harness.KeyTokenRequest(f.w.key), http.StatusOK, &in); err != nil {
		return err
	}
	path := "/events/" + f.w.event.GetId() + "/registrations"
	for range 5 {
		order := f.orders.Add(1)
		method := []string{"CARD", "PASS"}[order%2]
		var made struct{ ID string }
		if _, err := f.ask(ctx, f.b, harness.Request{
			Method: http.MethodPost, Path: path, Token: in.Token, Header: http.Header{"Idempotency-Key": {fmt.Sprint("order-", order)}},
			Body: fmt.Sprintf(`{"customerId":%q,"spots":1,"payment":{"method":%q}}`, f.w.randomCustomer(), method),
		}, http.StatusCreated, &made); err != nil {
			return err
		}
		f.note(made.ID, false)
		one := harness.Request{Method: http.MethodGet, Path: path + "/" + made.ID, Token: in.Token}
		if _, err := f.ask(ctx, f.b, one, http.StatusOK, nil); err != nil {
			return err
		}
		if rand.IntN(3) == 0 {
			if err := f.cancel(ctx, path+"/"+made.ID, in.Token); err != nil {
				return err
			}
			f.note(made.ID, true)
		}
	}
	return nil
}

func (f *traffic) note(registration string, cancelled bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sold[registration] = cancelled
}

// cancel cancels a registration. "Already cancelled" is only acceptable after an attempt without
// an answer.
func (f *traffic) cancel(ctx context.Context, path, token string) error {
	answer, lost, err := f.b.do(ctx, harness.Request{Method: http.MethodDelete, Path: path, Token: token})
	if err != nil {
		return err
	}
	f.answers.Add(1)
	if lost > 0 && answer.Reason() == "ALREADY_CANCELLED" {
		return nil
	}
	return answer.Want(http.StatusOK, nil)
}

// read gets a new token, reads on Interface A, and changes a profile.
func (f *traffic) read(ctx context.Context) error {
	var in struct {
		Token string `json:"access_token"`
	}
	if _, err := f.ask(ctx, f.a, harness.TokenRequest(f.w.client), http.StatusOK, &in); err != nil {
		return err
	}
	for range 3 {
		customer := f.w.randomCustomer()
		for _, r := range []harness.Request{
			{Method: http.MethodGet, Path: "/customers"},
			{Method: http.MethodGet, Path: "/customer/" + customer + "/profile"},
			{Method: http.MethodGet, Path: "/customer/" + customer + "/bookings"},
			{Method: http.MethodPut, Path: "/customer/" + customer + "/profile", Body: fmt.Sprintf(`{"firstname":"Ada %d","lastname":"Lovelace","email":"ada@example.org"}`, f.orders.Add(1))},
		} {
			r.Token = in.Token
			if _, err := f.ask(ctx, f.a, r, http.StatusOK, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// manage opens pages of the dashboard.
func (f *traffic) manage(ctx context.Context) error {
	for _, path := range []string{"/", "/customers", "/events/" + f.w.event.GetId(), "/settings/webhooks"} {
		r := harness.Request{Method: http.MethodGet, Path: path, Host: harness.DashboardHost, Header: http.Header{"Cookie": {"session=" + f.w.session}}}
		if _, err := f.ask(ctx, f.desk, r, http.StatusOK, nil); err != nil {
			return err
		}
	}
	return nil
}
