package pass

import (
	"testing"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

func TestReadsOfOneCustomer(t *testing.T) {
	w := open(t)
	ctx := w.as(w.company)
	p, other := w.assign("2026-01-01"), w.customer()
	list := func(customer string) error {
		_, err := w.client.ListCustomerPasses(ctx, &passv1.ListCustomerPassesRequest{CustomerId: customer, CustomerMustExist: true})
		return err
	}
	get := func(customer string) error {
		_, err := w.client.GetCustomerPass(ctx, &passv1.GetCustomerPassRequest{Id: p.GetId(), CustomerId: customer})
		return err
	}
	for name, tt := range map[string]struct {
		err   error
		found bool
	}{
		"a pass of its holder":                 {get(p.GetCustomerId()), true},
		"a pass of another customer":           {get(other), false},
		"a pass of an identifier that is not":  {get("nobody"), false},
		"the passes of a customer":             {list(p.GetCustomerId()), true},
		"the passes of a customer without any": {list(other), true},
		"the passes of an unknown customer":    {list(id.New[id.Customer]().String()), false},
		"the passes of a malformed identifier": {list("nobody"), false},
		"the passes of a missing identifier":   {list(""), false},
	} {
		t.Run(name, func(t *testing.T) {
			if (tt.err == nil) != tt.found || tt.err != nil && !fault.Is(tt.err, fault.NotFound) {
				t.Errorf("got %v", tt.err)
			}
		})
	}
	t.Run("a deleted customer's passes are not found, although they are kept", func(t *testing.T) {
		holder, err := id.Parse[id.Customer](p.GetCustomerId())
		if err != nil {
			t.Fatal(err)
		}
		w.customers.Delete(holder)
		if err := list(p.GetCustomerId()); !fault.Is(err, fault.NotFound) {
			t.Errorf("list: got %v", err)
		}
		if err := get(p.GetCustomerId()); !fault.Is(err, fault.NotFound) {
			t.Errorf("get: got %v", err)
		}
		if _, err := w.client.GetCustomerPass(ctx, &passv1.GetCustomerPassRequest{Id: p.GetId()}); err != nil {
			t.Errorf("the pass itself: got %v", err)
		}
	})
}
