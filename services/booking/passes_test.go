package booking

import (
	"context"
	"errors"
	"sync"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/services/booking/model"
)

// fakePasses is a fake of the pass service that can fail on demand. The end-to-end tests check that
// the real service behaves in the same way.
type fakePasses struct {
	mu        sync.Mutex
	left      map[id.CustomerPass]int32
	owner     map[id.Customer]id.CustomerPass
	taken     map[id.Transaction]map[id.Booking]int32
	from      map[id.Transaction]id.CustomerPass
	cancelled map[id.Transaction]bool
	returned  map[id.Booking]bool
	unlimited map[id.CustomerPass]bool // of subscriptions: no booking takes credits
	changed   map[id.UUID]fakeChange
	closed    map[string]bool // days on which no pass is valid
	// before and after are called around the work of each call. An error of before prevents the
	// work; an error of after hides that it was done.
	before, after func(call string) error
	// refused is called after a redemption was refused, before the response.
	refused func()
}

func newFakePasses() *fakePasses {
	return &fakePasses{
		left: map[id.CustomerPass]int32{}, owner: map[id.Customer]id.CustomerPass{}, taken: map[id.Transaction]map[id.Booking]int32{},
		from: map[id.Transaction]id.CustomerPass{}, cancelled: map[id.Transaction]bool{}, returned: map[id.Booking]bool{},
		unlimited: map[id.CustomerPass]bool{}, changed: map[id.UUID]fakeChange{}, closed: map[string]bool{},
	}
}

// give gives a customer a pass.
func (f *fakePasses) give(customer id.Customer, credits int32) id.CustomerPass {
	f.mu.Lock()
	defer f.mu.Unlock()
	pass := id.New[id.CustomerPass]()
	f.left[pass], f.owner[customer] = credits, pass
	return pass
}

// giveUnlimited gives a customer the pass of a subscription with unlimited bookings.
func (f *fakePasses) giveUnlimited(customer id.Customer) id.CustomerPass {
	pass := f.give(customer, 999_999)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unlimited[pass] = true
	return pass
}

func (f *fakePasses) set(pass id.CustomerPass, credits int32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left[pass] = credits
}

func (f *fakePasses) credits(pass id.CustomerPass) int32 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.left[pass]
}

// setBefore sets before while calls can be in progress.
func (f *fakePasses) setBefore(before func(call string) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before = before
}

// works removes before and after while calls can be in progress.
func (f *fakePasses) works() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before, f.after = nil, nil
}

var errPassAway = fault.Away(errors.New("the pass service is away"))

func (f *fakePasses) call(name string, do func() error) error {
	f.mu.Lock()
	before, after := f.before, f.after
	f.mu.Unlock()
	if before != nil {
		if err := before(name); err != nil {
			return err
		}
	}
	f.mu.Lock()
	err := do()
	f.mu.Unlock()
	if err == nil && after != nil {
		err = after(name)
	}
	return err
}

func (f *fakePasses) Redeem(_ context.Context, _ id.Company, all []*Redemption) error {
	for _, r := range all {
		r.Paid, r.Err = f.redeem(r.Transaction, r.Requested)
	}
	return nil
}

func (f *fakePasses) redeem(t *model.Transaction, pass id.CustomerPass) (paid passPayment, err error) {
	err = f.call("redeem", func() error {
		if f.cancelled[t.ID] {
			return errPassAway
		}
		if had, ok := f.from[t.ID]; ok {
			pass = had
			paid.free = f.unlimited[pass]
			return nil
		}
		for _, b := range t.PaidByPass() { // the pass service needs the local day of each date
			if b.Date.StartsAt.IsZero() || b.Date.Timezone == "" {
				return fault.InvalidFields(fault.Field{Field: "items.day", Rule: "required", Message: "is required"})
			}
		}
		if pass.IsZero() {
			pass = f.owner[t.Purchaser.ID]
		}
		left, ok := f.left[pass]
		if !ok {
			return fault.Refuse("PASS_NOT_APPLICABLE", "no pass")
		}
		var sum int32
		items := map[id.Booking]int32{}
		for _, b := range t.PaidByPass() {
			credits := b.Payment.Credits
			if f.unlimited[pass] {
				credits = 0
			}
			items[b.ID] = credits
			sum += credits
		}
		if sum > left {
			return fault.Refuse("PASS_EXHAUSTED", "too few")
		}
		f.left[pass] -= sum
		f.from[t.ID], f.taken[t.ID] = pass, items
		paid.free = sum == 0
		return nil
	})
	if fault.Is(err, fault.Refused) && f.refused != nil {
		f.refused()
	}
	paid.pass = pass
	return paid, err
}

func (f *fakePasses) Cancel(_ context.Context, _ id.Company, t id.Transaction) error {
	return f.call("cancel", func() error {
		if !f.cancelled[t] {
			for booking, credits := range f.taken[t] {
				if !f.returned[booking] {
					f.left[f.from[t]] += credits
					f.returned[booking] = true
				}
			}
		}
		f.cancelled[t] = true
		return nil
	})
}

func (f *fakePasses) Return(_ context.Context, r model.CreditReturn) error {
	return f.call("return", func() error {
		if !f.returned[r.Booking] {
			held, known := f.taken[r.Transaction][r.Booking]
			if !known {
				held = r.Credits
			}
			f.left[r.Pass] += held
			f.returned[r.Booking] = true
		}
		return nil
	})
}
