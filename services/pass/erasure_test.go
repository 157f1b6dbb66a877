package pass

import (
	"context"
	"testing"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/privacy"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

func TestErasure(t *testing.T) { // invariant 7
	w := open(t)
	ctx, kind := w.as(w.company), w.passType()
	words := func() int64 {
		n, err := pg.One[int64](t.Context(), w.db, pg.AllCompanies(), `select (select count(*) from customer_passes where paid_reference is not null)
			+ (select count(*) from customer_passes where reference is not null) + (select count(*) from ledger_entries where reason is not null)`)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	assign := func(customer string) (*passv1.AssignCustomerPassResponse, error) {
		return w.client.AssignCustomerPass(ctx, &passv1.AssignCustomerPassRequest{
			CustomerId: customer, PassTypeId: kind.GetId(), Purchase: &passv1.PassPurchase{Reference: "of Ann"},
		})
	}
	adjust := func(pass string) *passv1.CustomerPass {
		t.Helper()
		res, err := w.client.AdjustCredits(ctx, &passv1.AdjustCreditsRequest{CustomerPassId: pass, Credits: 1, Reason: "Ann was ill"})
		if err != nil {
			t.Fatal(err)
		}
		return res.GetCustomerPass()
	}
	gone, stays := w.customer(), w.customer()
	passes := map[string]string{}
	for _, customer := range []string{gone, stays} {
		made, err := assign(customer)
		if err != nil {
			t.Fatal(err)
		}
		passes[customer] = made.GetCustomerPass().GetId()
		adjust(passes[customer])
		w.importPasses(false, []*passv1.ImportedCustomerPass{{
			Reference: "of " + customer, CustomerId: customer, PassTypeId: kind.GetId(), StartDate: "2026-01-01",
		}})
	}
	customer, err := id.Parse[id.Customer](gone)
	if err != nil {
		t.Fatal(err)
	}
	e := privacy.Erasure{Company: w.company, Customer: customer, At: time.Now()}
	if err := w.db.InTx(t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
		return privacy.Mark(ctx, tx, e.Company, e.Customer, e.At)
	}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // it can be repeated
		if err := w.server.store.erase(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("deletes the free texts of one customer, and the credits stay", func(t *testing.T) {
		if n := words(); n != 3 {
			t.Errorf("%d of six texts are left", n)
		}
		p, err := w.client.GetCustomerPass(ctx, &passv1.GetCustomerPassRequest{Id: passes[gone]})
		if err != nil || p.GetCustomerPass().GetRemainingUses() != 11 || p.GetCustomerPass().GetPurchase().GetGross() != 11000 || p.GetCustomerPass().GetPurchase().GetReference() != "" {
			t.Errorf("got %v, %v", p, err)
		}
	})
	t.Run("stores no text afterwards: an adjustment has no reason, and a new pass is refused, also in an import", func(t *testing.T) {
		if p := adjust(passes[gone]); p.GetRemainingUses() != 12 {
			t.Errorf("got %v", p)
		}
		// The customer service has not deleted the customer yet.
		if _, err := assign(gone); !fault.Is(err, fault.NotFound) {
			t.Errorf("got %v", err)
		}
		again := w.importPasses(false, []*passv1.ImportedCustomerPass{{
			Reference: "of " + gone, CustomerId: gone, PassTypeId: kind.GetId(), StartDate: "2026-01-01",
		}})
		if got := importOutcome(again[0]); got != "refused customer_id exists" {
			t.Errorf("an import of an erased customer: got %s", got)
		}
		if n := words(); n != 3 {
			t.Errorf("%d words", n)
		}
	})
	t.Run("only the reason of a ledger entry can be removed", func(t *testing.T) { // invariant 1
		for _, sql := range []string{
			`update ledger_entries set reason = 'another' where reason is not null`, `update ledger_entries set reason = null, credits = credits + 1`,
			`update ledger_entries set actor = 'x'`, `delete from ledger_entries`,
		} {
			err := w.db.InTx(t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
				_, err := tx.Exec(ctx, sql)
				return err
			})
			if err == nil {
				t.Errorf("%s: done", sql)
			}
		}
	})
}
