package faults

import (
	"context"
	"errors"
	"fmt"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/rpc"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// changeKind is a kind of change of bookings by pass.
type changeKind struct {
	// before and after are the bookings of an attempt before and after the change.
	before, after func(*attempt) []bookingFacts
	// action is the change in the history.
	action bookingv1.BookingAction
	// shared dates have several spaces. The others are full before the change.
	shared bool
	// waits says that another customer waits for the first date, and is booked when it has a free space.
	waits bool
}

// bookingFacts are the members of a booking that a change can change.
type bookingFacts struct {
	Date, Option, Customer string
	Spaces, Credits        int32
}

// at returns a booking of one of the attempt's dates.
func (a *attempt) at(date int, options map[string]string, customer string, spaces, credits int32) bookingFacts {
	return bookingFacts{a.dates[date], options[a.dates[date]], customer, spaces, credits}
}

// one returns the bookings of an attempt that has one, for its customer.
func one(date int, spaces, credits int32) func(*attempt) []bookingFacts {
	return func(a *attempt) []bookingFacts {
		options := a.c.cheap
		if credits > spaces {
			options = a.c.double
		}
		return []bookingFacts{a.at(date, options, a.customer, spaces, credits)}
	}
}

func changeKinds() []*purchaseKind {
	const moved = bookingv1.BookingAction_BOOKING_ACTION_MOVED
	exchanged := func(first, second int) func(*attempt) []bookingFacts {
		return func(a *attempt) []bookingFacts {
			return []bookingFacts{a.at(first, a.c.cheap, a.customer, 1, 1), a.at(second, a.c.cheap, a.partner, 1, 1)}
		}
	}
	given := func(a *attempt) []bookingFacts { return []bookingFacts{a.at(0, a.c.cheap, a.partner, 1, 1)} }
	all := []*purchaseKind{
		{name: "move that costs more credits", change: &changeKind{before: one(0, 1, 1), after: one(1, 1, 2), action: moved, waits: true},
			call: move, steps: []shown{{1, 1, 1, 0}, {1, 2, 1, 0}, {1, 2, 1, 1}}, final: 2},
		{name: "move that costs fewer credits", change: &changeKind{before: one(0, 1, 2), after: one(1, 1, 1), action: moved, waits: true},
			call: move, steps: []shown{{1, 2, 1, 0}, {1, 2, 1, 1}, {1, 1, 1, 1}}, final: 1},
		{name: "move between equal dates", change: &changeKind{before: one(0, 1, 1), after: one(1, 1, 1), action: moved, waits: true},
			call: move, steps: []shown{{1, 1, 1, 0}, {1, 1, 1, 1}}, final: 1},
		{name: "change to more spaces", change: &changeKind{before: one(0, 1, 1), after: one(0, 3, 3), action: moved, shared: true},
			call: move, steps: []shown{{1, 1, 1, 0}, {1, 3, 1, 0}, {1, 3, 3, 1}}, final: 2},
		{name: "change to fewer spaces", change: &changeKind{before: one(0, 3, 3), after: one(0, 1, 1), action: moved, shared: true},
			call: move, steps: []shown{{1, 3, 3, 0}, {1, 3, 1, 1}, {1, 1, 1, 1}}, final: 1},
		{name: "transfer", change: &changeKind{before: one(0, 1, 1), after: given, action: bookingv1.BookingAction_BOOKING_ACTION_TRANSFERRED},
			call: transfer, steps: []shown{{1, 1, 1, 0}, {1, 1, 1, 1}}, final: 1},
		{name: "swap", change: &changeKind{before: exchanged(0, 1), after: exchanged(1, 0), action: moved},
			call: swap, steps: []shown{{1, 2, 1, 0}, {1, 2, 1, 2}}, final: 1},
	}
	for _, kind := range all {
		kind.clients, kind.dates, kind.keyed = 1, 2, true
		kind.method = func(int) bookingv1.PaymentMethod { return byPass }
		kind.prepare, kind.undone = bookBefore, kind.steps[0]
	}
	return all
}

// bookBefore books what is changed later, and lets a customer wait.
func bookBefore(ctx context.Context, client *replica, a *attempt) error {
	a.bookings = nil
	for _, b := range a.kind.change.before(a) {
		res, err := client.CreateTransaction(rpc.WithIdempotencyKey(ctx, "prepare-"+b.Customer), &bookingv1.CreateTransactionRequest{
			PurchaserId: b.Customer, PaymentMethod: byPass,
			Lines: []*bookingv1.TransactionLine{{EventDateId: b.Date, PricingOptionId: b.Option, Spaces: b.Spaces}},
		})
		if err != nil {
			return err
		}
		a.bookings = append(a.bookings, res.GetTransaction().GetBookings()[0].GetId())
	}
	if !a.kind.change.waits {
		return nil
	}
	res, err := client.JoinWaitlist(rpc.WithIdempotencyKey(ctx, "wait-"+a.partner), &bookingv1.JoinWaitlistRequest{
		EventDateId: a.dates[0], CustomerId: a.partner, PricingOptionId: a.c.cheap[a.dates[0]], Mode: bookingv1.WaitlistMode_WAITLIST_MODE_BOOK,
	})
	a.entry = res.GetEntry().GetId()
	return err
}

func move(ctx context.Context, client *replica, a *attempt) error {
	to := a.kind.change.after(a)[0]
	res, err := client.MoveBooking(rpc.WithIdempotencyKey(ctx, "change-"+a.customer), &bookingv1.MoveBookingRequest{
		BookingId: a.bookings[0], EventDateId: to.Date, PricingOptionId: to.Option, Spaces: to.Spaces,
	})
	return a.answeredChange(res, res.GetChanged(), err)
}

func transfer(ctx context.Context, client *replica, a *attempt) error {
	res, err := client.TransferBooking(rpc.WithIdempotencyKey(ctx, "change-"+a.customer), &bookingv1.TransferBookingRequest{
		BookingId: a.bookings[0], CustomerId: a.partner,
	})
	return a.answeredChange(res, res.GetChanged(), err)
}

func swap(ctx context.Context, client *replica, a *attempt) error {
	res, err := client.SwapBookings(rpc.WithIdempotencyKey(ctx, "change-"+a.customer), &bookingv1.SwapBookingsRequest{
		BookingId: a.bookings[0], OtherBookingId: a.bookings[1],
	})
	return a.answeredChange(res, res.GetChanged(), err)
}

// answeredChange records an answer, which must be the same every time.
func (a *attempt) answeredChange(answer proto.Message, changed bool, err error) error {
	switch {
	case err != nil:
		return err
	case !changed:
		return errors.New("the answer is that nothing changed")
	case a.answer != nil && !proto.Equal(a.answer, answer):
		return fmt.Errorf("the answer was %v, and later %v", a.answer, answer)
	}
	a.answer = answer
	return nil
}

// changed returns how many bookings of an attempt are changed. Each must be as before the change or as after it,
// its history must say so, and the waiting customer must have the space that became free.
func (c *stepCluster) changed(t *testing.T, a *attempt) (changed int) {
	t.Helper()
	before, after := a.kind.change.before(a), a.kind.change.after(a)
	for n, booking := range a.bookings {
		now, history := c.bookingAndHistory(t, booking)
		switch got := factsOf(now); {
		case got == before[n] && len(history) == 1:
		case got == after[n] && a.explains(history, n):
			changed++
		default:
			t.Errorf("a booking is neither as before a %s nor as after it (-want after it, +got): %s\nits history is %v", a.kind.name, gocmp.Diff(after[n], got), history)
		}
	}
	if a.entry == "" || changed == 0 {
		return changed
	}
	waiting, err := c.survivor.GetWaitlistEntry(c.company.Ctx(t.Context()), &bookingv1.GetWaitlistEntryRequest{Id: a.entry})
	if err != nil {
		t.Fatal(err)
	}
	if waiting.GetEntry().GetState() != bookingv1.WaitlistState_WAITLIST_STATE_BOOKED {
		t.Errorf("after a %s, the waiting customer has %v", a.kind.name, waiting.GetEntry())
	}
	return changed
}

// bookingAndHistory reads a booking and its history until the booking did not change in between.
func (c *stepCluster) bookingAndHistory(t *testing.T, booking string) (*bookingv1.Registration, []*bookingv1.BookingHistoryEntry) {
	t.Helper()
	ctx := c.company.Ctx(t.Context())
	for version := int64(-1); ; {
		history, err := c.survivor.ListBookingHistory(ctx, &bookingv1.ListBookingHistoryRequest{BookingId: booking})
		if err != nil {
			t.Fatal(err)
		}
		now, err := c.survivor.GetRegistration(ctx, &bookingv1.GetRegistrationRequest{BookingId: booking})
		if err != nil {
			t.Fatal(err)
		}
		if r := now.GetRegistration(); r.GetVersion() == version {
			return r, history.GetEntries()
		}
		version = now.GetRegistration().GetVersion()
	}
}

// explains reports whether the two entries of the history of the n-th booking are the purchase and the change.
func (a *attempt) explains(entries []*bookingv1.BookingHistoryEntry, n int) bool {
	before, after := a.kind.change.before(a)[n], a.kind.change.after(a)[n]
	return len(entries) == 2 && entries[0].GetAction() == bookingv1.BookingAction_BOOKING_ACTION_BOOKED && factsIn(entries[0].GetAfter()) == before &&
		entries[1].GetAction() == a.kind.change.action && factsIn(entries[1].GetBefore()) == before && factsIn(entries[1].GetAfter()) == after
}

func factsOf(r *bookingv1.Registration) bookingFacts {
	b := r.GetBooking()
	customer := r.GetPurchaser().GetId()
	if b.GetBoughtFor() != nil {
		customer = b.GetBoughtFor().GetId()
	}
	return bookingFacts{b.GetEventDateId(), b.GetPricingOptionId(), customer, b.GetSpaces(), b.GetPass().GetCreditsUsed()}
}

func factsIn(f *bookingv1.BookingFacts) bookingFacts {
	return bookingFacts{f.GetEventDateId(), f.GetPricingOptionId(), f.GetCustomerId(), f.GetSpaces(), f.GetCredits()}
}
