package booking

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// TestMoveByPassMeetsOtherCredits lets the pass service hold other credits than the booking service expects.
func TestMoveByPassMeetsOtherCredits(t *testing.T) { // invariant 45
	t.Parallel()
	holds := func(p *passMove, credits, left int32) {
		booking := idOf[id.Booking](p.t, p.booking.GetId())
		p.passes.mu.Lock()
		defer p.passes.mu.Unlock()
		for _, items := range p.passes.taken {
			if _, ok := items[booking]; ok {
				items[booking] = credits
			}
		}
		p.passes.left[p.pass] = left
	}
	t.Run("another move that commits before the pass is asked", func(t *testing.T) {
		t.Parallel()
		p := newPassMove(t)
		done := false
		p.passes.before = func(call string) error {
			if call == "validate" && !done {
				done = true
				p.mustMove(p.booking, &bookingv1.MoveBookingRequest{Spaces: 1})
			}
			return nil
		}
		resp := p.mustMove(p.booking, onto(p.there()))
		if resp.GetOutcome().GetCreditsBefore() != 1 || resp.GetRegistration().GetVersion() != 3 {
			t.Errorf("got %v", resp)
		}
		p.wantCredits(1)
	})
	t.Run("other credits are refused with a reason, and leave no change", func(t *testing.T) {
		t.Parallel()
		p := newPassMove(t)
		holds(p, 3, 7)
		for _, spaces := range []int32{0, 5} {
			_, err := p.move(p.booking, &bookingv1.MoveBookingRequest{EventDateId: p.there(), Spaces: spaces})
			wantFault(t, err, fault.Conflict, "CHANGE_IN_PROGRESS")
		}
		holds(p, 2, 8)
		p.wantCredits(2)
	})
	for behaviour, tt := range map[string]struct{ held, left, ends int32 }{
		"the pass holds the credits of the move":             {1, 9, 1},
		"the pass holds more than before the move":           {5, 5, 1},
		"the pass holds fewer than the booking":              {0, 10, 1},
		"the pass holds fewer, and has none for the booking": {0, 0, 0},
	} {
		t.Run("credits to return: "+behaviour, func(t *testing.T) {
			t.Parallel()
			p := newPassMove(t)
			p.fails("change", false)
			p.mustMove(p.booking, &bookingv1.MoveBookingRequest{Spaces: 1})
			holds(p, tt.held, tt.left)
			if err := p.endChanges(); err != nil {
				t.Fatal(err)
			}
			if left := p.passes.credits(p.pass); left != tt.left+tt.held-tt.ends {
				t.Errorf("%d left", left)
			}
			if n := one[int64](p.world, `select count(*) from credit_changes`); n != 0 {
				t.Errorf("%d changes are unfinished", n)
			}
		})
	}
	t.Run("credits to return without a redemption", func(t *testing.T) {
		t.Parallel()
		p := newPassMove(t)
		p.fails("change", false)
		p.mustMove(p.booking, &bookingv1.MoveBookingRequest{Spaces: 1})
		clear(p.passes.taken)
		var logged bytes.Buffer
		p.server.log = slog.New(slog.NewTextHandler(&logged, nil))
		if err := p.endChanges(); err != nil {
			t.Fatal(err)
		}
		if n := one[int64](p.world, `select count(*) from credit_changes`); n != 0 || !strings.Contains(logged.String(), p.booking.GetId()) {
			t.Errorf("%d changes are unfinished, logged %q", n, logged.String())
		}
	})
	t.Run("a renewed change is continued under its new identifier", func(t *testing.T) {
		t.Parallel()
		p := newPassMove(t)
		p.fails("change", false)
		p.mustMove(p.booking, &bookingv1.MoveBookingRequest{Spaces: 1})
		holds(p, 5, 5)
		p.fails("change", true)
		if err := p.endChanges(); err == nil {
			t.Fatal("the lost answer is not an error")
		}
		p.settleDown()
		if len(p.passes.changed) != 1 {
			t.Errorf("%d changes", len(p.passes.changed))
		}
		p.passes.before, p.passes.after = nil, nil
		p.wantFinished()
		if left := p.passes.credits(p.pass); left != 9 {
			t.Errorf("%d left", left)
		}
	})
}

// endChanges runs the job once, when every change is due.
func (p *passMove) endChanges() error {
	p.shift(time.Minute)
	defer p.shift(0)
	return p.server.endCreditChanges(p.t.Context())
}
