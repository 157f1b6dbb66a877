package booking

import (
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

// TestSellingUnderConcurrency lets several processes sell, hold, cancel and undo at
// once while the pass service fails now and then, and holds the books to it.
func TestSellingUnderConcurrency(t *testing.T) { // invariants 1, 12, 13 and 14
	w := newWorld(t)
	eight := int32(8)
	events := []*bookingv1.Event{w.passEvent(&eight, time.Hour, nil), w.passEvent(&eight, time.Hour, nil), w.passEvent(nil, time.Hour, nil)}
	req := percent("TEN", 1000)
	req.MaxUses = proto.Int32(10)
	w.code(req)
	var customers []id.Customer
	for i := range 6 {
		c := w.customer(w.company, fmt.Sprint("C", i))
		w.passes.give(c, 15)
		customers = append(customers, c)
		w.mustBook(w.ctx, c, events[2], 1) // now the copy has everyone
	}
	var faults atomic.Int64
	flaky := func(string) error {
		if faults.Add(1)%7 == 0 {
			return errPassAway
		}
		return nil
	}
	w.passes.before, w.passes.after = flaky, flaky
	servers := []*Server{w.server}
	for range 2 {
		servers = append(servers, NewServer(w.db, outbox.New(w.db, nil, testkit.Log(t), time.Now), w.customers, NewCompanies(w.db, w.companies), w.passes))
	}
	var skew atomic.Int64
	for _, s := range servers {
		s.now = func() time.Time { return time.Now().Add(time.Duration(skew.Load())) }
	}
	ctx := w.serverSide()
	expected := []string{model.ReasonEventFull, model.ReasonDiscountInvalid, "PASS_EXHAUSTED", ReasonHoldExpired, fault.ReasonServiceUnavailable, fault.ReasonIdempotencyInProgress, model.ReasonEventPast,
		model.ReasonEventNotFull, model.ReasonAlreadyWaiting, model.ReasonNotOffered}
	var wg sync.WaitGroup
	for worker := range 24 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(worker), 7))
			s := servers[worker%len(servers)]
			for n := range 12 {
				buyer, e := customers[r.IntN(len(customers))], events[r.IntN(len(events))]
				lines := []*bookingv1.TransactionLine{{EventId: e.GetId(), Spaces: int32(1 + r.IntN(2))}}
				var bought *bookingv1.Transaction
				var err error
				switch r.IntN(10) {
				case 6: // two attempts of one request at once, and a third after them
					req := &bookingv1.CreateTransactionRequest{PurchaserId: buyer.String(), PaymentMethod: byPass, Lines: lines}
					keyed := idem.WithKey(ctx, fmt.Sprint(worker, "-", n), "buyer")
					var both sync.WaitGroup
					for i := range 2 {
						both.Go(func() { _, _ = servers[(worker+i)%len(servers)].CreateTransaction(keyed, req) })
					}
					both.Wait()
					var resp *bookingv1.CreateTransactionResponse
					resp, err = s.CreateTransaction(keyed, req)
					bought = resp.GetTransaction()
				case 7: // never below what is booked, held and pending
					_, err = s.UpdateEventDate(ctx, &bookingv1.UpdateEventDateRequest{Date: &bookingv1.EventDateChange{
						Id: events[r.IntN(2)].GetDates()[0].GetId(), Capacity: proto.Int32(int32(6 + r.IntN(4))),
					}})
					if fault.Is(err, fault.Invalid) {
						err = nil
					}
				case 8: // by either method, for an offer or at once
					var joined *bookingv1.JoinWaitlistResponse
					joined, err = s.JoinWaitlist(ctx, &bookingv1.JoinWaitlistRequest{
						EventDateId: e.GetDates()[0].GetId(), CustomerId: buyer.String(), Spaces: int32(1 + r.IntN(2)),
						Mode: byBooking, PaymentMethod: bookingv1.PaymentMethod(r.IntN(3)),
					})
					if err == nil && r.IntN(3) == 0 {
						_, err = s.LeaveWaitlist(ctx, &bookingv1.LeaveWaitlistRequest{Id: joined.GetEntry().GetId()})
					}
				case 9:
					_, err = s.JoinWaitlist(ctx, &bookingv1.JoinWaitlistRequest{
						EventDateId: e.GetDates()[0].GetId(), CustomerId: buyer.String(), OfferMinutes: 1,
					})
					list, listErr := s.ListWaitlist(ctx, &bookingv1.ListWaitlistRequest{EventDateId: e.GetDates()[0].GetId()})
					if listErr != nil {
						t.Error(listErr)
					}
					for _, entry := range list.GetEntries() {
						if err == nil && entry.GetState() == bookingv1.WaitlistState_WAITLIST_STATE_OFFERED {
							var resp *bookingv1.AcceptOfferResponse
							resp, err = s.AcceptOffer(ctx, &bookingv1.AcceptOfferRequest{Id: entry.GetId(), PaymentMethod: bookingv1.PaymentMethod(r.IntN(3))})
							bought = resp.GetTransaction()
						}
					}
				case 0, 1:
					var resp *bookingv1.CreateTransactionResponse
					resp, err = s.CreateTransaction(ctx, &bookingv1.CreateTransactionRequest{PurchaserId: buyer.String(), PaymentMethod: byPass, Lines: lines})
					bought = resp.GetTransaction()
				case 2:
					var resp *bookingv1.CreateTransactionResponse
					resp, err = s.CreateTransaction(ctx, &bookingv1.CreateTransactionRequest{PurchaserId: buyer.String(), DiscountCode: "TEN", Lines: lines})
					bought = resp.GetTransaction()
				case 3:
					var resp *bookingv1.CreateTransactionResponse
					lines = append(lines, &bookingv1.TransactionLine{EventId: events[r.IntN(3)].GetId()})
					resp, err = s.CreateTransaction(ctx, &bookingv1.CreateTransactionRequest{PurchaserId: buyer.String(), Lines: lines})
					bought = resp.GetTransaction()
				default:
					var held *bookingv1.HoldPlacesResponse
					held, err = s.HoldPlaces(ctx, &bookingv1.HoldPlacesRequest{PurchaserId: buyer.String(), Lines: lines, Minutes: 1})
					if err != nil {
						break
					}
					switch r.IntN(3) {
					case 0:
						_, err = s.ReleaseHold(ctx, &bookingv1.ReleaseHoldRequest{HoldId: held.GetHold().GetId()})
					case 1:
						var resp *bookingv1.ConfirmHoldResponse
						req := &bookingv1.ConfirmHoldRequest{HoldId: held.GetHold().GetId(), PaymentMethod: bookingv1.PaymentMethod(r.IntN(3))}
						var other sync.WaitGroup
						other.Go(func() { _, _ = servers[(worker+1)%len(servers)].ConfirmHold(ctx, req) })
						resp, err = s.ConfirmHold(ctx, req)
						other.Wait()
						bought = resp.GetTransaction()
					}
				}
				if err != nil && !slices.Contains(expected, fault.From(err).Reason) {
					t.Errorf("%v", err)
				}
				if bought != nil && r.IntN(3) > 0 {
					if _, err := s.CancelBooking(ctx, &bookingv1.CancelBookingRequest{BookingId: bought.GetBookings()[0].GetId()}); err != nil {
						t.Error(err)
					}
				}
				if r.IntN(10) == 0 {
					_ = s.expireOnce(t.Context()) // the pass service fails now and then
				}
			}
		})
	}
	wg.Wait()
	w.verify() // with pending ones and holds
	w.passes.before, w.passes.after = nil, nil
	// What is owed or undone is tried again after a while, and a place that nobody takes
	// is offered to one waiting customer after the other.
	for range 4 + len(customers) {
		skew.Add(int64(5 * time.Minute))
		for _, s := range servers {
			if err := s.expireOnce(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if open := one[string](w, `select coalesce(string_agg(status, ', '), '') from transactions where status not in ('confirmed', 'released')`); open != "" {
		t.Errorf("transactions are neither confirmed nor released: %s", open)
	}
	if n := one[int64](w, `select count(*) from credit_returns`); n != 0 {
		t.Errorf("%d credits are still owed", n)
	}
	w.verify()
	w.waitlistInStep()
	w.reconcile()
	for pass, left := range w.passes.left {
		if left < 0 {
			t.Errorf("pass %s has %d credits", pass, left)
		}
	}
}

// waitlistInStep checks that nobody waits for places that are free and fit, but for
// those whose pass was refused, and that what an entry has is its own.
func (w *world) waitlistInStep() {
	w.t.Helper()
	off, err := pg.Rows[string](w.t.Context(), w.db, pg.AllCompanies(), `
		select format('%s waits for %s of %s free places: %s', w.id, w.spaces, d.capacity - d.booked, w.passed_over_reason)
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
		w.t.Error("nobody who waited was booked")
	}
}
