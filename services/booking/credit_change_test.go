package booking

import (
	"errors"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// passMove is a booking of 2 spaces by pass, on the first of two dates with 6 spaces.
type passMove struct {
	*world
	event   *bookingv1.Event
	pass    id.CustomerPass
	booking *bookingv1.Booking
}

func newPassMove(t *testing.T) *passMove {
	w := newWorld(t)
	ann := w.customer(w.company, "Ann")
	p := &passMove{world: w, pass: w.passes.give(ann, 10), event: w.movingEvent(6, 48, 72)}
	p.booking = w.take(ann, p.event, 0, 2, payByPass)
	return p
}

func (p *passMove) there() string { return p.event.GetDates()[1].GetId() }

// wantCredits checks the credits of the booking, of its redemption and of the pass, and that no change is
// unfinished.
func (p *passMove) wantCredits(credits int32) {
	p.t.Helper()
	got := p.current(p.booking).GetBooking()
	if used := got.GetPass().GetCreditsUsed(); used != credits || got.GetIsRefunded() {
		p.t.Errorf("the booking has %d credits, want %d (%v)", used, credits, got)
	}
	if left := p.passes.credits(p.pass); left != 10-credits {
		p.t.Errorf("the pass has %d left, want %d", left, 10-credits)
	}
	p.wantFinished()
}

func (p *passMove) wantFinished() {
	p.t.Helper()
	if n := one[int64](p.world, `select count(*) from credit_changes`); n != 0 {
		p.t.Errorf("%d changes are unfinished", n)
	}
	p.reconcile()
	p.verify()
	p.inStep()
}

// changing reports whether the export of payments says that the credits of the only booking are changing.
func (p *passMove) changing() bool {
	p.t.Helper()
	stream, err := p.verifier.ExportPassPayments(p.ctx, &bookingv1.ExportPassPaymentsRequest{})
	if err != nil {
		p.t.Fatal(err)
	}
	res, err := stream.Recv()
	if err != nil || len(res.GetPayments()) != 1 {
		p.t.Fatalf("got %v, %v", res, err)
	}
	return res.GetPayments()[0].GetChanging()
}

// fails lets one call fail once: before its work, or after it.
func (p *passMove) fails(call string, after bool) (failed func() bool) {
	done := false
	fail := func(c string) error {
		if c != call || done {
			return nil
		}
		done = true
		return errPassAway
	}
	p.passes.before, p.passes.after = fail, nil
	if after {
		p.passes.before, p.passes.after = nil, fail
	}
	return func() bool { return done }
}

// during runs do once, after a call of the pass service has done its work.
func (p *passMove) during(call string, do func()) {
	done := false
	p.passes.after = func(c string) error {
		if c == call && !done {
			done = true
			do()
		}
		return nil
	}
}

func TestMoveByPass(t *testing.T) { // invariant 45
	t.Parallel()
	for behaviour, tt := range map[string]struct {
		req         *bookingv1.MoveBookingRequest
		there       bool
		credits     int32
		validations int
	}{
		"the same credits on another date":   {&bookingv1.MoveBookingRequest{}, true, 2, 1},
		"more spaces":                        {&bookingv1.MoveBookingRequest{Spaces: 5}, false, 5, 0},
		"more spaces on another date":        {&bookingv1.MoveBookingRequest{Spaces: 5}, true, 5, 0},
		"fewer spaces":                       {&bookingv1.MoveBookingRequest{Spaces: 1}, false, 1, 0},
		"fewer spaces on another date":       {&bookingv1.MoveBookingRequest{Spaces: 1}, true, 1, 1},
		"more spaces, and the credits stay":  {&bookingv1.MoveBookingRequest{Spaces: 5, KeepPrice: true}, false, 2, 0},
		"another date, and the credits stay": {&bookingv1.MoveBookingRequest{Spaces: 5, KeepPrice: true}, true, 2, 1},
	} {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			p := newPassMove(t)
			validations := 0
			p.passes.before = func(call string) error {
				if call == "validate" {
					validations++
				}
				return nil
			}
			if tt.there {
				tt.req.EventDateId = p.there()
			}
			resp := p.mustMove(p.booking, tt.req)
			if o := resp.GetOutcome(); o.GetCreditsBefore() != 2 || o.GetCreditsAfter() != tt.credits || o.GetAmountDue() != 0 || o.GetCurrency() != "" {
				t.Errorf("got %v", o)
			}
			if validations != tt.validations {
				t.Errorf("the pass was validated %d times", validations)
			}
			p.wantCredits(tt.credits)
		})
	}
	t.Run("a pass with no uses left pays for a move that costs the same", func(t *testing.T) {
		t.Parallel()
		p := newPassMove(t)
		p.passes.set(p.pass, 0)
		p.mustMove(p.booking, onto(p.there()))
		_, err := p.move(p.booking, &bookingv1.MoveBookingRequest{Spaces: 3})
		wantFault(t, err, fault.Refused, "PASS_EXHAUSTED")
		p.passes.set(p.pass, 8)
		p.wantCredits(2)
	})
	t.Run("refuses a day on which the pass is not valid, whatever the credits are", func(t *testing.T) {
		t.Parallel()
		p := newPassMove(t)
		ben := p.customer(p.company, "Ben")
		other := p.take(ben, p.event, 1, 1)
		p.passes.closed[localDay(t, p.event.GetDates()[1])] = true
		for _, spaces := range []int32{0, 1, 3} {
			_, err := p.move(p.booking, &bookingv1.MoveBookingRequest{EventDateId: p.there(), Spaces: spaces})
			wantFault(t, err, fault.Refused, "PASS_EXPIRED")
		}
		_, err := p.swap(p.booking, other)
		wantFault(t, err, fault.Refused, "PASS_EXPIRED")
		p.wantCredits(2)
	})
	t.Run("an unlimited pass takes no credits", func(t *testing.T) { // invariant 31
		t.Parallel()
		p := newPassMove(t)
		max := p.customer(p.company, "Max")
		p.passes.giveUnlimited(max)
		b := p.take(max, p.event, 0, 1, payByPass)
		resp := p.mustMove(b, &bookingv1.MoveBookingRequest{EventDateId: p.there(), Spaces: 3})
		if resp.GetRegistration().GetBooking().GetPass().GetCreditsUsed() != 0 || resp.GetOutcome().GetCreditsAfter() != 0 {
			t.Errorf("got %v", resp)
		}
		p.wantFinished()
	})
	t.Run("a pass that became unlimited after the purchase returns the credits, once", func(t *testing.T) { // invariant 31
		t.Parallel()
		p := newPassMove(t)
		p.passes.unlimited[p.pass] = true
		resp := p.mustMove(p.booking, &bookingv1.MoveBookingRequest{Spaces: 3})
		if resp.GetOutcome().GetCreditsBefore() != 2 || resp.GetOutcome().GetCreditsAfter() != 0 {
			t.Errorf("got %v", resp)
		}
		p.wantCredits(0)
		p.mustMove(p.booking, &bookingv1.MoveBookingRequest{EventDateId: p.there(), Spaces: 1})
		p.wantCredits(0)
	})
	t.Run("an imported booking moves without its pass, and keeps its credits", func(t *testing.T) {
		t.Parallel()
		p := newPassMove(t)
		studioOf(p.world)
		line := past("p1", "ann", "yoga", 2)
		date := pastDate("later", proto.Int32(5))
		line.Bookings[0].Date, date.ImportedDate.StartsAt = date, timestamppb.New(time.Now().Add(48*time.Hour))
		line.Bookings[0].Payment = &bookingv1.ImportedBooking_Pass{Pass: &bookingv1.PassPayment{CreditsUsed: 4, CustomerPassId: p.pass.String()}}
		if result := p.mustSend(line)[0]; result.GetOutcome() != created {
			t.Fatalf("got %v", result)
		}
		imported := one[id.Booking](p.world, `select b.id from bookings b join transactions t on t.id = b.transaction_id where t.source = 'import'`)
		for _, req := range []*bookingv1.MoveBookingRequest{
			{EventDateId: p.there(), PricingOptionId: p.event.GetPricingOptions()[1].GetId()}, {Spaces: 3}, {Spaces: 1},
		} {
			resp := p.mustMove(&bookingv1.Booking{Id: imported.String()}, req)
			if b := resp.GetRegistration().GetBooking(); b.GetPass().GetCreditsUsed() != 4 || resp.GetOutcome().GetCreditsAfter() != 4 {
				t.Errorf("got %v", resp)
			}
		}
		if len(p.passes.changed) != 0 {
			t.Errorf("%d changes in the pass service", len(p.passes.changed))
		}
		p.wantCredits(2)
	})
	t.Run("a refunded booking moves without its pass", func(t *testing.T) {
		t.Parallel()
		p := newPassMove(t)
		if _, err := p.bookings.RefundBooking(p.ctx, &bookingv1.RefundBookingRequest{BookingId: p.booking.GetId()}); err != nil {
			t.Fatal(err)
		}
		p.passes.before = func(string) error { return errPassAway }
		resp := p.mustMove(p.booking, &bookingv1.MoveBookingRequest{EventDateId: p.there(), Spaces: 5})
		if resp.GetOutcome().GetCreditsAfter() != 2 {
			t.Errorf("got %v", resp)
		}
		p.passes.before = nil
		p.wantFinished()
	})
}

// TestMoveByPassSurvivesEveryFailure lets each call fail before and after its work.
func TestMoveByPassSurvivesEveryFailure(t *testing.T) { // invariant 45
	t.Parallel()
	for behaviour, tt := range map[string]struct {
		spaces  int32
		call    string
		after   bool
		refused bool // the first attempt
	}{
		"taking fails":                           {5, "change", false, true},
		"taking succeeds, with a lost answer":    {5, "change", true, true},
		"validating fails":                       {1, "validate", false, true},
		"returning fails":                        {1, "change", false, false},
		"returning succeeds, with a lost answer": {1, "change", true, false},
	} {
		for _, then := range []string{"is retried at once", "is retried after the job", "is left to the job"} {
			t.Run(behaviour+" and it "+then, func(t *testing.T) {
				t.Parallel()
				p := newPassMove(t)
				failed := p.fails(tt.call, tt.after)
				req := &bookingv1.MoveBookingRequest{BookingId: p.booking.GetId(), EventDateId: p.there(), Spaces: tt.spaces}
				ctx := withKey(p.ctx, "once")
				_, err := p.changes.MoveBooking(ctx, req)
				if (err != nil) != tt.refused || !failed() {
					t.Fatalf("got %v, the call failed: %t", err, failed())
				}
				if err != nil && fault.From(err).Kind != fault.Unavailable {
					t.Fatalf("got %v", err)
				}
				p.passes.before, p.passes.after = nil, nil
				want := tt.spaces
				switch then {
				case "is left to the job":
					if tt.refused {
						want = 2
					}
				case "is retried after the job":
					p.settleDown()
					fallthrough
				default:
					if _, err := p.changes.MoveBooking(ctx, req); err != nil {
						t.Fatal(err)
					}
				}
				p.settleDown()
				p.wantCredits(want)
			})
		}
	}
	t.Run("a retry continues the change, and takes the credits once", func(t *testing.T) {
		t.Parallel()
		p := newPassMove(t)
		p.fails("change", true)
		req := &bookingv1.MoveBookingRequest{Spaces: 5}
		if _, err := p.move(p.booking, req); err == nil {
			t.Fatal("it was moved")
		}
		_, err := p.move(p.booking, &bookingv1.MoveBookingRequest{Spaces: 4})
		wantFault(t, err, fault.Conflict, "CHANGE_IN_PROGRESS")
		_, err = p.move(p.booking, onto(p.there()))
		wantFault(t, err, fault.Conflict, "CHANGE_IN_PROGRESS")
		p.mustMove(p.booking, req)
		if len(p.passes.changed) != 1 {
			t.Errorf("%d changes", len(p.passes.changed))
		}
		p.wantCredits(5)
	})
	t.Run("a refused move whose undoing fails is undone by the job", func(t *testing.T) {
		t.Parallel()
		p := newPassMove(t)
		p.during("change", func() { p.take(p.customer(p.company, "Ben"), p.event, 1, 3) })
		away := true
		p.passes.before = func(call string) error {
			if call == "cancel change" && away {
				return errPassAway
			}
			return nil
		}
		_, err := p.move(p.booking, &bookingv1.MoveBookingRequest{EventDateId: p.there(), Spaces: 5})
		wantFault(t, err, fault.Refused, "EVENT_FULL")
		if left := p.passes.credits(p.pass); left != 5 {
			t.Fatalf("%d left", left)
		}
		_, err = p.move(p.booking, &bookingv1.MoveBookingRequest{Spaces: 1})
		wantFault(t, err, fault.Conflict, "CHANGE_IN_PROGRESS")
		away = false
		p.settleDown()
		p.wantCredits(2)
		p.mustMove(p.booking, &bookingv1.MoveBookingRequest{Spaces: 1})
		p.wantCredits(1)
	})
	t.Run("a move while credits are being returned waits for them, and the export says so", func(t *testing.T) {
		t.Parallel()
		p := newPassMove(t)
		p.fails("change", false)
		p.mustMove(p.booking, &bookingv1.MoveBookingRequest{Spaces: 1})
		if !p.changing() {
			t.Error("the export does not say that the credits are changing")
		}
		_, err := p.move(p.booking, onto(p.there()))
		f := wantFault(t, err, fault.Conflict, "CHANGE_IN_PROGRESS")
		if f.RetryAfter == 0 {
			t.Error("it does not say when to retry")
		}
		p.settleDown()
		if p.changing() {
			t.Error("the export says that the credits are still changing")
		}
		p.mustMove(p.booking, onto(p.there()))
		p.wantCredits(1)
	})
}

// TestMoveByPassMeetsOtherChanges changes the booking or its date after the credits were taken.
func TestMoveByPassMeetsOtherChanges(t *testing.T) { // invariant 45
	t.Parallel()
	cancel := func(p *passMove, req *bookingv1.CancelBookingRequest) {
		req.BookingId = p.booking.GetId()
		if _, err := p.bookings.CancelBooking(p.ctx, req); err != nil {
			p.t.Error(err)
		}
	}
	for behaviour, tt := range map[string]struct {
		meets func(p *passMove)
		want  string // the refusal; "": it is moved
		left  int32  // credits of the pass
	}{
		"a cancellation in time": {func(p *passMove) { cancel(p, &bookingv1.CancelBookingRequest{}) }, "ALREADY_CANCELLED", 10},
		"a late cancellation": {func(p *passMove) {
			p.exec(`update events set free_cancellation_minutes = 100000`)
			cancel(p, &bookingv1.CancelBookingRequest{})
		}, "ALREADY_CANCELLED", 8},
		"the cancellation of its date": {func(p *passMove) {
			if _, err := p.events.CancelEventDate(p.ctx, &bookingv1.CancelEventDateRequest{Id: p.event.GetDates()[0].GetId()}); err != nil {
				p.t.Error(err)
			}
		}, "ALREADY_CANCELLED", 10},
		"a refund": {func(p *passMove) {
			if _, err := p.bookings.RefundBooking(p.ctx, &bookingv1.RefundBookingRequest{BookingId: p.booking.GetId()}); err != nil {
				p.t.Error(err)
			}
		}, "", 10},
		"the end of the last spaces": {func(p *passMove) { p.take(p.customer(p.company, "Ben"), p.event, 1, 2) }, "EVENT_FULL", 8},
		"an attendance":              {func(p *passMove) { p.exec(`update bookings set attendance = 'checked_in'`) }, "ALREADY_ATTENDED", 8},
		"other credits":              {func(p *passMove) { p.exec(`update pricing_options set credits = 2 where position = 0`) }, "", 2},
		"fewer credits":              {func(p *passMove) { p.exec(`update pricing_options set credits = 0 where position = 0`) }, "", 8},
		"the job, because it took too long": {func(p *passMove) {
			p.shift(time.Minute)
			if err := p.server.endCreditChanges(p.t.Context()); err != nil {
				p.t.Error(err)
			}
			p.shift(0)
		}, "", 5},
		"another move, which is refused": {func(p *passMove) {
			_, err := p.move(p.booking, &bookingv1.MoveBookingRequest{Spaces: 1})
			wantFault(p.t, err, fault.Conflict, "CHANGE_IN_PROGRESS")
		}, "", 5},
		"a repeated request, which takes the same credits": {func(p *passMove) {
			p.mustMove(p.booking, &bookingv1.MoveBookingRequest{EventDateId: p.there(), Spaces: 5})
		}, "", 5},
	} {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			p := newPassMove(t)
			p.during("change", func() { tt.meets(p) })
			_, err := p.move(p.booking, &bookingv1.MoveBookingRequest{EventDateId: p.there(), Spaces: 5})
			switch {
			case tt.want == "" && err != nil:
				t.Fatal(err)
			case tt.want != "":
				wantFault(t, err, fault.Refused, tt.want)
			}
			p.passes.after = nil
			p.settleDown()
			if left := p.passes.credits(p.pass); left != tt.left {
				t.Errorf("%d left, want %d", left, tt.left)
			}
			p.wantFinished()
		})
	}
	t.Run("a cancellation while credits are being returned returns the rest", func(t *testing.T) {
		t.Parallel()
		p := newPassMove(t)
		p.fails("change", false)
		p.mustMove(p.booking, &bookingv1.MoveBookingRequest{Spaces: 1})
		cancel(p, &bookingv1.CancelBookingRequest{})
		p.settleDown()
		if left := p.passes.credits(p.pass); left != 10 {
			t.Errorf("%d left", left)
		}
		p.wantFinished()
	})
	t.Run("a cancellation to which no credits are left to return", func(t *testing.T) {
		t.Parallel()
		p := newPassMove(t)
		p.exec(`update pricing_options set credits = 0 where position = 1`)
		p.fails("change", false)
		p.mustMove(p.booking, &bookingv1.MoveBookingRequest{PricingOptionId: p.event.GetPricingOptions()[1].GetId()})
		cancel(p, &bookingv1.CancelBookingRequest{})
		p.settleDown()
		if left := p.passes.credits(p.pass); left != 10 {
			t.Errorf("%d left", left)
		}
		p.wantFinished()
	})
}

// unfinishedChange stores an unfinished change of the credits of a booking.
func (w *world) unfinishedChange(company id.Company, state string, due time.Time) {
	w.t.Helper()
	w.exec(`insert into credit_changes (company_id, booking_id, id, state, target, credits, transaction_id, event_type, day, credits_before, due_at)
		values ($1, gen_random_uuid(), gen_random_uuid(), $2, '', 1, gen_random_uuid(), 'class', '2026-01-01', 0, $3)`, company, state, due)
}

func TestCreditChangesOfManyCompaniesTakeTurns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	busy, quiet := id.New[id.Company](), id.New[id.Company]()
	insert := func(company id.Company, ago time.Duration) {
		w.unfinishedChange(company, "taking", time.Now().Add(-ago))
	}
	for range 5 {
		insert(busy, time.Hour)
	}
	insert(quiet, time.Minute)
	insert(quiet, -time.Minute)
	now := time.Now()
	due, err := w.server.store.ClaimCreditChanges(t.Context(), now, now.Add(returnAgain), 2)
	if err != nil || len(due) != 2 || due[0].Company == due[1].Company || due[0].State != "undoing" {
		t.Fatalf("got %+v, %v", due, err)
	}
	if due, err = w.server.store.ClaimCreditChanges(t.Context(), now, now.Add(returnAgain), 10); err != nil || len(due) != 4 {
		t.Fatalf("got %d, %v", len(due), err)
	}
	d, err := w.server.store.Due(t.Context(), now, now)
	if err != nil || d.Changes {
		t.Errorf("got %+v, %v", d, err)
	}
	if d, err = w.server.store.Due(t.Context(), now.Add(returnAgain), now); err != nil || !d.Changes {
		t.Errorf("got %+v, %v", d, err)
	}
}

// TestSwapByPass swaps two bookings by pass, of which one pass is away.
func TestSwapByPass(t *testing.T) { // invariant 48
	t.Parallel()
	p := newPassMove(t)
	ben := p.customer(p.company, "Ben")
	bens := p.passes.give(ben, 3)
	other := p.take(ben, p.event, 1, 3, payByPass)
	p.passes.before = func(string) error { return errPassAway }
	if _, err := p.swap(p.booking, other); fault.From(err).Kind != fault.Unavailable {
		t.Fatalf("got %v", err)
	}
	p.passes.before = func(call string) error {
		if call != "validate" {
			return errors.New("a swap takes and returns nothing")
		}
		return nil
	}
	resp, err := p.swap(p.booking, other)
	if err != nil || !resp.GetChanged() || resp.GetOther().GetBooking().GetPass().GetCreditsUsed() != 3 {
		t.Fatalf("got %v, %v", resp, err)
	}
	if !proto.Equal(resp.GetOther(), p.current(other)) || p.passes.credits(bens) != 0 {
		t.Errorf("got %v", resp)
	}
	p.passes.before = nil
	p.wantBooked(p.event, 3, 2)
	p.wantCredits(2)
}
