package booking

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/service"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

const (
	// mixedClients is the number of concurrent clients, and mixedOrders how many purchases each of
	// them makes.
	mixedClients, mixedOrders = 24, 10
	mixedDates, mixedCapacity = 10, 14
	mixedCredits              = 8
)

// mixedWorld is a world in which two processes sell the same few dates to the same few customers.
type mixedWorld struct {
	*world
	serverCtx context.Context
	servers   []*Server
	dates     []string
	buyers    []id.Customer

	mu sync.Mutex
	// sold are the answered purchases, and keys the purchase of each key.
	sold    map[string]bool
	keys    map[string]string
	refused map[string]int
}

func newMixedWorld(t *testing.T) *mixedWorld {
	t.Helper()
	w := &mixedWorld{world: newWorld(t), sold: map[string]bool{}, keys: map[string]string{}, refused: map[string]int{}}
	w.serverCtx = w.serverSide()
	w.servers = []*Server{w.server, NewServer(w.db, outbox.New(w.db, nil, testkit.Log(t), time.Now), w.customers, NewCompanies(w.db, w.companies), w.passes)}
	for range mixedDates {
		w.dates = append(w.dates, w.passEvent(new(int32(mixedCapacity)), time.Hour, nil).GetDates()[0].GetId())
	}
	for n := range 6 {
		buyer := w.customer(w.company, fmt.Sprint("C", n))
		w.passes.give(buyer, mixedCredits)
		w.buyers = append(w.buyers, buyer)
	}
	return w
}

// order returns a random purchase of one to three dates, in any order.
func (w *mixedWorld) order(r *rand.Rand) *bookingv1.CreateTransactionRequest {
	req := &bookingv1.CreateTransactionRequest{
		PurchaserId: w.buyers[r.IntN(len(w.buyers))].String(), PaymentMethod: bookingv1.PaymentMethod(1 + r.IntN(2)),
	}
	for _, n := range r.Perm(len(w.dates))[:1+r.IntN(3)] {
		req.Lines = append(req.Lines, &bookingv1.TransactionLine{EventDateId: w.dates[n], Spaces: int32(1 + r.IntN(2))})
	}
	return req
}

// work makes the purchases of a client. Most have a key, which several callers use at once, and one
// of them sometimes with another request.
func (w *mixedWorld) work(client int) {
	r := rand.New(rand.NewPCG(uint64(client), 11))
	for n := range mixedOrders {
		req, other := w.order(r), w.order(r)
		if r.IntN(3) == 0 {
			w.buy(w.serverCtx, client, "", req)
			continue
		}
		key := fmt.Sprint(client, "-", n)
		ctx := idem.WithKey(w.serverCtx, key, "buyer", "transactions")
		if r.IntN(3) > 0 {
			other = req
		}
		together(3, func(caller int) {
			if caller < 2 {
				w.buy(ctx, client+caller, key, req)
			} else {
				w.buy(ctx, client+caller, key, other)
			}
		})
	}
}

// buy makes a purchase at one of the processes until its outcome is known, and records it.
func (w *mixedWorld) buy(ctx context.Context, process int, key string, req *bookingv1.CreateTransactionRequest) {
	var resp *bookingv1.CreateTransactionResponse
	var err error
	// The job finishes after half a minute what an attempt could not undo in time.
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		resp, err = w.servers[process%len(w.servers)].CreateTransaction(ctx, req)
		if err == nil || fault.From(err).Reason != fault.ReasonIdempotencyInProgress && !fault.Is(err, fault.Unavailable) {
			break // otherwise another attempt with the key is in progress, or is being undone
		}
		if time.Now().After(deadline) {
			w.t.Errorf("the outcome of %q is not known: %v", key, err)
			return
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		reason := fault.From(err).Reason
		if !slices.Contains([]string{model.ReasonEventFull, "PASS_EXHAUSTED", fault.ReasonIdempotencyKeyReused}, reason) {
			w.t.Errorf("%v", err)
		}
		w.refused[reason]++
		return
	}
	bought := resp.GetTransaction().GetId()
	w.sold[bought] = true
	if key == "" {
		return
	}
	if before := w.keys[key]; before != "" && before != bought {
		w.t.Errorf("key %s was answered with %s and %s", key, before, bought)
	}
	w.keys[key] = bought
}

// TestMixedPurchases lets many clients buy from two processes: one or several dates, by card and by
// pass, with and without a key. Their purchases share commits.
func TestMixedPurchases(t *testing.T) { // invariants 1, 2 and 15
	t.Parallel()
	w := newMixedWorld(t)
	ctx, stop := context.WithCancel(t.Context())
	var jobs sync.WaitGroup
	jobs.Go(func() {
		_ = service.NewJobs(testkit.Log(t)).Every(ctx, "undo_pending", expiriesEvery, w.server.undoPending)
	})
	together(mixedClients, w.work)
	stop()
	jobs.Wait()
	for _, reason := range []string{model.ReasonEventFull, "PASS_EXHAUSTED", fault.ReasonIdempotencyKeyReused} {
		if w.refused[reason] == 0 {
			t.Errorf("nothing was refused with %s, so the test does not contend for it: %v", reason, w.refused)
		}
	}
	w.settleDown() // undoes what failed on the way
	if open := one[int64](w.world, `select count(*) from transactions where status not in ('confirmed', 'released')`); open != 0 {
		t.Errorf("%d purchases are neither confirmed nor released", open)
	}
	if n := one[int64](w.world, `select count(*) from transactions where status = 'confirmed'`); n != int64(len(w.sold)) {
		t.Errorf("%d purchases are stored, %d were answered", n, len(w.sold))
	}
	if n := one[int64](w.world, `select count(*) from bookings b join transactions t on t.company_id = b.company_id and t.id = b.transaction_id
		where t.status = 'confirmed'`); n != w.published(subjectBookingConfirmed) {
		t.Errorf("%d bookings are stored, %d were published", n, w.published(subjectBookingConfirmed))
	}
	for pass, left := range w.passes.left {
		if left < 0 {
			t.Errorf("pass %s has %d credits", pass, left)
		}
	}
	w.verify()
	w.reconcile()
}
