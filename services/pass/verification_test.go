package pass

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"reservation.dev/platform/pg"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

func TestVerifyFindsDifferences(t *testing.T) {
	w := open(t)
	customer := w.customer()
	p := w.give(customer, nil)
	w.mustRedeem(redeemRequest(customer, p.GetId(), 2))
	for _, sql := range []string{
		`update customer_passes set remaining_uses = remaining_uses + 1`,
		`update redemption_items set returned = credits`,
		`update pass_totals set pass_types = 9, customer_passes = 8`,
	} {
		w.change(sql)
	}
	got := w.differences()
	want := []string{"customer_pass.remaining_uses 9 8", "redemption.credits 0 2", "pass_types.total 9 1", "customer_passes.total 8 1"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// differences returns what VerifyPasses reports: the number, the stored value and the computed one.
func (w *world) differences() (found []string) {
	w.t.Helper()
	stream, err := w.client.VerifyPasses(w.as(w.company), &passv1.VerifyPassesRequest{})
	if err != nil {
		w.t.Fatal(err)
	}
	for {
		res, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			w.t.Fatal(err)
		}
		if diff := res.GetDifference(); diff != nil {
			found = append(found, fmt.Sprintf("%s %d %d", diff.GetWhat(), diff.GetStored(), diff.GetComputed()))
		}
	}
}

func TestVerifyRecomputesRollovers(t *testing.T) { // invariant 14
	w := open(t)
	s := w.subscribe()
	s.mustSend(credits(1, 8, 0))
	s.mustSend(credits(2, 8, 3), unlimited(3), credits(4, 8, 0)) // 3 roll over, and then 11 expire
	for _, c := range []struct{ damage, undo, want string }{
		{`carried_over = 4 where period = 2`, `carried_over = 3 where period = 2`, "pass_grant.carried_over 4 3"},
		{`carried_over = 1 where period = 3`, `carried_over = 0 where period = 3`, "pass_grant.carried_over 1 0"},
		{`carried_over = 1 where period = 1`, `carried_over = 0 where period = 1`, "pass_grant.carried_over 1 0"},
		{`expired = 6, granted = 9 where period = 2`, `expired = 5, granted = 8 where period = 2`, "pass_grant.expired 6 5"},
		{`expired = 12, granted = 1 where period = 3`, `expired = 11, granted = 0 where period = 3`, "pass_grant.expired 12 11"},
		{`expired = 1, granted = 9 where period = 4`, `expired = 0, granted = 8 where period = 4`, "pass_grant.expired 1 0"},
	} {
		w.change(`update pass_grants set ` + c.damage)
		if got := w.differences(); !slices.Equal(got, []string{c.want}) {
			t.Errorf("%s: got %q, want %q", c.damage, got, c.want)
		}
		w.change(`update pass_grants set ` + c.undo)
	}
	w.verify()
}

// change runs a statement of the company.
func (w *world) change(sql string) {
	w.t.Helper()
	err := w.db.InTx(w.t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, sql)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func TestExportRedemptions(t *testing.T) {
	w := open(t)
	customer := w.customer()
	p := w.give(customer, func(r *passv1.CreatePassTypeRequest) { r.TotalUses = 100 })
	var want []string
	for n := range 5 {
		req := redeemRequest(customer, p.GetId(), 2)
		w.mustRedeem(req)
		held := 2
		if n == 3 {
			held = 0
			if _, err := w.client.CancelRedemption(w.as(w.company), &passv1.CancelRedemptionRequest{RedemptionId: req.GetRedemptionId()}); err != nil {
				t.Fatal(err)
			}
		}
		want = append(want, fmt.Sprint(req.GetRedemptionId(), req.GetItems()[0].GetItemId(), p.GetId(), held))
	}
	var got []string
	for _, r := range w.export() {
		got = append(got, fmt.Sprint(r.GetRedemptionId(), r.GetItemId(), r.GetCustomerPassId(), r.GetCredits()))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// export returns the credits that all bookings hold.
func (w *world) export() (list []*passv1.RedeemedCredits) {
	w.t.Helper()
	stream, err := w.client.ExportRedemptions(w.as(w.company), &passv1.ExportRedemptionsRequest{})
	if err != nil {
		w.t.Fatal(err)
	}
	for {
		res, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			w.t.Fatal(err)
		}
		list = append(list, res.GetRedemptions()...)
	}
}

// exported returns the credits that each booking holds.
func (w *world) exported() map[string]int32 {
	w.t.Helper()
	held := map[string]int32{}
	for _, r := range w.export() {
		held[r.GetItemId()] = r.GetCredits()
	}
	return held
}
