package faults

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

	"reservation.dev/platform/fault"
	"reservation.dev/platform/rpc"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/test/harness"
)

const (
	// concurrentOrders is the number of orders, and atATime how many run concurrently.
	concurrentOrders = 1000
	atATime          = 300
)

// testConcurrency runs hundreds of concurrent purchases, holds, cancellations and refunds over gRPC
// against two replicas of each service, while the capacities of the dates grow and shrink.
func (m *salesCluster) testConcurrency(t *testing.T, s *seller) {
	op := m.Operator(t)
	began := time.Now()
	var wg sync.WaitGroup
	var changes, resized atomic.Int64
	for range atATime {
		wg.Go(func() {
			for o := s.newOrder(); o != nil; o = s.newOrder() {
				ctx, cancel := context.WithTimeout(t.Context(), orderLimit)
				err := s.trade(ctx, op, o)
				cancel()
				if err != nil {
					t.Errorf("order %d: %v", o.guest, err)
				}
				if rand.IntN(8) > 0 {
					continue
				}
				changes.Add(1)
				taken, err := s.resize(t.Context(), op)
				if err != nil {
					t.Error(err)
				}
				if taken {
					resized.Add(1)
				}
			}
		})
	}
	wg.Wait()
	took := time.Since(began)
	t.Logf("%d orders, %d at a time, in %s; %d of %d capacity changes were accepted", concurrentOrders, atATime, took.Round(time.Millisecond), resized.Load(), changes.Load())
	if !t.Failed() {
		s.audit(t)
	}
}

// resize changes the capacity of the first date to about its number of bookings, and reports
// whether the change was accepted. It is refused if the date has more bookings by then.
func (s *seller) resize(ctx context.Context, op *harness.Operator) (taken bool, err error) {
	ctx = s.company.Ctx(ctx)
	now, err := op.Events.GetEvent(ctx, &bookingv1.GetEventRequest{Id: s.events[0].GetId()})
	if err != nil {
		return false, err
	}
	date := now.GetEvent().GetDates()[0]
	_, err = op.Events.UpdateEventDate(ctx, &bookingv1.UpdateEventDateRequest{
		Date: &bookingv1.EventDateChange{Id: date.GetId(), Capacity: proto.Int32(max(1, date.GetBooked()-3+int32(rand.IntN(10))))},
	})
	if f := fault.From(err); err != nil && (f.Kind != fault.Invalid || len(f.Fields) != 1 || f.Fields[0].Field != "date.capacity") {
		return false, fmt.Errorf("capacity: %w", err)
	}
	return err == nil, nil
}

// trade places an order over gRPC in one of several ways, and sometimes cancels or refunds its
// bookings.
func (s *seller) trade(ctx context.Context, op *harness.Operator, o *order) error {
	ctx = s.company.Ctx(ctx)
	var bought *bookingv1.Transaction
	var err error
	switch rand.IntN(4) {
	case 0:
		bought, err = s.hold(ctx, op, o)
	case 1:
		bought, err = s.buy(rpc.WithIdempotencyKey(ctx, o.key()), op, o)
	default:
		bought, err = s.buy(ctx, op, o)
	}
	switch f := fault.From(err); {
	case err == nil:
	case slices.Contains(refusals(), f.Reason):
		return nil
	default:
		return err
	}
	for _, b := range bought.GetBookings() {
		o.sold[b.GetId()] = &sold{}
		switch rand.IntN(6) {
		case 0, 1:
			if err := s.cancelAtOnce(ctx, op, o, b.GetId()); err != nil {
				return err
			}
		case 2:
			if _, err := op.Bookings.RefundBooking(ctx, &bookingv1.RefundBookingRequest{BookingId: b.GetId()}); err != nil {
				return fmt.Errorf("refund: %w", err)
			}
			o.sold[b.GetId()].refunded = true
		}
	}
	return nil
}

func (o *order) method() bookingv1.PaymentMethod {
	if o.byPass {
		return bookingv1.PaymentMethod_PAYMENT_METHOD_PASS
	}
	return bookingv1.PaymentMethod_PAYMENT_METHOD_CARD
}

// lines returns the order's lines. Without a series, there is sometimes a second line for the event
// without a capacity limit.
func (s *seller) lines(o *order) []*bookingv1.TransactionLine {
	lines := []*bookingv1.TransactionLine{{EventId: o.event.GetId(), EventDateId: o.date, Spaces: o.spaces, BoughtForId: s.guests[o.guest]}}
	for _, date := range o.more {
		lines = append(lines, &bookingv1.TransactionLine{EventDateId: date, BoughtForId: s.guests[o.guest]})
	}
	if s.series == nil && o.event == s.events[0] && rand.IntN(4) == 0 {
		lines = append(lines, &bookingv1.TransactionLine{EventId: s.events[2].GetId(), BoughtForId: s.guests[o.guest]})
	}
	return lines
}

func (s *seller) buy(ctx context.Context, op *harness.Operator, o *order) (*bookingv1.Transaction, error) {
	res, err := op.Bookings.CreateTransaction(ctx, &bookingv1.CreateTransactionRequest{
		PurchaserId: o.buyer, Lines: s.lines(o), PaymentMethod: o.method(),
	})
	return res.GetTransaction(), err
}

// hold holds the spaces first. Then two callers confirm the hold at the same time, or one
// releases it, or it is left to expire.
func (s *seller) hold(ctx context.Context, op *harness.Operator, o *order) (*bookingv1.Transaction, error) {
	held, err := op.Bookings.HoldPlaces(ctx, &bookingv1.HoldPlacesRequest{PurchaserId: o.buyer, Lines: s.lines(o)})
	if err != nil {
		return nil, err
	}
	which := held.GetHold().GetId()
	switch rand.IntN(4) {
	case 0:
		return nil, nil
	case 1:
		res, err := op.Bookings.ReleaseHold(ctx, &bookingv1.ReleaseHoldRequest{HoldId: which})
		if err == nil && !res.GetChanged() {
			err = fmt.Errorf("hold %s was released by another caller", which)
		}
		return nil, err
	}
	return s.confirm(ctx, op, o, which)
}

// confirm confirms a hold from two callers at the same time. Each retries until it has an answer.
func (s *seller) confirm(ctx context.Context, op *harness.Operator, o *order, hold string) (*bookingv1.Transaction, error) {
	answers := make([]*bookingv1.Transaction, 2)
	faults := make([]error, 2)
	var both sync.WaitGroup
	for n := range answers {
		both.Go(func() {
			faults[n] = persist(ctx, func(ctx context.Context) error {
				res, err := op.Bookings.ConfirmHold(ctx, &bookingv1.ConfirmHoldRequest{HoldId: hold, PaymentMethod: o.method()})
				answers[n] = res.GetTransaction()
				return err
			})
		})
	}
	both.Wait()
	for n, err := range faults {
		if err == nil {
			if f := fault.From(faults[1-n]); f != nil && f.Reason == "HOLD_EXPIRED" {
				return nil, fmt.Errorf("hold %s was confirmed for one caller and refused for the other: %w", hold, f)
			}
			return answers[n], nil
		}
	}
	return nil, faults[0]
}

// persist retries call until the outcome is known.
func persist(ctx context.Context, call func(ctx context.Context) error) error {
	for {
		err := call(ctx)
		if !fault.Is(err, fault.Unavailable) && !fault.Is(err, fault.Conflict) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("no final answer: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// cancelAtOnce cancels a booking from two callers at the same time. Exactly one must change it.
func (s *seller) cancelAtOnce(ctx context.Context, op *harness.Operator, o *order, booking string) error {
	changed := make([]bool, 2)
	faults := make([]error, 2)
	var both sync.WaitGroup
	for n := range changed {
		both.Go(func() {
			res, err := op.Bookings.CancelBooking(ctx, &bookingv1.CancelBookingRequest{BookingId: booking})
			changed[n], faults[n] = res.GetChanged(), err
		})
	}
	both.Wait()
	for _, err := range faults {
		if err != nil {
			return fmt.Errorf("cancel: %w", err)
		}
	}
	if changed[0] == changed[1] {
		return fmt.Errorf("two cancellations of %s reported changed as %v, want exactly one true", booking, changed)
	}
	o.wasCancelled(booking)
	return nil
}
