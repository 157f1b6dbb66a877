package booking

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// sellingWorld is a world in which three processes sell three events to the same customers, while
// the pass service fails sometimes.
type sellingWorld struct {
	*world
	serverCtx context.Context
	servers   []*Server
	skew      atomic.Int64       // how far the servers' clocks are ahead, as a time.Duration
	events    []*bookingv1.Event // the last one has no limit
	buyers    []id.Customer
}

func newSellingWorld(t *testing.T) *sellingWorld {
	t.Helper()
	w := &sellingWorld{world: newWorld(t)}
	w.serverCtx = w.serverSide()
	eight := int32(8)
	w.events = []*bookingv1.Event{w.passEvent(&eight, time.Hour, nil), w.passEvent(&eight, time.Hour, nil), w.passEvent(nil, time.Hour, nil)}
	req := percent("TEN", 1000)
	req.MaxUses = proto.Int32(10)
	w.code(req)
	for i := range 6 {
		c := w.customer(w.company, fmt.Sprint("C", i))
		w.passes.give(c, 15)
		w.buyers = append(w.buyers, c)
		w.mustBook(w.ctx, c, w.events[2], 1) // puts every customer in the copy
	}
	var faults atomic.Int64
	flaky := func(string) error {
		if faults.Add(1)%7 == 0 {
			return errPassAway
		}
		return nil
	}
	w.passes.before, w.passes.after = flaky, flaky
	w.servers = []*Server{w.server}
	for range 2 {
		w.servers = append(w.servers, NewServer(w.db, outbox.New(w.db, nil, testkit.Log(t), time.Now), w.customers, NewCompanies(w.db, w.companies), w.passes))
	}
	for _, s := range w.servers {
		s.now = func() time.Time { return time.Now().Add(time.Duration(w.skew.Load())) }
	}
	return w
}

// serverOf returns the process that a worker calls.
func (w *sellingWorld) serverOf(worker int) *Server { return w.servers[worker%len(w.servers)] }

// work makes a dozen random requests and cancels some of its bookings.
func (w *sellingWorld) work(worker int) {
	expected := []string{model.ReasonEventFull, model.ReasonDiscountInvalid, "PASS_EXHAUSTED", ReasonHoldExpired, fault.ReasonServiceUnavailable, fault.ReasonIdempotencyInProgress, model.ReasonEventPast,
		model.ReasonEventNotFull, model.ReasonAlreadyWaiting, model.ReasonNotOffered}
	r := rand.New(rand.NewPCG(uint64(worker), 7))
	s := w.serverOf(worker)
	for n := range 12 {
		bought, err := w.request(r, worker, n)
		if err != nil && !slices.Contains(expected, fault.From(err).Reason) {
			w.t.Errorf("%v", err)
		}
		if bought != nil && r.IntN(3) > 0 {
			if _, err := s.CancelBooking(w.serverCtx, &bookingv1.CancelBookingRequest{BookingId: bought.GetBookings()[0].GetId()}); err != nil {
				w.t.Error(err)
			}
		}
		if r.IntN(10) == 0 {
			_ = s.expireOnce(w.t.Context()) // the pass service fails sometimes
		}
	}
}

// request makes one random request and returns the resulting purchase.
func (w *sellingWorld) request(r *rand.Rand, worker, n int) (*bookingv1.Transaction, error) {
	buyer, e := w.buyers[r.IntN(len(w.buyers))], w.events[r.IntN(len(w.events))]
	req := &bookingv1.CreateTransactionRequest{
		PurchaserId: buyer.String(), Lines: []*bookingv1.TransactionLine{{EventId: e.GetId(), Spaces: int32(1 + r.IntN(2))}},
	}
	switch r.IntN(10) {
	case 0, 1:
		req.PaymentMethod = byPass
	case 2:
		req.DiscountCode = "TEN"
	case 3:
		req.Lines = append(req.Lines, &bookingv1.TransactionLine{EventId: w.events[r.IntN(3)].GetId()})
	case 6:
		req.PaymentMethod = byPass
		return w.buyUnderOneKey(worker, fmt.Sprint(worker, "-", n), req)
	case 7:
		return nil, w.changeCapacity(r, worker)
	case 8:
		return nil, w.waitToBeBooked(r, worker, buyer, e)
	case 9:
		return w.waitForAnOffer(r, worker, buyer, e)
	default:
		return w.holdPlaces(r, worker, req)
	}
	resp, err := w.serverOf(worker).CreateTransaction(w.serverCtx, req)
	return resp.GetTransaction(), err
}

// buyUnderOneKey makes two concurrent attempts of one request, and a third afterwards.
func (w *sellingWorld) buyUnderOneKey(worker int, key string, req *bookingv1.CreateTransactionRequest) (*bookingv1.Transaction, error) {
	keyed := idem.WithKey(w.serverCtx, key, "buyer", "transactions")
	together(2, func(i int) { _, _ = w.serverOf(worker+i).CreateTransaction(keyed, req) })
	resp, err := w.serverOf(worker).CreateTransaction(keyed, req)
	return resp.GetTransaction(), err
}

// changeCapacity sets a capacity, which is refused if it is less than the booked, held and pending
// spaces.
func (w *sellingWorld) changeCapacity(r *rand.Rand, worker int) error {
	_, err := w.serverOf(worker).UpdateEventDate(w.serverCtx, &bookingv1.UpdateEventDateRequest{Date: &bookingv1.EventDateChange{
		Id: w.events[r.IntN(2)].GetDates()[0].GetId(), Capacity: proto.Int32(int32(6 + r.IntN(4))),
	}})
	if fault.Is(err, fault.Invalid) {
		return nil
	}
	return err
}

// waitToBeBooked joins a waitlist with either payment method, and sometimes leaves it immediately.
func (w *sellingWorld) waitToBeBooked(r *rand.Rand, worker int, buyer id.Customer, e *bookingv1.Event) error {
	s := w.serverOf(worker)
	joined, err := s.JoinWaitlist(w.serverCtx, &bookingv1.JoinWaitlistRequest{
		EventDateId: e.GetDates()[0].GetId(), CustomerId: buyer.String(), Spaces: int32(1 + r.IntN(2)),
		Mode: byBooking, PaymentMethod: bookingv1.PaymentMethod(r.IntN(3)),
	})
	if err == nil && r.IntN(3) == 0 {
		_, err = s.LeaveWaitlist(w.serverCtx, &bookingv1.LeaveWaitlistRequest{Id: joined.GetEntry().GetId()})
	}
	return err
}

// waitForAnOffer joins a waitlist and accepts the offers for that date.
func (w *sellingWorld) waitForAnOffer(r *rand.Rand, worker int, buyer id.Customer, e *bookingv1.Event) (bought *bookingv1.Transaction, err error) {
	s := w.serverOf(worker)
	_, err = s.JoinWaitlist(w.serverCtx, &bookingv1.JoinWaitlistRequest{
		EventDateId: e.GetDates()[0].GetId(), CustomerId: buyer.String(), OfferMinutes: 1,
	})
	list, listErr := s.ListWaitlist(w.serverCtx, &bookingv1.ListWaitlistRequest{EventDateId: e.GetDates()[0].GetId()})
	if listErr != nil {
		w.t.Error(listErr)
	}
	for _, entry := range list.GetEntries() {
		if err == nil && entry.GetState() == bookingv1.WaitlistState_WAITLIST_STATE_OFFERED {
			var resp *bookingv1.AcceptOfferResponse
			resp, err = s.AcceptOffer(w.serverCtx, &bookingv1.AcceptOfferRequest{Id: entry.GetId(), PaymentMethod: bookingv1.PaymentMethod(r.IntN(3))})
			bought = resp.GetTransaction()
		}
	}
	return bought, err
}

// holdPlaces holds spaces and then releases them, confirms them in two processes at the same time,
// or lets them expire.
func (w *sellingWorld) holdPlaces(r *rand.Rand, worker int, req *bookingv1.CreateTransactionRequest) (*bookingv1.Transaction, error) {
	s := w.serverOf(worker)
	held, err := s.HoldPlaces(w.serverCtx, &bookingv1.HoldPlacesRequest{PurchaserId: req.GetPurchaserId(), Lines: req.GetLines(), Minutes: 1})
	if err != nil {
		return nil, err
	}
	switch r.IntN(3) {
	case 0:
		_, err = s.ReleaseHold(w.serverCtx, &bookingv1.ReleaseHoldRequest{HoldId: held.GetHold().GetId()})
		return nil, err
	case 1:
		confirm := &bookingv1.ConfirmHoldRequest{HoldId: held.GetHold().GetId(), PaymentMethod: bookingv1.PaymentMethod(r.IntN(3))}
		var other sync.WaitGroup
		other.Go(func() { _, _ = w.serverOf(worker+1).ConfirmHold(w.serverCtx, confirm) })
		resp, err := s.ConfirmHold(w.serverCtx, confirm)
		other.Wait()
		return resp.GetTransaction(), err
	default:
		return nil, nil
	}
}

// settle advances the clock until no work is left. A failed step is retried after a delay, and a
// space that nobody accepts is offered to one waiting customer after another.
func (w *sellingWorld) settle() {
	w.t.Helper()
	for range 4 + len(w.buyers) {
		w.skew.Add(int64(5 * time.Minute))
		for _, s := range w.servers {
			if err := s.expireOnce(w.t.Context()); err != nil {
				w.t.Fatal(err)
			}
		}
		// Purchases by pass for waiting customers are paid in the background. The next round undoes those that
		// take too long.
		enough := time.Now().Add(model.PendingTime)
		w.eventually("the payments by pass end", func() bool {
			return one[int64](w.world, `select count(*) from transactions where status in ('pending', 'undoing')`) == 0 || time.Now().After(enough)
		})
	}
}

// TestSellingUnderConcurrency lets several processes sell, hold, cancel and undo at the same time
// while the pass service fails sometimes, and then verifies every number.
func TestSellingUnderConcurrency(t *testing.T) { // invariants 1, 12, 13 and 14
	w := newSellingWorld(t)
	together(24, w.work)
	w.verify() // including pending purchases and holds
	w.passes.works()
	w.settle()
	if open := one[string](w.world, `select coalesce(string_agg(status, ', '), '') from transactions where status not in ('confirmed', 'released')`); open != "" {
		t.Errorf("transactions are neither confirmed nor released: %s", open)
	}
	if n := one[int64](w.world, `select count(*) from credit_returns`); n != 0 {
		t.Errorf("%d credits are still owed", n)
	}
	w.verify()
	w.waitlistInStep()
	w.endsInStep()
	w.reconcile()
	w.passes.mu.Lock()
	defer w.passes.mu.Unlock()
	for pass, left := range w.passes.left {
		if left < 0 {
			t.Errorf("pass %s has %d credits", pass, left)
		}
	}
}

// waitlistInStep checks that no entry waits for free spaces that fit it, except entries whose pass
// was refused, and that an entry has only its own spaces.
func (w *world) waitlistInStep() {
	w.t.Helper()
	off, err := pg.Rows[string](w.t.Context(), w.db, pg.AllCompanies(), `
		select format('%s waits for %s of %s free spaces: %s', w.id, w.spaces, d.capacity - d.booked, w.passed_over_reason)
		from waitlist_entries w join event_dates d on d.company_id = w.company_id and d.id = w.event_date_id
		where w.state = 'waiting' and (d.capacity is null or w.spaces <= d.capacity - d.booked)
			and coalesce(w.passed_over_reason, '') not like 'PASS_%'
		union all
		select format('%s is %s with a transaction that is %s, of %s of %s spaces', w.id, w.state, t.status, sum(b.spaces), w.spaces)
		from waitlist_entries w join transactions t on t.company_id = w.company_id and t.id = w.transaction_id
		join bookings b on b.company_id = t.company_id and b.transaction_id = t.id
		group by w.company_id, w.id, t.company_id, t.id having sum(b.spaces) <> w.spaces or not case w.state
			when 'booked' then t.status = 'confirmed' when 'booking' then t.status in ('pending', 'undoing')
			else t.status in ('held', 'pending', 'undoing') end`)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, line := range off {
		w.t.Error(line)
	}
	if n := one[int64](w, `select count(*) from waitlist_entries where state = 'booked'`); n == 0 {
		w.t.Error("no waitlist entry was booked")
	}
}
