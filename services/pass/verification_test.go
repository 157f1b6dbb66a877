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
		err := w.db.InTx(t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
			_, err := tx.Exec(ctx, sql)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	stream, err := w.client.VerifyPasses(w.as(w.company), &passv1.VerifyPassesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for {
		res, err := stream.Recv()
		if err != nil {
			break
		}
		if diff := res.GetDifference(); diff != nil {
			got = append(got, fmt.Sprintf("%s %d %d", diff.GetWhat(), diff.GetStored(), diff.GetComputed()))
		}
	}
	want := []string{"customer_pass.remaining_uses 9 8", "redemption.credits 0 2", "pass_types.total 9 1", "customer_passes.total 8 1"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
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
	stream, err := w.client.ExportRedemptions(w.as(w.company), &passv1.ExportRedemptionsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for {
		res, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range res.GetRedemptions() {
			got = append(got, fmt.Sprint(r.GetRedemptionId(), r.GetItemId(), r.GetCustomerPassId(), r.GetCredits()))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
