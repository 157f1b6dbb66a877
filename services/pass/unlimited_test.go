package pass

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// membership makes a pass type one whose passes have unlimited uses and never expire.
func membership(r *passv1.CreatePassTypeRequest) {
	r.UnlimitedUses, r.TotalUses = true, 0
	r.NeverExpires, r.ValidityCount, r.ValidityUnit = true, 0, 0
}

// exec runs a statement for the company of w, which can take longer than the statement timeout.
func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	err := w.db.InTx(w.t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
		if _, err := tx.Exec(ctx, `set local statement_timeout = 0`); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, sql, args...)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func faults(err error) string {
	var list []string
	if f := fault.From(err); err != nil && f != nil {
		for _, field := range f.Fields {
			list = append(list, field.Field+":"+field.Rule)
		}
	}
	return strings.Join(list, " ")
}

func TestTermsOfPassTypes(t *testing.T) {
	w := open(t)
	ctx := w.as(w.company)
	yes, no := proto.Bool(true), proto.Bool(false)
	create := func(change func(*passv1.CreatePassTypeRequest)) (*passv1.PassType, error) {
		req := tenClasses()
		change(req)
		res, err := w.client.CreatePassType(ctx, req)
		return res.GetPassType(), err
	}
	type req = passv1.UpdatePassTypeRequest
	for name, c := range map[string]struct {
		create func(*passv1.CreatePassTypeRequest)
		update *req
		want   string // faults, or the terms
	}{
		"unlimited uses need no number":                    {create: membership, want: "999999 true, 1000 VALIDITY_UNIT_YEAR true"},
		"unlimited uses accept the number that stands for": {create: func(r *passv1.CreatePassTypeRequest) { r.UnlimitedUses, r.TotalUses = true, 999_999 }, want: "999999 true, 1 VALIDITY_UNIT_MONTH false"},
		"unlimited uses refuse a number":                   {create: func(r *passv1.CreatePassTypeRequest) { r.UnlimitedUses = true }, want: "total_uses:mismatch"},
		"a number of uses is at most 100000":               {create: func(r *passv1.CreatePassTypeRequest) { r.TotalUses = 999_999 }, want: "total_uses:range"},
		"no expiry refuses a validity":                     {create: func(r *passv1.CreatePassTypeRequest) { r.NeverExpires = true }, want: "validity_count:mismatch"},
		"no expiry ignores the unit": {create: func(r *passv1.CreatePassTypeRequest) { r.NeverExpires, r.ValidityCount = true, 0 },
			want: "10 false, 1000 VALIDITY_UNIT_YEAR true"},
		"an update keeps the terms": {create: membership, update: &req{Title: proto.String("Member")}, want: "999999 true, 1000 VALIDITY_UNIT_YEAR true"},
		"an update accepts the values that were read": {create: membership, want: "999999 true, 1000 VALIDITY_UNIT_YEAR true",
			update: &req{TotalUses: proto.Int32(999_999), UnlimitedUses: yes, ValidityCount: proto.Int32(1000), NeverExpires: yes}},
		"an update changes to unlimited": {create: func(*passv1.CreatePassTypeRequest) {}, update: &req{UnlimitedUses: yes, NeverExpires: yes},
			want: "999999 true, 1000 VALIDITY_UNIT_YEAR true"},
		"an update changes to a limit": {create: membership, want: "5 false, 2 VALIDITY_UNIT_WEEK false", update: &req{UnlimitedUses: no, TotalUses: proto.Int32(5),
			NeverExpires: no, ValidityCount: proto.Int32(2), ValidityUnit: passv1.ValidityUnit_VALIDITY_UNIT_WEEK}},
		"a limit needs its numbers":                 {create: membership, update: &req{UnlimitedUses: no, NeverExpires: no}, want: "total_uses:range validity_count:range validity_unit:enum"},
		"an unlimited type refuses a number":        {create: membership, update: &req{TotalUses: proto.Int32(5)}, want: "total_uses:mismatch"},
		"a type without expiry refuses a validity":  {create: membership, update: &req{ValidityCount: proto.Int32(5)}, want: "validity_count:mismatch"},
		"an unknown unit is refused in an update":   {create: func(*passv1.CreatePassTypeRequest) {}, update: &req{ValidityUnit: 99}, want: "validity_unit:enum"},
		"an unknown unit is refused in a creation ": {create: func(r *passv1.CreatePassTypeRequest) { r.ValidityUnit = 99 }, want: "validity_unit:enum"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := create(c.create)
			if err == nil && c.update != nil {
				c.update.Id = got.GetId()
				var res *passv1.UpdatePassTypeResponse
				res, err = w.client.UpdatePassType(ctx, c.update)
				got = res.GetPassType()
			}
			terms := func(p *passv1.PassType) string {
				return fmt.Sprintf("%d %v, %d %v %v", p.GetTotalUses(), p.GetUnlimitedUses(), p.GetValidityCount(), p.GetValidityUnit(), p.GetNeverExpires())
			}
			if err != nil {
				if faults(err) != c.want {
					t.Errorf("got %v, want %s", err, c.want)
				}
				return
			}
			read, err := w.client.GetPassType(ctx, &passv1.GetPassTypeRequest{Id: got.GetId()})
			if err != nil || terms(got) != c.want || terms(read.GetPassType()) != c.want {
				t.Errorf("got %s, read %v (%v), want %s", terms(got), read, err, c.want)
			}
		})
	}
}

// credits returns the credits and the balance of every entry.
func creditsOf(entries []*passv1.LedgerEntry) string {
	var list []string
	for _, e := range entries {
		list = append(list, fmt.Sprintf("%d=%d", e.GetCredits(), e.GetBalance()))
	}
	return strings.Join(list, " ")
}

func TestUnlimitedUses(t *testing.T) { // invariants 1, 9 and 11
	w := open(t)
	ctx := w.as(w.company)
	customer := w.customer()
	p := w.give(customer, membership)
	if p.GetTotalUses() != 999_999 || p.GetRemainingUses() != 999_999 || !p.GetUnlimitedUses() || p.GetTitle() != "Ten Classes" {
		t.Fatalf("got %v", p)
	}
	req := redeemRequest(customer, "", 2, 0, 3)
	for range 2 {
		if res := w.mustRedeem(req); res.GetCredits() != 5 || res.GetRemainingUses() != 999_999 || res.GetCustomerPassId() != p.GetId() {
			t.Errorf("got %v", res)
		}
	}
	huge := redeemRequest(customer, p.GetId(), maxCost)
	if got := reasons(w.redeemBatch(huge, redeemRequest(customer, "", 1), huge)); !slices.Equal(got, []string{"", "", ""}) {
		t.Errorf("got %q", got)
	}
	if got, want := creditsOf(w.ledger(p.GetId())), "999999=999999 0=999999 0=999999 0=999999 0=999999"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	t.Run("a booking's credits are returned once", func(t *testing.T) {
		for n := range 3 {
			res, err := w.client.ReturnCredits(ctx, &passv1.ReturnCreditsRequest{RedemptionId: req.GetRedemptionId(), ReturnId: req.GetItems()[2].GetItemId(), Credits: 3})
			if err != nil || res.GetRemainingUses() != 999_999 || res.GetChanged() != (n == 0) {
				t.Errorf("got %v, %v", res, err)
			}
		}
		last := w.ledger(p.GetId())[5]
		if last.GetKind() != passv1.LedgerEntryKind_LEDGER_ENTRY_KIND_RETURNED || last.GetCredits() != 0 || last.GetRedemptionId() != req.GetRedemptionId() {
			t.Errorf("got %v", last)
		}
		w.verify()
		res, err := w.client.CancelRedemption(ctx, &passv1.CancelRedemptionRequest{RedemptionId: req.GetRedemptionId()})
		if err != nil || res.GetCredits() != 2 || len(w.ledger(p.GetId())) != 7 {
			t.Errorf("got %v, %v", res, err)
		}
	})
	t.Run("an imported booking's credits are returned", func(t *testing.T) {
		res, err := w.client.ReturnCredits(ctx, &passv1.ReturnCreditsRequest{
			RedemptionId: newTransaction(), ReturnId: id.New[id.Booking]().String(), Credits: 3, CustomerPassId: p.GetId()})
		if err != nil || !res.GetChanged() || w.get(p.GetId()).GetRemainingUses() != 999_999 {
			t.Errorf("got %v, %v", res, err)
		}
	})
	t.Run("the uses cannot be changed", func(t *testing.T) {
		_, err := w.client.AdjustCredits(ctx, &passv1.AdjustCreditsRequest{CustomerPassId: p.GetId(), Credits: 1, Reason: "x"})
		if faults(err) != "credits:immutable" {
			t.Errorf("got %v", err)
		}
		if _, err := w.client.UpdateCustomerPass(ctx, &passv1.UpdateCustomerPassRequest{Id: p.GetId(), RemainingUses: proto.Int32(5)}); faults(err) != "remaining_uses:immutable" {
			t.Errorf("got %v", err)
		}
		before := w.get(p.GetId()).GetVersion()
		if got := w.update(&passv1.UpdateCustomerPassRequest{Id: p.GetId(), RemainingUses: proto.Int32(999_999)}); got.GetVersion() != before {
			t.Errorf("the value that was read changed the pass: %v", got)
		}
	})
	t.Run("a paused pass does not pay", func(t *testing.T) {
		w.update(&passv1.UpdateCustomerPassRequest{Id: p.GetId(), Status: passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_PAUSED})
		if _, err := w.redeem(redeemRequest(customer, "", 1)); reason(err) != ReasonPassNotActive {
			t.Errorf("got %v", err)
		}
	})
	w.verify()
	t.Run("verification finds a booking whose credits were returned without an entry", func(t *testing.T) {
		w.exec(`update redemption_items set returned = credits where credits = 1`)
		var got []string
		err := w.server.store.verify(t.Context(), w.company, func(c comparison) error {
			if c.stored != c.computed {
				got = append(got, fmt.Sprintf("%s %d %d", c.what, c.stored, c.computed))
			}
			return nil
		})
		if err != nil || !slices.Equal(got, []string{"redemption.credits 0 1"}) {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

func TestNeverExpires(t *testing.T) { // invariant 3
	w := open(t)
	now := time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)
	w.server.now = func() time.Time { return now }
	paused, active := passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_PAUSED, passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_ACTIVE
	p := w.give(w.customer(), membership)
	check := func(want string, never bool) {
		t.Helper()
		if p = w.get(p.GetId()); p.GetExpiryDate() != want || p.GetNeverExpires() != never {
			t.Errorf("got %v, want %s", p, want)
		}
	}
	check("9999-12-31", true)
	w.update(&passv1.UpdateCustomerPassRequest{Id: p.GetId(), Status: paused})
	now = now.AddDate(0, 0, 10)
	w.update(&passv1.UpdateCustomerPassRequest{Id: p.GetId(), Status: active})
	check("9999-12-31", true)
	w.update(&passv1.UpdateCustomerPassRequest{Id: p.GetId(), ExpiryDate: proto.String("2027-03-20")})
	check("2027-03-20", false)
	w.update(&passv1.UpdateCustomerPassRequest{Id: p.GetId(), ExpiryDate: proto.String("9999-12-31")})
	check("9999-12-31", true)
	now = time.Date(8000, 1, 1, 0, 0, 0, 0, time.UTC)
	if check("9999-12-31", true); p.GetStatus() != active {
		t.Errorf("got %v", p)
	}
}

func TestPausedSince(t *testing.T) {
	w := open(t)
	now := time.Date(2026, 5, 20, 23, 30, 0, 0, time.UTC) // 21 May in London
	w.server.now = func() time.Time { return now }
	p := w.give(w.customer(), nil)
	p = w.update(&passv1.UpdateCustomerPassRequest{Id: p.GetId(), Status: passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_PAUSED})
	if got := w.get(p.GetId()).GetPausedSince().AsTime(); !got.Equal(now) || !p.GetPausedSince().AsTime().Equal(now) {
		t.Errorf("got %v, want %v", got, now)
	}
	w.exec(`update customer_passes set paused_on = paused_on + 1`) // the previous release paused it again, a day later
	want := time.Date(2026, 5, 21, 23, 0, 0, 0, time.UTC)          // the start of 22 May in London
	if got := w.get(p.GetId()).GetPausedSince().AsTime(); !got.Equal(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if p = w.update(&passv1.UpdateCustomerPassRequest{Id: p.GetId(), Status: passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_ACTIVE}); p.GetPausedSince() != nil {
		t.Errorf("got %v", p)
	}
}

// TestPreviousRelease has passes that the previous release has changed, which knows neither
// unlimited uses nor passes that never expire.
func TestPreviousRelease(t *testing.T) { // invariant 1
	w := open(t)
	customer := w.customer()
	p := w.give(customer, membership)
	item := id.New[id.Booking]()
	redemption := id.New[id.Transaction]()
	w.exec(`with taken as (update customer_passes set remaining_uses = remaining_uses - 4, expiry_date = expiry_date + 30 returning *),
			redemption as (insert into redemptions (company_id, id, customer_pass_id, credits, remaining_uses, created_at)
				select company_id, $1::uuid, id, 4, remaining_uses, now() from taken)
		insert into redemption_items (company_id, redemption_id, item_id, customer_pass_id, credits)
		select company_id, $1::uuid, $2::uuid, id, 4 from taken`, redemption, item)
	w.exec(`insert into ledger_entries (company_id, customer_pass_id, sequence, kind, credits, balance, actor, created_at, redemption_id, item_id)
		select company_id, id, 2, 'redeemed', -4, remaining_uses, 'svc', now(), $1, $2 from customer_passes`, redemption, item)
	if got := w.get(p.GetId()); got.GetRemainingUses() != 999_999 || got.GetExpiryDate() != "9999-12-31" || !got.GetNeverExpires() {
		t.Errorf("got %v", got)
	}
	w.mustRedeem(redeemRequest(customer, "", 1))
	w.verify()
	for range 2 {
		_, err := w.client.ReturnCredits(w.as(w.company), &passv1.ReturnCreditsRequest{RedemptionId: redemption.String(), ReturnId: item.String(), Credits: 4})
		if err != nil {
			t.Error(err)
		}
	}
	if got, want := creditsOf(w.ledger(p.GetId())), "999999=999999 -4=999995 0=999995 0=999995"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	w.verify()
	w.exec(`update customer_passes set total_uses = null`)
	if got := w.get(p.GetId()); got.GetTotalUses() != 999_999 {
		t.Errorf("got %v", got)
	}
}

func TestChoiceOfUnlimitedPass(t *testing.T) { // invariant 5
	w := open(t)
	w.startAtNoon()
	customer := w.customer()
	never := w.give(customer, membership)
	neverTen := w.give(customer, func(r *passv1.CreatePassTypeRequest) { membership(r); r.UnlimitedUses, r.TotalUses = false, 10 })
	month := w.give(customer, func(r *passv1.CreatePassTypeRequest) { r.UnlimitedUses, r.TotalUses = true, 0 })
	ten := w.give(customer, nil)
	res, err := w.client.ListEligiblePasses(w.as(w.company), &passv1.ListEligiblePassesRequest{CustomerId: customer, Credits: 10})
	var got []string
	for _, p := range res.GetCustomerPasses() {
		got = append(got, p.GetId())
	}
	want := []string{ten.GetId(), month.GetId(), neverTen.GetId(), never.GetId()}
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("got %v, %v, want %v", got, err, want)
	}
	var paid []string
	for range 2 {
		paid = append(paid, w.mustRedeem(redeemRequest(customer, "", 10)).GetCustomerPassId())
	}
	if !slices.Equal(paid, want[:2]) {
		t.Errorf("got %v, want %v", paid, want[:2])
	}
}

func TestExhaustedPassPaysForNothing(t *testing.T) { // invariant 5
	w := open(t)
	customer := w.customer()
	p := w.give(customer, nil)
	w.mustRedeem(redeemRequest(customer, p.GetId(), 10, 0))
	for _, pass := range []string{"", p.GetId()} {
		if _, err := w.redeem(redeemRequest(customer, pass, 0)); reason(err) != ReasonPassExhausted {
			t.Errorf("pass %q: got %v", pass, err)
		}
	}
}
