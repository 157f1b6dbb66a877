package pass

import (
	"context"
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/tenancy"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// of returns a world for another company on the same server.
func (w *world) of(company id.Company) *world {
	other := *w
	other.company = company
	return &other
}

// setClock sets by how much the company's test clock is ahead, as auth does.
func (w *world) setClock(ahead time.Duration) {
	w.t.Helper()
	err := w.db.InTx(w.t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		return w.server.companies.Keep(ctx, tx, []tenancy.Company{{
			ID: w.company, Timezone: "America/New_York", Currency: "USD", ClockOffset: int64(ahead / time.Second), Version: time.Now().UnixNano(),
		}})
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// startAtNoon lets the service's time begin at noon of a day before 60 days without a change of the clocks.
func (w *world) startAtNoon() {
	began, noon := time.Now(), time.Date(2026, 6, 1, 16, 0, 0, 0, time.UTC) // in New York
	w.server.now = func() time.Time { return noon.Add(time.Since(began)) }
}

// inDays returns a day after today in the zone of the companies.
func (w *world) inDays(n int) string {
	zone, _ := time.LoadLocation("America/New_York")
	return w.server.now().In(zone).AddDate(0, 0, n).Format(time.DateOnly)
}

// passDecisions make something that the time decides about, and return a function that shows the decision.
var passDecisions = map[string]struct {
	make          func(w *world) func() string
	before, after string // 40 days later
}{
	"a pass expires": {func(w *world) func() string {
		p := w.assign("")
		return func() string { return w.get(p.GetId()).GetStatus().String() }
	}, "CUSTOMER_PASS_STATUS_ACTIVE", "CUSTOMER_PASS_STATUS_EXPIRED"},
	"a pass begins": {func(w *world) func() string {
		p := w.assign(w.inDays(30))
		return func() string { return w.get(p.GetId()).GetStatus().String() }
	}, "CUSTOMER_PASS_STATUS_PENDING", "CUSTOMER_PASS_STATUS_ACTIVE"},
	"a list of expired passes has a pass": {func(w *world) func() string {
		w.assign("")
		return func() string {
			got, err := w.client.ListCustomerPasses(w.as(w.company), &passv1.ListCustomerPassesRequest{Status: passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_EXPIRED})
			return fmt.Sprint(got.GetTotal(), err)
		}
	}, "0 <nil>", "1 <nil>"},
	"a pass can pay today": {func(w *world) func() string {
		customer := w.customer()
		w.give(customer, nil)
		return func() string {
			got, err := w.client.ListEligiblePasses(w.as(w.company), &passv1.ListEligiblePassesRequest{CustomerId: customer, Credits: 1})
			return fmt.Sprint(len(got.GetCustomerPasses()), err)
		}
	}, "1 <nil>", "0 <nil>"},
	"a redemption without a day is paid today": {func(w *world) func() string {
		customer := w.customer()
		p := w.give(customer, nil)
		return func() string {
			_, err := w.redeem(redeemRequest(customer, p.GetId(), 1))
			if err == nil {
				return "paid"
			}
			return fault.From(err).Reason
		}
	}, "paid", ReasonPassExpired},
	"a change without a day is paid today": {func(w *world) func() string {
		_, req := w.paidWith(1)
		held := int32(1)
		return func() string {
			_, err := w.changeRedemption(changeRequest(req, held, held+1))
			if err == nil {
				held++
				return "paid"
			}
			return fault.From(err).Reason
		}
	}, "paid", ReasonPassExpired},
	"a new pass starts today": {func(w *world) func() string {
		return func() string {
			start := w.assign("").GetStartDate()
			return fmt.Sprint(start == w.inDays(0), start == w.inDays(40))
		}
	}, "true false", "false true"},
	"a pause lasts until today": {func(w *world) func() string {
		p := w.assign("")
		w.update(&passv1.UpdateCustomerPassRequest{Id: p.GetId(), Status: passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_PAUSED})
		expiry, _ := time.Parse(time.DateOnly, p.GetExpiryDate())
		return func() string {
			resumed := w.update(&passv1.UpdateCustomerPassRequest{Id: p.GetId(), Status: passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_ACTIVE})
			after, _ := time.Parse(time.DateOnly, resumed.GetExpiryDate())
			w.update(&passv1.UpdateCustomerPassRequest{Id: p.GetId(), Status: passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_PAUSED})
			return fmt.Sprint(after.Sub(expiry))
		}
	}, "0s", "960h0m0s"},
}

func TestTestClockDecides(t *testing.T) { // invariant 13
	for name, d := range passDecisions {
		t.Run(name+" by the test clock, and in live mode by the real time", func(t *testing.T) {
			live := open(t)
			live.t = t
			live.startAtNoon()
			test, other := live.of(live.company.Test()), live.of(id.New[id.Company]().Test())
			for _, w := range []*world{live, test, other} { // the days are those of their zone, not of the callers' tokens
				w.setClock(0)
			}
			shows := map[string]func() string{"live": d.make(live), "test": d.make(test), "other": d.make(other)}
			check := func(mode, want string) {
				t.Helper()
				if got := shows[mode](); got != want {
					t.Errorf("%s mode: got %s, want %s", mode, got, want)
				}
			}
			check("live", d.before)
			check("test", d.before)
			test.setClock(40 * 24 * time.Hour)
			check("live", d.before)
			check("other", d.before)
			check("test", d.after)
		})
	}
}

func TestTestClockIsShown(t *testing.T) { // invariant 13
	live := open(t)
	test := live.of(live.company.Test())
	const ahead = 400 * 24 * time.Hour
	test.setClock(ahead)
	for w, by := range map[*world]time.Duration{live: 0, test: ahead} {
		recent := func(what string, at *timestamppb.Timestamp) {
			t.Helper()
			if d := time.Now().Add(by).Sub(at.AsTime()); d < -time.Second || d > time.Minute {
				t.Errorf("%s of %s is %s from the company's time", what, w.company, d)
			}
		}
		passType := w.passType()
		recent("the creation of a pass type", passType.GetCreatedAt())
		changed, err := w.client.UpdatePassType(w.as(w.company), &passv1.UpdatePassTypeRequest{Id: passType.GetId(), Title: new("Ten")})
		if err != nil {
			t.Fatal(err)
		}
		recent("the change of a pass type", changed.GetPassType().GetUpdatedAt())
		customer := w.customer()
		p := w.give(customer, nil)
		recent("the creation of a pass", p.GetCreatedAt())
		req := redeemRequest(customer, p.GetId(), 1)
		w.mustRedeem(req)
		recent("the change of a pass", w.get(p.GetId()).GetUpdatedAt())
		if _, err := w.client.CancelRedemption(w.as(w.company), &passv1.CancelRedemptionRequest{RedemptionId: req.GetRedemptionId()}); err != nil {
			t.Fatal(err)
		}
		p, req = w.paidWith(1)
		w.mustChange(changeRequest(req, 1, 2))
		recent("the change of a redemption", w.get(p.GetId()).GetUpdatedAt())
		for _, e := range w.ledger(p.GetId()) {
			recent("an entry of the ledger", e.GetCreatedAt())
		}
	}
	n, err := pg.One[int64](t.Context(), live.db, pg.AllCompanies(), `select count(*) from outbox where occurred_at > clock_timestamp() or occurred_at < clock_timestamp() - interval '1 hour'`)
	if err != nil || n > 0 {
		t.Errorf("%d events occurred at another time than the real one, %v", n, err)
	}
}

func TestDeletedTestData(t *testing.T) { // invariants 1 and 13
	live := open(t)
	test, neighbour := live.of(live.company.Test()), live.of(id.New[id.Company]().Test())
	passes := map[*world]*passv1.CustomerPass{}
	for _, w := range []*world{live, test, neighbour} {
		customer := w.customer()
		passes[w] = w.give(customer, nil)
		req := redeemRequest(customer, passes[w].GetId(), 2)
		w.mustRedeem(req)
		w.mustChange(changeRequest(req, 2, 2))
	}
	reset := tenancy.NewTestData(live.db)
	if _, err := reset.DeleteTestData(rpc.WithClaims(t.Context(), &token.Claims{Company: test.company}), &authv1.DeleteTestDataRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := test.client.GetCustomerPass(test.as(test.company), &passv1.GetCustomerPassRequest{Id: passes[test].GetId()}); !fault.Is(err, fault.NotFound) {
		t.Errorf("got %v, want no pass", err)
	}
	list := func(w *world) int64 {
		t.Helper()
		got, err := w.client.ListCustomerPasses(w.as(w.company), &passv1.ListCustomerPassesRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return got.GetTotal()
	}
	if n := list(test); n != 0 {
		t.Errorf("%d passes are listed", n)
	}
	if n := live.count(`select count(*) from redemption_changes`); n != 2 {
		t.Errorf("%d changes of redemptions are left of three, want those of the other companies", n)
	}
	for _, w := range []*world{live, neighbour} {
		if len(w.ledger(passes[w].GetId())) != 2 || list(w) != 1 {
			t.Errorf("the passes of %s changed", w.company)
		}
	}
	test.assign("")
	if n := list(test); n != 1 {
		t.Errorf("%d passes after a new one", n)
	}
	test.verify()
	if err := live.tryWrite(`delete from ledger_entries where company_id = $1`); err == nil {
		t.Error("the ledger of a company in live mode can be deleted")
	}
}
