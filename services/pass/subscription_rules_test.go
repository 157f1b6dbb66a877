package pass

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/privacy"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/tenancy"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

func (w *world) syncPlan(p *passv1.PlanPassType) {
	w.t.Helper()
	if _, err := w.subscriptions.SyncPlanPassType(w.asPlatform(), &passv1.SyncPlanPassTypeRequest{PassType: p}); err != nil {
		w.t.Fatal(err)
	}
}

// typeOf returns the identifier of the pass type of a plan.
func typeOf(p *passv1.PlanPassType) string {
	plan, _ := id.Parse[id.Plan](p.GetPlanId())
	return id.PassType(plan.UUID()).String()
}

func TestPlanPassType(t *testing.T) { // invariants 12 and 16
	w := open(t)
	ctx := w.as(w.company)
	sold, p := w.passType(), newPlan()
	w.syncPlan(p)
	get := func(ctx context.Context) (*passv1.PassType, error) {
		res, err := w.client.GetPassType(ctx, &passv1.GetPassTypeRequest{Id: typeOf(p)})
		return res.GetPassType(), err
	}
	got, err := get(ctx)
	if err != nil || got.GetPlanId() != p.GetPlanId() || got.GetTotalUses() != 8 || got.GetPrice() != 6000 || got.GetVersion() != 1 {
		t.Fatalf("got %v, %v", got, err)
	}
	t.Run("a version is applied once, and an older one never", func(t *testing.T) {
		p.Version, p.Title, p.UnlimitedUses, p.Credits, p.Archived = 3, "Any number", true, 0, true
		w.syncPlan(p)
		w.syncPlan(p)
		older := proto.CloneOf(p)
		older.Version, older.Title = 2, "Older"
		w.syncPlan(older)
		got, err := get(ctx)
		if err != nil || got.GetTitle() != "Any number" || got.GetTotalUses() != 999_999 || got.GetVersion() != 2 ||
			got.GetStatus() != passv1.PassTypeStatus_PASS_TYPE_STATUS_ARCHIVED {
			t.Errorf("got %v, %v", got, err)
		}
		if created, updated := w.eventsOf(subjectPassTypeCreated), w.eventsOf(subjectPassTypeUpdated); created != 2 || updated != 1 {
			t.Errorf("%d creations and %d updates are announced", created, updated)
		}
		p.Version, p.Archived = 4, false
		w.syncPlan(p)
	})
	t.Run("lists have it only on request, and callers of the catalog never", func(t *testing.T) {
		list := func(ctx context.Context, ofPlans bool) (ids []string) {
			t.Helper()
			res, err := w.client.ListPassTypes(ctx, &passv1.ListPassTypesRequest{OfPlans: ofPlans})
			if err != nil || int(res.GetTotal()) != len(res.GetPassTypes()) {
				t.Fatalf("got %v, %v", res, err)
			}
			for _, t := range res.GetPassTypes() {
				ids = append(ids, t.GetId())
			}
			slices.Sort(ids)
			return ids
		}
		both := []string{sold.GetId(), typeOf(p)}
		slices.Sort(both)
		catalog := w.with(w.issuer.Client(w.company, "catalog:read"))
		if !slices.Equal(list(ctx, false), []string{sold.GetId()}) || !slices.Equal(list(ctx, true), both) ||
			!slices.Equal(list(catalog, true), []string{sold.GetId()}) {
			t.Errorf("got %v, %v, %v", list(ctx, false), list(ctx, true), list(catalog, true))
		}
		if _, err := get(catalog); !fault.Is(err, fault.NotFound) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("it is neither sold nor changed on its own", func(t *testing.T) {
		_, err := w.client.AssignCustomerPass(ctx, &passv1.AssignCustomerPassRequest{CustomerId: w.customer(), PassTypeId: typeOf(p)})
		if reason(err) != ReasonPassOfSubscription {
			t.Errorf("assigned: %v", err)
		}
		if _, err := w.client.UpdatePassType(ctx, &passv1.UpdatePassTypeRequest{Id: typeOf(p), Price: new(int64(1))}); reason(err) != ReasonPassOfSubscription {
			t.Errorf("updated: %v", err)
		}
	})
	w.verify()
}

func TestChangesOfASubscriptionPass(t *testing.T) { // invariant 16
	w := open(t)
	ctx := w.as(w.company)
	s := w.subscribe()
	s.mustSend(credits(1, 8, 8))
	for name, req := range map[string]*passv1.UpdateCustomerPassRequest{
		"an expiry date": {ExpiryDate: new("2027-01-01")},
		"a status":       {Status: passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_PAUSED},
		"uses":           {RemainingUses: new(int32(9))},
	} {
		req.Id = s.pass()
		if _, err := w.client.UpdateCustomerPass(ctx, req); reason(err) != ReasonPassOfSubscription {
			t.Errorf("%s: got %v", name, err)
		}
	}
	p := w.get(s.pass())
	same := &passv1.UpdateCustomerPassRequest{Id: s.pass(), ExpiryDate: &p.ExpiryDate, Status: p.GetStatus(), RemainingUses: &p.RemainingUses}
	if got := w.update(same); got.GetVersion() != p.GetVersion() {
		t.Errorf("got %v", got)
	}
	if _, err := w.client.AdjustCredits(ctx, &passv1.AdjustCreditsRequest{CustomerPassId: s.pass(), Credits: -3, Reason: "Moved"}); err != nil {
		t.Fatal(err)
	}
	s.mustSend(credits(2, 8, 8))
	s.want("assigned/1 8=8, adjusted/0 -3=5, granted/2 8=13")
}

func TestStateOfASubscription(t *testing.T) { // invariants 15 and 16
	w := open(t)
	w.startAtNoon()
	s := w.subscribe()
	s.mustSend(credits(1, 8, 8))
	first, second := s.req.GetPassType(), newPlan()
	second.Title, second.EligibleEventTypes = "Workshops", []string{"workshop"}
	redeem := func(want string) {
		t.Helper()
		if _, err := w.redeem(redeemRequest(s.req.GetCustomerId(), s.pass(), 1)); reason(err) != want {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	paused := s.next(func(r *passv1.SyncSubscriptionPassRequest) {
		r.Status = passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_PAUSED
	}).GetCustomerPass()
	since := paused.GetPausedSince()
	if paused.GetStatus() != passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_PAUSED || since == nil {
		t.Errorf("got %v", paused)
	}
	redeem(ReasonPassNotActive)
	again := s.next(func(r *passv1.SyncSubscriptionPassRequest) { r.LastDay = w.inDays(30) }).GetCustomerPass()
	if !proto.Equal(again.GetPausedSince(), since) || again.GetExpiryDate() != w.inDays(30) || again.GetNeverExpires() {
		t.Errorf("got %v", again)
	}
	resumed := s.next(func(r *passv1.SyncSubscriptionPassRequest) {
		r.Status, r.LastDay, r.PassType = passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_ACTIVE, "", second
	}).GetCustomerPass()
	if resumed.GetPausedSince() != nil || !resumed.GetNeverExpires() || resumed.GetPassTypeId() != typeOf(second) || resumed.GetTitle() != "Workshops" {
		t.Errorf("got %v", resumed)
	}
	redeem(ReasonPassNotApplicable)
	kept := s.next(func(r *passv1.SyncSubscriptionPassRequest) { r.PassType = nil }, credits(2, 0, 0)).GetCustomerPass()
	if kept.GetPassTypeId() != typeOf(second) || kept.GetStatus() != passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_EXHAUSTED {
		t.Errorf("got %v", kept)
	}
	s.next(func(r *passv1.SyncSubscriptionPassRequest) { r.PassType = first }, credits(3, 4, 0))
	redeem("")
	s.want("assigned/1 8=8, expired/2 -8=0, granted/3 4=4, redeemed/0 -1=3")
}

func TestEndOfASubscription(t *testing.T) { // invariant 17
	w := open(t)
	s := w.subscribe()
	s.mustSend(credits(1, 8, 8))
	first := redeemRequest(s.req.GetCustomerId(), s.pass(), 2)
	second := redeemRequest(s.req.GetCustomerId(), s.pass(), 1, 1)
	w.mustRedeem(first)
	w.mustRedeem(second)
	cancelled := s.next(func(r *passv1.SyncSubscriptionPassRequest) {
		r.Status, r.LastDay = passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_CANCELLED, "2026-01-30"
	})
	if p := cancelled.GetCustomerPass(); p.GetStatus() != passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_CANCELLED || p.GetRemainingUses() != 0 {
		t.Errorf("got %v", p)
	}
	if _, err := w.redeem(redeemRequest(s.req.GetCustomerId(), s.pass(), 1)); reason(err) != ReasonPassNotActive {
		t.Errorf("got %v", err)
	}
	ended := "assigned/1 8=8, redeemed/0 -2=6, redeemed/0 -1=5, redeemed/0 -1=4, expired/1 -4=0"
	s.want(ended)
	for range 2 {
		_, err := w.client.ReturnCredits(w.as(w.company), &passv1.ReturnCreditsRequest{
			RedemptionId: first.GetRedemptionId(), ReturnId: first.GetItems()[0].GetItemId(), Credits: 2,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.client.CancelRedemption(w.as(w.company), &passv1.CancelRedemptionRequest{RedemptionId: second.GetRedemptionId()}); err != nil {
		t.Fatal(err)
	}
	ended += ", returned/0 2=2, expired/1 -2=0, returned/0 1=1, returned/0 1=2, expired/1 -2=0"
	s.want(ended)
	s.mustSend(credits(2, 8, 8)) // a late call
	s.want(ended + ", granted/2 8=8, expired/2 -8=0")
	t.Run("credits stay in the ledger after the last day, and cannot be used", func(t *testing.T) {
		s := w.subscribe()
		s.req.LastDay = "2026-02-27"
		s.mustSend(credits(1, 8, 8))
		if _, err := w.redeem(redeemRequest(s.req.GetCustomerId(), s.pass(), 1)); reason(err) != ReasonPassExpired {
			t.Errorf("got %v", err)
		}
		s.want("assigned/1 8=8")
	})
	t.Run("unlimited uses end without an entry", func(t *testing.T) {
		s := w.subscribe()
		s.req.Status = passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_CANCELLED
		s.mustSend(unlimited(1))
		s.want("assigned/1 999999=999999")
	})
}

func TestRedemptionsOfASubscription(t *testing.T) { // invariants 9, 11 and 17
	w := open(t)
	s := w.subscribe()
	s.mustSend(credits(1, 8, 0))
	limited := redeemRequest(s.req.GetCustomerId(), s.pass(), 2)
	w.mustRedeem(limited)
	s.mustSend(unlimited(2))
	free, batched := redeemRequest(s.req.GetCustomerId(), "", 2, 3), redeemRequest(s.req.GetCustomerId(), "", 4)
	for range 2 {
		if got := w.mustRedeem(free); got.GetCredits() != 0 || got.GetRemainingUses() != 999_999 || got.GetCustomerPassId() != s.pass() {
			t.Errorf("got %v", got)
		}
	}
	if got := w.redeemBatch(batched)[0].GetRedeemed(); got == nil || got.GetCredits() != 0 {
		t.Errorf("got %v", got)
	}
	giveBack := func(req *passv1.RedeemCreditsRequest, credits int32) *passv1.ReturnCreditsResponse {
		t.Helper()
		res, err := w.client.ReturnCredits(w.as(w.company), &passv1.ReturnCreditsRequest{
			RedemptionId: req.GetRedemptionId(), ReturnId: req.GetItems()[0].GetItemId(), Credits: credits,
		})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	for _, first := range []bool{true, false} {
		if res := giveBack(free, 0); res.GetChanged() != first {
			t.Errorf("got %v", res)
		}
	}
	giveBack(limited, 2)
	s.mustSend(credits(3, 8, 0))
	if res, err := w.client.CancelRedemption(w.as(w.company), &passv1.CancelRedemptionRequest{RedemptionId: batched.GetRedemptionId()}); err != nil || res.GetCredits() != 0 {
		t.Errorf("got %v, %v", res, err)
	}
	s.want("assigned/1 8=8, redeemed/0 -2=6, expired/2 -6=0, granted/2 999999=999999, redeemed/0 0=999999, redeemed/0 0=999999, " +
		"redeemed/0 0=999999, returned/0 0=999999, expired/3 -999999=0, granted/3 8=8")
}

func TestUnusablePass(t *testing.T) { // invariants 5 and 13
	live := open(t)
	test := live.of(live.company.Test())
	now := time.Now()
	test.setClock(48 * time.Hour)
	for _, c := range []struct {
		w           *world
		from, until time.Duration
		want        string
	}{
		{live, 24 * time.Hour, 72 * time.Hour, ""},
		{live, -time.Hour, 24 * time.Hour, ReasonPassNotActive},
		{test, 24 * time.Hour, 72 * time.Hour, ReasonPassNotActive},
		{test, -time.Hour, 24 * time.Hour, ""},
		{test, 72 * time.Hour, 96 * time.Hour, ""},
	} {
		s := c.w.subscribe()
		s.req.UnusableFrom, s.req.UsableAgainFrom = timestamppb.New(now.Add(c.from)), timestamppb.New(now.Add(c.until))
		s.mustSend(credits(1, 8, 0))
		eligible, err := s.client.ListEligiblePasses(s.as(s.company), &passv1.ListEligiblePassesRequest{CustomerId: s.req.GetCustomerId(), Credits: 1})
		if err != nil || (len(eligible.GetCustomerPasses()) == 1) != (c.want == "") {
			t.Errorf("from %s until %s: got %v, %v", c.from, c.until, eligible, err)
		}
		for _, pass := range []string{"", s.pass()} {
			_, err := s.redeem(redeemRequest(s.req.GetCustomerId(), pass, 1))
			if reason(err) != c.want || c.want != "" && fault.From(err).Meta["status"] != "paused" {
				t.Errorf("from %s until %s, pass %q: got %v", c.from, c.until, pass, err)
			}
		}
	}
}

func TestUnusableAt(t *testing.T) { // invariant 5
	from, until := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 3, 8, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		p    CustomerPass
		at   time.Time
		want bool
	}{
		"before":                 {CustomerPass{UnusableFrom: &from, UsableAgainFrom: &until}, from.Add(-1), false},
		"at the beginning":       {CustomerPass{UnusableFrom: &from, UsableAgainFrom: &until}, from, true},
		"just before the end":    {CustomerPass{UnusableFrom: &from, UsableAgainFrom: &until}, until.Add(-1), true},
		"at the end":             {CustomerPass{UnusableFrom: &from, UsableAgainFrom: &until}, until, false},
		"without an end":         {CustomerPass{UnusableFrom: &from}, until, true},
		"without a beginning":    {CustomerPass{UsableAgainFrom: &until}, from, false},
		"without either of them": {CustomerPass{}, from, false},
	} {
		if got := c.p.unusableAt(c.at); got != c.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

func TestChoiceOfSubscriptionPass(t *testing.T) { // invariant 5
	w := open(t)
	w.startAtNoon()
	s := w.subscribe()
	s.req.StartDate, s.req.PeriodLastDay = w.inDays(0), w.inDays(10)
	s.mustSend(credits(1, 8, 0))
	month := w.give(s.req.GetCustomerId(), nil)
	order := func(want ...string) {
		t.Helper()
		res, err := w.client.ListEligiblePasses(w.as(w.company), &passv1.ListEligiblePassesRequest{CustomerId: s.req.GetCustomerId(), Credits: 1})
		var got []string
		for _, p := range res.GetCustomerPasses() {
			got = append(got, p.GetId())
		}
		paid := w.mustRedeem(redeemRequest(s.req.GetCustomerId(), "", 1)).GetCustomerPassId()
		if err != nil || !slices.Equal(got, want) || paid != want[0] {
			t.Errorf("got %v, %v, %s pays; want %v", got, err, paid, want)
		}
	}
	order(s.pass(), month.GetId())
	s.next(func(r *passv1.SyncSubscriptionPassRequest) { r.PeriodLastDay = w.inDays(60) })
	order(month.GetId(), s.pass())
	s.next(func(r *passv1.SyncSubscriptionPassRequest) { r.PeriodLastDay = w.inDays(5) })
	order(s.pass(), month.GetId())
	s.next(func(r *passv1.SyncSubscriptionPassRequest) { r.PeriodLastDay = "" })
	order(month.GetId(), s.pass())
}

func TestSubscriptionOfADeletedCustomer(t *testing.T) { // invariants 8 and 17
	w := open(t)
	s, late := w.subscribe(), w.subscribe()
	late.req.CustomerId = s.req.GetCustomerId()
	s.mustSend(credits(1, 8, 8))
	customer, _ := id.Parse[id.Customer](s.req.GetCustomerId())
	w.customers.Delete(customer)
	if _, err := late.send(credits(1, 8, 0)); reason(err) != ReasonCustomerDeleted {
		t.Errorf("a new pass: got %v", err)
	}
	confirmation := w.with(w.issuer.Client(w.company, "customers:write"))
	if _, err := w.deletions.ConfirmCustomerDeletion(confirmation, &customerv1.ConfirmCustomerDeletionRequest{CustomerId: customer.String()}); err != nil {
		t.Fatal(err)
	}
	s.mustSend(credits(1, 8, 8)) // changes nothing
	if _, err := s.send(credits(2, 8, 8)); reason(err) != ReasonCustomerDeleted {
		t.Errorf("a renewal: got %v", err)
	}
	s.req.Version++
	if _, err := s.send(); reason(err) != ReasonCustomerDeleted {
		t.Errorf("a new state: got %v", err)
	}
	s.req.Status = passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_CANCELLED
	s.mustSend(credits(2, 8, 8))
	s.want("assigned/1 8=8, granted/2 8=16, expired/2 -16=0")
}

func TestPersonalDataOfASubscription(t *testing.T) { // invariant 7
	w := open(t)
	s := w.subscribe()
	s.req.Purchase = &passv1.PassPurchase{Reference: "of Ann"}
	s.mustSend(credits(1, 8, 0))
	w.give(s.req.GetCustomerId(), nil)
	customer, _ := id.Parse[id.Customer](s.req.GetCustomerId())
	exported := map[string]string{}
	err := w.db.InTx(t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
		rows, err := tx.Query(ctx, exportPassesSQL, w.company, customer)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var pass id.CustomerPass
			var row []byte
			if err := rows.Scan(&pass, &row); err != nil {
				return err
			}
			var fields struct {
				ID           string  `json:"id"`
				Subscription *string `json:"subscription_id"`
			}
			if err := json.Unmarshal(row, &fields); err != nil {
				return err
			}
			if fields.Subscription != nil {
				exported[fields.ID] = *fields.Subscription
			}
		}
		return rows.Err()
	})
	for pass, subscription := range exported { // the pass that was sold on its own has none
		if pass != subscription {
			t.Errorf("the pass %s has the subscription %s", pass, subscription)
		}
	}
	if err != nil || len(exported) != 1 {
		t.Errorf("got %v, %v", exported, err)
	}
	e := privacy.Erasure{Company: w.company, Customer: customer, At: time.Now()}
	if err := w.db.InTx(t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
		return privacy.Mark(ctx, tx, e.Company, e.Customer, e.At)
	}); err != nil {
		t.Fatal(err)
	}
	if err := w.server.store.erase(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if p := w.get(s.pass()); p.GetPurchase().GetReference() != "" || p.GetPurchase().GetGross() != 6000 {
		t.Errorf("got %v", p)
	}
	again := w.subscribe()
	again.req.CustomerId, again.req.Purchase = s.req.GetCustomerId(), s.req.GetPurchase()
	if _, err := again.send(credits(1, 8, 0)); reason(err) != ReasonCustomerDeleted {
		t.Errorf("got %v", err)
	}
}

func TestDeletedTestSubscriptions(t *testing.T) { // invariants 13 and 14
	live := open(t)
	test := live.of(live.company.Test())
	kept, gone := live.subscribe(), test.subscribe()
	for _, s := range []*subscription{kept, gone} {
		s.mustSend(credits(1, 8, 0), credits(2, 8, 0))
	}
	ctx := rpc.WithClaims(t.Context(), &token.Claims{Company: test.company})
	if _, err := tenancy.NewTestData(live.db).DeleteTestData(ctx, &authv1.DeleteTestDataRequest{}); err != nil {
		t.Fatal(err)
	}
	if got := grantsOf(gone.mustSend(credits(1, 5, 0))); got != "1: 5 0 0" {
		t.Errorf("got %s", got)
	}
	gone.want("assigned/1 5=5")
	kept.want("assigned/1 8=8, expired/2 -8=0, granted/2 8=8")
	if n := live.count(`select count(*) from pass_grants`); n != 3 {
		t.Errorf("%d grants", n)
	}
}

func TestVerifyFindsDifferencesOfGrants(t *testing.T) { // invariant 14
	w := open(t)
	s := w.subscribe()
	s.mustSend(credits(1, 8, 3), credits(2, 8, 3), unlimited(3))
	s.mustSend(credits(4, 8, 3))
	w.verify()
	for sql, want := range map[string]string{
		`update pass_grants set granted = 9 where period = 1`: "pass_grant.credits 9 8",
		`update pass_grants set expired = 6 where period = 2`: "pass_grant.credits 2 3 pass_grant.expired 6 5",
		`update customer_passes set last_period = 5`:          "customer_pass.last_period 5 4",
		`delete from pass_grants where period = 4`:            "customer_pass.last_period 4 3 pass_grant.credits 0 -999991",
		`update pass_types set plan_version = null`:           "pass_types.total 0 1",
	} {
		var got []string
		err := w.db.InTx(t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
			_, err := tx.Exec(ctx, sql)
			return err
		})
		if err == nil {
			err = w.server.store.verify(t.Context(), w.company, func(c comparison) error {
				if c.stored != c.computed {
					got = append(got, fmt.Sprintf("%s %d %d", c.what, c.stored, c.computed))
				}
				return nil
			})
		}
		slices.Sort(got)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: got %q, %v, want %s", sql, got, err, want)
		}
		w.exec(`update pass_grants set granted = 8, expired = case period when 2 then 5 else expired end where period < 3`)
		w.exec(`update customer_passes set last_period = 4`)
		w.exec(`insert into pass_grants select company_id, id, 4, 8, 0, 0, false, '2029-01-31' from customer_passes on conflict do nothing`)
		w.exec(`update pass_types set plan_version = 1`)
		w.verify()
	}
}
