package pass

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/rpc"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

func TestRedeem(t *testing.T) { // invariants 1, 5 and 9
	w := open(t)
	customer := w.customer()
	t.Run("takes each booking's credits and adds a ledger entry for each", func(t *testing.T) {
		p := w.give(customer, nil)
		req := redeemRequest(customer, p.GetId(), 2, 0, 3)
		res := w.mustRedeem(req)
		if res.GetCredits() != 5 || res.GetRemainingUses() != 5 || res.GetCustomerPassId() != p.GetId() || w.get(p.GetId()).GetRemainingUses() != 5 {
			t.Errorf("got %v", res)
		}
		entries := w.ledger(p.GetId())
		if len(entries) != 3 {
			t.Fatalf("got %v", entries)
		}
		e := entries[2]
		if e.GetKind() != passv1.LedgerEntryKind_LEDGER_ENTRY_KIND_REDEEMED || e.GetCredits() != -3 || e.GetBalance() != 5 ||
			e.GetRedemptionId() != req.GetRedemptionId() || e.GetItemId() != req.GetItems()[2].GetItemId() || !strings.HasPrefix(e.GetActor(), "m2m_") {
			t.Errorf("got %v", e)
		}
	})
	t.Run("takes the credits once, no matter how often it is called", func(t *testing.T) {
		p := w.give(customer, nil)
		req := redeemRequest(customer, p.GetId(), 4)
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if res, err := w.redeem(req); err != nil || res.GetRemainingUses() != 6 {
					t.Errorf("got %v, %v", res, err)
				}
			})
		}
		wg.Wait()
		if left := w.get(p.GetId()).GetRemainingUses(); left != 6 {
			t.Errorf("%d are left", left)
		}
	})
}

func TestChoiceOfPass(t *testing.T) { // invariant 5
	w := open(t)
	w.startAtNoon()
	t.Run("chooses the pass that expires first, then the one with the fewest uses, then the oldest", func(t *testing.T) {
		customer := w.customer()
		year := w.give(customer, func(r *passv1.CreatePassTypeRequest) { r.ValidityUnit = passv1.ValidityUnit_VALIDITY_UNIT_YEAR })
		oldest := w.give(customer, nil)
		newer := w.give(customer, nil)
		fewer := w.give(customer, func(r *passv1.CreatePassTypeRequest) { r.TotalUses = 3 })
		w.give(customer, func(r *passv1.CreatePassTypeRequest) {
			r.EligibleEventTypes, r.ValidityUnit = []string{"workshop"}, passv1.ValidityUnit_VALIDITY_UNIT_DAY
		})
		var got []string
		for _, n := range []int32{3, 10, 10, 10} {
			got = append(got, w.mustRedeem(redeemRequest(customer, "", n)).GetCustomerPassId())
		}
		if want := []string{fewer.GetId(), oldest.GetId(), newer.GetId(), year.GetId()}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		eligible, err := w.client.ListEligiblePasses(w.as(w.company), &passv1.ListEligiblePassesRequest{CustomerId: customer, EventTypes: []string{"workshop"}, Credits: 1})
		if err != nil || len(eligible.GetCustomerPasses()) != 1 {
			t.Errorf("got %v, %v", eligible, err)
		}
	})
	t.Run("a refusal has the reason of the pass that is closest to being able to pay", func(t *testing.T) {
		today := dayOf(w.server.now(), time.UTC)
		cases := []struct {
			name, want string
			prepare    func(customer string) (pass string)
			credits    int32
		}{
			{"no pass", ReasonPassNotApplicable, func(string) string { return "" }, 1},
			{"another type of event", ReasonPassNotApplicable, func(c string) string {
				w.give(c, func(r *passv1.CreatePassTypeRequest) { r.EligibleEventTypes = []string{"workshop"} })
				return ""
			}, 1},
			{"too few uses", ReasonPassExhausted, func(c string) string { w.give(c, nil); return "" }, 11},
			{"too few uses of the given pass", ReasonPassExhausted, func(c string) string { w.give(c, nil); return w.give(c, nil).GetId() }, 11},
			{"paused", ReasonPassNotActive, func(c string) string {
				p := w.give(c, nil)
				w.update(&passv1.UpdateCustomerPassRequest{Id: p.GetId(), Status: passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_PAUSED})
				return p.GetId()
			}, 1},
			{"the only pass is cancelled", ReasonPassNotActive, func(c string) string {
				p := w.give(c, nil)
				w.update(&passv1.UpdateCustomerPassRequest{Id: p.GetId(), Status: passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_CANCELLED})
				return ""
			}, 1},
			{"starts tomorrow", ReasonPassNotActive, func(c string) string {
				res, err := w.client.AssignCustomerPass(w.as(w.company), &passv1.AssignCustomerPassRequest{
					CustomerId: c, PassTypeId: w.passType().GetId(), StartDate: today.AddDate(0, 0, 2).Format(time.DateOnly)})
				if err != nil {
					t.Fatal(err)
				}
				return res.GetCustomerPass().GetId()
			}, 1},
			{"expired", ReasonPassExpired, func(c string) string {
				res, err := w.client.AssignCustomerPass(w.as(w.company), &passv1.AssignCustomerPassRequest{
					CustomerId: c, PassTypeId: w.passType().GetId(), StartDate: today.AddDate(0, -3, 0).Format(time.DateOnly)})
				if err != nil {
					t.Fatal(err)
				}
				return res.GetCustomerPass().GetId()
			}, 1},
			{"another customer's", ReasonPassNotApplicable, func(string) string { return w.give(w.customer(), nil).GetId() }, 1},
			{"a pass that does not exist", fault.ReasonNotFound, func(string) string { return id.New[id.CustomerPass]().String() }, 1},
			{"an invalid identifier", fault.ReasonNotFound, func(string) string { return "cp_'" }, 1},
			{"the zero identifier, with a pass that could pay", fault.ReasonNotFound, func(c string) string {
				w.give(c, nil)
				return "cp_00000000000000000000000000"
			}, 1},
		}
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				customer := w.customer()
				req := redeemRequest(customer, c.prepare(customer), c.credits)
				if _, err := w.redeem(req); reason(err) != c.want {
					t.Errorf("got %v, want %s", err, c.want)
				}
				// A refused redemption can be tried again.
				w.give(customer, func(r *passv1.CreatePassTypeRequest) { r.TotalUses = 100 })
				req.CustomerPassId = ""
				if _, err := w.redeem(req); err != nil {
					t.Errorf("tried again: %v", err)
				}
			})
		}
	})
}

func TestDaysOfRedemption(t *testing.T) { // invariant 5
	w := open(t)
	w.startAtNoon()
	customer := w.customer()
	t.Run("pays for a day on which the pass is valid, regardless of the day of the call", func(t *testing.T) {
		today := dayOf(w.server.now(), time.UTC)
		on := func(days ...int) *passv1.RedeemCreditsRequest {
			req := redeemRequest("", "", slices.Repeat([]int32{1}, len(days))...)
			for i, n := range days {
				req.Items[i].Day = today.AddDate(0, 0, n).Format(time.DateOnly)
			}
			return req
		}
		from := func(customer string, day int) string {
			res, err := w.client.AssignCustomerPass(w.as(w.company), &passv1.AssignCustomerPassRequest{
				CustomerId: customer, PassTypeId: w.passType().GetId(), StartDate: today.AddDate(0, 0, day).Format(time.DateOnly)})
			if err != nil {
				t.Fatal(err)
			}
			return res.GetCustomerPass().GetId()
		}
		expiry := func(pass string) int {
			end, err := time.Parse(time.DateOnly, w.get(pass).GetExpiryDate())
			if err != nil {
				t.Fatal(err)
			}
			return daysBetween(today, end)
		}
		for name, c := range map[string]struct {
			starts int
			days   func(expiry int) []int
			want   string
		}{
			"its first day, before the pass has started":           {5, func(int) []int { return []int{5} }, ""},
			"the day before it starts":                             {5, func(int) []int { return []int{4} }, ReasonPassNotActive},
			"its last day":                                         {0, func(end int) []int { return []int{end} }, ""},
			"the day after it expires":                             {0, func(end int) []int { return []int{end + 1} }, ReasonPassExpired},
			"several days, all of them valid":                      {5, func(end int) []int { return []int{end, 5, 9} }, ""},
			"several days, one before its first":                   {5, func(end int) []int { return []int{end, 4} }, ReasonPassNotActive},
			"several days, one after its last":                     {5, func(end int) []int { return []int{5, end + 1} }, ReasonPassExpired},
			"a day that has ended in the company's zone":           {-60, func(end int) []int { return []int{end} }, ""},
			"the first day of a pass that starts later than today": {1, func(int) []int { return []int{1} }, ""},
		} {
			t.Run(name, func(t *testing.T) {
				customer := w.customer()
				pass := from(customer, c.starts)
				req := on(c.days(expiry(pass))...)
				req.CustomerId, req.CustomerPassId = customer, pass
				if _, err := w.redeem(req); reason(err) != c.want {
					t.Errorf("named: got %v, want %q", err, c.want)
				}
				req.RedemptionId, req.CustomerPassId = newTransaction(), ""
				for i := range req.GetItems() {
					req.Items[i].ItemId = id.New[id.Booking]().String()
				}
				if _, err := w.redeem(req); reason(err) != c.want {
					t.Errorf("chosen: got %v, want %q", err, c.want)
				}
			})
		}
		t.Run("chooses the pass that can pay and expires first", func(t *testing.T) {
			customer := w.customer()
			soon, later := from(customer, 0), from(customer, 20)
			day := expiry(soon) + 1
			eligible, err := w.client.ListEligiblePasses(w.as(w.company), &passv1.ListEligiblePassesRequest{
				CustomerId: customer, Days: []string{today.AddDate(0, 0, day).Format(time.DateOnly)}})
			if err != nil || len(eligible.GetCustomerPasses()) != 1 || eligible.GetCustomerPasses()[0].GetId() != later {
				t.Errorf("eligible: %v, %v", eligible, err)
			}
			for _, want := range []struct {
				day  int
				pass string
			}{{25, soon}, {day, later}} {
				req := on(want.day)
				req.CustomerId = customer
				if res := w.mustRedeem(req); res.GetCustomerPassId() != want.pass {
					t.Errorf("day %d: got %s, want %s", want.day, res.GetCustomerPassId(), want.pass)
				}
			}
		})
		t.Run("refuses a malformed day", func(t *testing.T) {
			req := on(0)
			req.CustomerId, req.Items[0].Day = customer, "2026-02-30"
			if _, err := w.redeem(req); !fault.Is(err, fault.Invalid) {
				t.Errorf("got %v", err)
			}
			_, err := w.client.ListEligiblePasses(w.as(w.company), &passv1.ListEligiblePassesRequest{CustomerId: customer, Days: []string{""}})
			if !fault.Is(err, fault.Invalid) {
				t.Errorf("got %v", err)
			}
		})
	})
}

func TestRedemptionRefusals(t *testing.T) {
	w := open(t)
	customer := w.customer()
	t.Run("more credits than any pass has are refused like too many credits", func(t *testing.T) {
		customer := w.customer()
		w.give(customer, nil)
		if _, err := w.redeem(redeemRequest(customer, "", maxCost)); reason(err) != ReasonPassExhausted {
			t.Errorf("got %v", err)
		}
	})
	t.Run("reports every fault", func(t *testing.T) {
		_, err := w.redeem(&passv1.RedeemCreditsRequest{RedemptionId: newTransaction(), CustomerId: customer, Items: []*passv1.RedemptionItem{
			{ItemId: "x", EventType: "yoga", Credits: -1},
		}})
		var got []string
		for _, f := range fault.From(err).Fields {
			got = append(got, f.Field+":"+f.Rule)
		}
		if want := "items[0].item_id:format items[0].event_type:enum items[0].credits:range"; strings.Join(got, " ") != want {
			t.Errorf("got %v, want %s", got, want)
		}
	})
	w.verify()
}

func TestReturn(t *testing.T) { // invariant 9
	w := open(t)
	ctx := w.as(w.company)
	customer := w.customer()
	giveBack := func(req *passv1.RedeemCreditsRequest, item int, pass string) (*passv1.ReturnCreditsResponse, error) {
		return w.client.ReturnCredits(ctx, &passv1.ReturnCreditsRequest{
			ReturnId: req.GetItems()[item].GetItemId(), RedemptionId: req.GetRedemptionId(), Credits: req.GetItems()[item].GetCredits(), CustomerPassId: pass,
		})
	}
	t.Run("returns a booking's credits once, also to a cancelled pass", func(t *testing.T) {
		p := w.give(customer, nil)
		req := redeemRequest(customer, p.GetId(), 2, 3)
		w.mustRedeem(req)
		w.update(&passv1.UpdateCustomerPassRequest{Id: p.GetId(), Status: passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_CANCELLED})
		for n := range 3 {
			res, err := giveBack(req, 1, "")
			if err != nil || res.GetRemainingUses() != 8 || res.GetChanged() != (n == 0) {
				t.Errorf("got %v, %v", res, err)
			}
		}
		if entries := w.ledger(p.GetId()); len(entries) != 4 || entries[3].GetKind() != passv1.LedgerEntryKind_LEDGER_ENTRY_KIND_RETURNED {
			t.Errorf("got %v", entries)
		}
	})
	t.Run("returns what the booking holds, regardless of the number in the request", func(t *testing.T) {
		for _, credits := range []int32{0, 1, 3} {
			p := w.give(customer, nil)
			req := redeemRequest(customer, p.GetId(), 2)
			w.mustRedeem(req)
			res, err := w.client.ReturnCredits(ctx, &passv1.ReturnCreditsRequest{ReturnId: req.GetItems()[0].GetItemId(), RedemptionId: req.GetRedemptionId(), Credits: credits})
			if err != nil || !res.GetChanged() || res.GetRemainingUses() != 10 {
				t.Errorf("%d: got %v, %v", credits, res, err)
			}
		}
	})
	t.Run("returns a booking without credits once, and leaves the pass alone", func(t *testing.T) {
		p := w.give(customer, nil)
		req := redeemRequest(customer, p.GetId(), 2, 0)
		w.mustRedeem(req)
		version := w.get(p.GetId()).GetVersion()
		for n := range 2 {
			res, err := giveBack(req, 1, "")
			if err != nil || res.GetRemainingUses() != 8 || res.GetChanged() != (n == 0) {
				t.Errorf("got %v, %v", res, err)
			}
		}
		if after := w.get(p.GetId()); after.GetVersion() != version || len(w.ledger(p.GetId())) != 2 {
			t.Errorf("got %v", after)
		}
	})
	t.Run("refuses credits that were not taken", func(t *testing.T) {
		p := w.give(customer, nil)
		req := redeemRequest(customer, p.GetId(), 2)
		w.mustRedeem(req)
		_, err := w.client.ReturnCredits(ctx, &passv1.ReturnCreditsRequest{ReturnId: id.New[id.Booking]().String(), RedemptionId: req.GetRedemptionId(), Credits: 2, CustomerPassId: p.GetId()})
		if !fault.Is(err, fault.NotFound) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("returns an imported booking's credits to the given pass, once", func(t *testing.T) {
		p := w.give(customer, nil)
		req := redeemRequest(customer, "", 2, 1)
		for range 2 {
			for item := range 2 {
				if _, err := giveBack(req, item, p.GetId()); err != nil {
					t.Error(err)
				}
			}
		}
		if left := w.get(p.GetId()).GetRemainingUses(); left != 13 {
			t.Errorf("%d are left", left)
		}
		if _, err := giveBack(redeemRequest(customer, "", 1), 0, id.New[id.CustomerPass]().String()); !fault.Is(err, fault.NotFound) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("cancelling a redemption returns the credits that it still holds, and refuses it permanently", func(t *testing.T) {
		p := w.give(customer, nil)
		req := redeemRequest(customer, p.GetId(), 2, 3)
		w.mustRedeem(req)
		if _, err := giveBack(req, 0, ""); err != nil {
			t.Fatal(err)
		}
		for n, want := range []int32{3, 0} {
			res, err := w.client.CancelRedemption(ctx, &passv1.CancelRedemptionRequest{RedemptionId: req.GetRedemptionId()})
			if err != nil || res.GetCredits() != want {
				t.Errorf("%d: got %v, %v", n, res, err)
			}
		}
		late := redeemRequest(customer, p.GetId(), 1)
		if _, err := w.client.CancelRedemption(ctx, &passv1.CancelRedemptionRequest{RedemptionId: late.GetRedemptionId()}); err != nil {
			t.Fatal(err)
		}
		for _, r := range []*passv1.RedeemCreditsRequest{req, late} {
			if _, err := w.redeem(r); reason(err) != ReasonRedemptionCancelled {
				t.Errorf("got %v", err)
			}
		}
		if left := w.get(p.GetId()).GetRemainingUses(); left != 10 {
			t.Errorf("%d are left", left)
		}
	})
	w.verify()
}

// TestCreditsUnderConcurrency lets several processes take and return the credits of few passes, and
// then verifies every number.
func TestCreditsUnderConcurrency(t *testing.T) { // invariants 1 and 9
	w := open(t)
	customer := w.customer()
	var passes []string
	for range 3 {
		passes = append(passes, w.give(customer, func(r *passv1.CreatePassTypeRequest) { r.TotalUses = 200 }).GetId())
	}
	servers := []*Server{w.server}
	for range 2 {
		servers = append(servers, NewServer(w.db, outbox.New(w.db, nil, testkit.Log(t), time.Now), NewCompanies(w.db, w.auth), w.customers))
	}
	claims, err := w.issuer.Verifier.Verify(t.Context(), w.issuer.Client(w.company, "redemptions:write", "customer-passes:write"))
	if err != nil {
		t.Fatal(err)
	}
	ctx := rpc.WithClaims(t.Context(), claims)
	var mu sync.Mutex
	var shared []*passv1.RedeemCreditsRequest // which other workers repeat
	var wg sync.WaitGroup
	for worker := range 24 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(worker), 1))
			s := servers[worker%len(servers)]
			for range 12 {
				pass := ""
				if r.IntN(2) == 0 {
					pass = passes[r.IntN(len(passes))]
				}
				req := redeemRequest(customer, pass, int32(r.IntN(3)), int32(1+r.IntN(2)))
				for range 1 + r.IntN(2) {
					if _, err := s.RedeemCredits(ctx, req); err != nil && reason(err) != ReasonPassExhausted && reason(err) != ReasonPassNotActive {
						t.Error(err)
					}
				}
				mu.Lock()
				shared = append(shared, req)
				batch := &passv1.BatchRedeemCreditsRequest{Redemptions: []*passv1.RedeemCreditsRequest{
					redeemRequest(customer, passes[r.IntN(len(passes))], 1), shared[r.IntN(len(shared))], redeemRequest(customer, "", 1), req,
				}}
				shared = append(shared, batch.GetRedemptions()...)
				mu.Unlock()
				if _, err := s.BatchRedeemCredits(ctx, batch); err != nil {
					t.Error(err)
				}
				var err error
				switch r.IntN(6) {
				case 0:
					_, err = s.CancelRedemption(ctx, &passv1.CancelRedemptionRequest{RedemptionId: req.GetRedemptionId()})
				case 1, 2:
					i := req.GetItems()[r.IntN(2)]
					_, err = s.ReturnCredits(ctx, &passv1.ReturnCreditsRequest{ReturnId: i.GetItemId(), RedemptionId: req.GetRedemptionId(), Credits: i.GetCredits(), CustomerPassId: passes[0]})
				case 3:
					_, err = s.AdjustCredits(ctx, &passv1.AdjustCreditsRequest{CustomerPassId: passes[r.IntN(3)], Credits: int32(r.IntN(5)) - 2, Reason: "x"})
					if fault.Is(err, fault.Invalid) || reason(err) == ReasonPassExhausted {
						err = nil
					}
				case 4:
					status := passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_ACTIVE
					if r.IntN(4) == 0 {
						status = passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_PAUSED
					}
					_, err = s.UpdateCustomerPass(ctx, &passv1.UpdateCustomerPassRequest{Id: passes[r.IntN(3)], Status: status})
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if checked := w.verify(); checked < 100 {
		t.Errorf("only %d rows were checked", checked)
	}
	if n := w.lostRaces(); n > 0 {
		t.Errorf("%v transactions were repeated after a deadlock", n)
	}
	// The same check without the service's own statements.
	for _, pass := range passes {
		var sum int32
		for _, e := range w.ledger(pass) {
			sum += e.GetCredits()
			if e.GetBalance() != sum || sum < 0 {
				t.Errorf("%v: the balance is not %d", e, sum)
			}
		}
		if left := w.get(pass).GetRemainingUses(); left != sum {
			t.Errorf("%d uses are left, the sum of the ledger is %d", left, sum)
		}
	}
}

func TestRedemptionCredits(t *testing.T) {
	r := redemption{items: slices.Repeat([]item{{credits: maxCost}}, 50)}
	if got := r.credits(); got != math.MaxInt32 {
		t.Errorf("what costs more than can be counted costs %d", got)
	}
	r.items = []item{{credits: 2}, {credits: 3}}
	if got := r.credits(); got != 5 {
		t.Errorf("got %d", got)
	}
}
