package booking

import (
	"context"
	"testing"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/zone"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// localDay returns the day on which a date starts in its zone, as the pass service knows it.
func localDay(t testing.TB, d *bookingv1.EventDate) string {
	t.Helper()
	loc, err := zone.Load(d.GetTimezone())
	if err != nil {
		t.Fatal(err)
	}
	return d.GetStartsAt().AsTime().In(loc).Format(time.DateOnly)
}

// fakeChange is a change of the credits of a booking.
type fakeChange struct {
	before, after int32
	cancelled     bool
}

var errRedemptionCancelled = fault.Refuse(reasonRedemptionCancelled, "the credits were returned")

func (f *fakePasses) Change(_ context.Context, c model.CreditChange, validateOnly bool) (credits int32, err error) {
	call := "change"
	if validateOnly {
		call = "validate"
	}
	err = f.call(call, func() (err error) {
		credits, err = f.change(c, validateOnly)
		return err
	})
	return credits, err
}

func (f *fakePasses) change(c model.CreditChange, validateOnly bool) (int32, error) {
	pass := f.from[c.Transaction]
	held, known := f.taken[c.Transaction][c.Booking]
	done, repeated := f.changed[c.ID]
	switch {
	case c.ID.IsZero() || c.EventType == "" || c.Day == "":
		return 0, fault.InvalidFields(fault.Field{Field: "item", Rule: "required", Message: "is required"})
	case repeated && done.cancelled:
		return 0, errRedemptionCancelled
	case repeated:
		return done.after, nil
	case !known:
		return 0, fault.Missing("redemption")
	case f.cancelled[c.Transaction] || f.returned[c.Booking]:
		return 0, errRedemptionCancelled
	case held != c.Expected:
		return 0, &heldCreditsError{held: held}
	}
	credits := c.Credits
	if f.unlimited[pass] {
		credits = 0
	}
	if credits >= held {
		switch {
		case f.closed[c.Day]:
			return 0, fault.Refuse("PASS_EXPIRED", "the pass is not valid on that day")
		case credits-held > f.left[pass]:
			return 0, fault.Refuse("PASS_EXHAUSTED", "too few")
		}
	}
	if !validateOnly {
		f.left[pass] -= credits - held
		f.taken[c.Transaction][c.Booking] = credits
		f.changed[c.ID] = fakeChange{before: held, after: credits}
	}
	return credits, nil
}

func (f *fakePasses) CancelChange(_ context.Context, c model.CreditChange) error {
	return f.call("cancel change", func() error {
		done, known := f.changed[c.ID]
		if known && !done.cancelled && !f.returned[c.Booking] && !f.cancelled[c.Transaction] {
			f.left[f.from[c.Transaction]] += done.after - done.before
			f.taken[c.Transaction][c.Booking] = done.before
		}
		done.cancelled = true
		f.changed[c.ID] = done
		return nil
	})
}
