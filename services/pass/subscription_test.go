package pass

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// asPlatform returns the context of a platform credential that acts for the company.
func (w *world) asPlatform() context.Context {
	source := token.NewSource(func(context.Context) (string, time.Time, error) {
		return w.issuer.Admin(), time.Now().Add(time.Hour), nil
	})
	return rpc.As(w.t.Context(), source, w.company)
}

func newPlan() *passv1.PlanPassType {
	return &passv1.PlanPassType{
		PlanId: id.New[id.Plan]().String(), Version: 1, Title: "Eight a month", Credits: 8,
		IntervalCount: 1, IntervalUnit: passv1.ValidityUnit_VALIDITY_UNIT_MONTH, Price: 6000, Currency: "USD",
	}
}

// subscription is what a test's subscription service sends.
type subscription struct {
	*world
	req *passv1.SyncSubscriptionPassRequest
}

// subscribe returns a subscription of a new customer, which has not been sent yet.
func (w *world) subscribe() *subscription {
	return &subscription{world: w, req: &passv1.SyncSubscriptionPassRequest{
		SubscriptionId: id.New[id.Subscription]().String(), CustomerId: w.customer(), PassType: newPlan(), Version: 1, StateId: "s1",
		Status: passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_ACTIVE, StartDate: "2026-01-31",
	}}
}

func (s *subscription) pass() string {
	sub, _ := id.Parse[id.Subscription](s.req.GetSubscriptionId())
	return id.CustomerPass(sub.UUID()).String()
}

// credits returns the grant of a period with credits.
func credits(period, n, rollover int32) *passv1.PeriodGrant {
	return &passv1.PeriodGrant{Period: period, Credits: n, MaxRollover: rollover, FirstDay: fmt.Sprintf("20%02d-01-31", 25+period)}
}

// unlimited returns the grant of a period with unlimited uses.
func unlimited(period int32) *passv1.PeriodGrant {
	g := credits(period, 0, 5)
	g.UnlimitedUses = true
	return g
}

// send sends a copy of the state with grants.
func (s *subscription) send(grants ...*passv1.PeriodGrant) (*passv1.SyncSubscriptionPassResponse, error) {
	req := proto.CloneOf(s.req)
	req.Grants = grants
	return s.subscriptions.SyncSubscriptionPass(s.asPlatform(), req)
}

func (s *subscription) mustSend(grants ...*passv1.PeriodGrant) *passv1.SyncSubscriptionPassResponse {
	s.t.Helper()
	resp, err := s.send(grants...)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp
}

// next sends a newer state.
func (s *subscription) next(change func(*passv1.SyncSubscriptionPassRequest), grants ...*passv1.PeriodGrant) *passv1.SyncSubscriptionPassResponse {
	s.t.Helper()
	s.req.Version++
	s.req.StateId = fmt.Sprint("s", s.req.GetVersion())
	change(s.req)
	return s.mustSend(grants...)
}

// shown returns the entries of the ledger: the kind, the period, the credits and the balance.
func (s *subscription) shown() string {
	s.t.Helper()
	var list []string
	for _, e := range s.ledger(s.pass()) {
		kind := strings.ToLower(strings.TrimPrefix(e.GetKind().String(), "LEDGER_ENTRY_KIND_"))
		list = append(list, fmt.Sprintf("%s/%d %d=%d", kind, e.GetPeriod(), e.GetCredits(), e.GetBalance()))
	}
	return strings.Join(list, ", ")
}

func (s *subscription) want(ledger string) {
	s.t.Helper()
	if got := s.shown(); got != ledger {
		s.t.Errorf("the ledger has %s\nwant %s", got, ledger)
	}
	s.verify()
}

func grantsOf(resp *passv1.SyncSubscriptionPassResponse) string {
	var list []string
	for _, g := range resp.GetGrants() {
		list = append(list, fmt.Sprintf("%d: %d %d %d", g.GetPeriod(), g.GetGranted(), g.GetCarriedOver(), g.GetExpired()))
	}
	return strings.Join(list, ", ")
}

// eventsOf returns the number of events of a subject.
func (w *world) eventsOf(subject string) int64 {
	w.t.Helper()
	n, err := pg.One[int64](w.t.Context(), w.db, pg.For(w.company), `select count(*) from outbox where subject = $1`, subject)
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// grantSteps are a number of credits to take, or a grant, and what the grant does.
var grantSteps = map[string]struct {
	steps  []any
	grants string
	ledger string
}{
	"unused credits expire without rollover": {
		[]any{credits(1, 8, 0), int32(3), credits(2, 8, 0)}, "1: 8 0 0, 2: 8 0 5",
		"assigned/1 8=8, redeemed/0 -3=5, expired/2 -5=0, granted/2 8=8",
	},
	"unused credits up to the bound roll over": {
		[]any{credits(1, 8, 0), int32(3), credits(2, 8, 2), credits(3, 8, 100)}, "1: 8 0 0, 2: 8 2 3, 3: 8 10 0",
		"assigned/1 8=8, redeemed/0 -3=5, expired/2 -3=2, granted/2 8=10, granted/3 8=18",
	},
	"a period without credits expires everything": {
		[]any{credits(1, 8, 0), credits(2, 0, 0), credits(3, 4, 9)}, "1: 8 0 0, 2: 0 0 8, 3: 4 0 0",
		"assigned/1 8=8, expired/2 -8=0, granted/3 4=4",
	},
	"the first period can have no credits": {
		[]any{credits(1, 0, 0), credits(2, 8, 0)}, "1: 0 0 0, 2: 8 0 0", "assigned/1 0=0, granted/2 8=8",
	},
	"nothing rolls over when unlimited uses begin or end": {
		[]any{credits(1, 8, 9), int32(1), unlimited(2), int32(2), unlimited(3), credits(4, 8, 9)}, "1: 8 0 0, 2: 0 0 7, 3: 0 0 0, 4: 8 0 0",
		"assigned/1 8=8, redeemed/0 -1=7, expired/2 -7=0, granted/2 999999=999999, redeemed/0 0=999999, " +
			"expired/4 -999999=0, granted/4 8=8",
	},
	"the first period can have unlimited uses": {
		[]any{unlimited(1), int32(4)}, "1: 0 0 0", "assigned/1 999999=999999, redeemed/0 0=999999",
	},
}

func TestGrants(t *testing.T) { // invariants 1, 11 and 14
	w := open(t)
	for name, c := range grantSteps {
		t.Run(name, func(t *testing.T) {
			s := w.subscribe()
			var got []string
			var all []*passv1.PeriodGrant
			for _, step := range c.steps {
				switch step := step.(type) {
				case int32:
					w.mustRedeem(redeemRequest(s.req.GetCustomerId(), s.pass(), step))
				case *passv1.PeriodGrant:
					all = append(all, step)
					got = append(got, grantsOf(s.mustSend(step)))
				}
			}
			if got := strings.Join(got, ", "); got != c.grants {
				t.Errorf("got %s, want %s", got, c.grants)
			}
			if again := s.mustSend(all...); grantsOf(again) != c.grants {
				t.Errorf("the repeated grants are %s, want %s", grantsOf(again), c.grants)
			}
			s.want(c.ledger)
		})
	}
	t.Run("all grants of a request are made in one commit", func(t *testing.T) {
		s := w.subscribe()
		if got := grantsOf(s.mustSend(credits(1, 8, 0), credits(2, 8, 3), unlimited(3))); got != "1: 8 0 0, 2: 8 3 5, 3: 0 0 11" {
			t.Errorf("got %s", got)
		}
		s.want("assigned/1 8=8, expired/2 -5=3, granted/2 8=11, expired/3 -11=0, granted/3 999999=999999")
	})
	t.Run("rollover is bounded, however large the request's bound is", func(t *testing.T) {
		s := w.subscribe()
		got := s.mustSend(credits(1, maxUses, 1<<30), credits(2, maxUses, 1<<30), credits(3, maxUses, 1<<30))
		if got.GetCustomerPass().GetRemainingUses() != 2*maxUses || got.GetGrants()[2].GetExpired() != maxUses {
			t.Errorf("got %v", got)
		}
		w.verify()
	})
}

func TestSubscriptionPassEvents(t *testing.T) { // invariants 2 and 14
	w := open(t)
	assigned := func(want int64, what string) {
		t.Helper()
		if n := w.eventsOf(subjectCustomerPassAssigned); n != want {
			t.Errorf("%s: %d passes are announced, want %d", what, n, want)
		}
	}
	updated := func(want int64, what string) {
		t.Helper()
		if n := w.eventsOf(subjectCustomerPassUpdated); n != want {
			t.Errorf("%s: %d updates are announced, want %d", what, n, want)
		}
	}
	s := w.subscribe()
	s.req.Purchase = &passv1.PassPurchase{Gross: proto.Int64(5000), Currency: "GBP", Method: "CARD", Reference: "pi_1"}
	made := s.mustSend(credits(1, 8, 0)).GetCustomerPass()
	if made.GetPurchase().GetGross() != 5000 || made.GetPurchase().GetReference() != "pi_1" || made.GetPurchase().GetCurrency() != "GBP" || made.GetTotalUses() != 8 || made.GetVersion() != 1 ||
		made.GetSubscriptionId() != s.req.GetSubscriptionId() || !made.GetNeverExpires() || made.GetTitle() != "Eight a month" {
		t.Errorf("got %v", made)
	}
	assigned(1, "the first call")
	s.mustSend(credits(1, 8, 0))
	updated(0, "a repeated call")
	s.mustSend(credits(2, 8, 0))
	updated(1, "a renewal")
	s.next(func(r *passv1.SyncSubscriptionPassRequest) { r.PeriodLastDay = "2026-02-27" })
	updated(1, "a state that readers do not see")
	s.next(func(r *passv1.SyncSubscriptionPassRequest) { r.LastDay = "2027-02-27" }, credits(3, 4, 4), credits(4, 4, 4))
	updated(2, "a new state with two periods")
	assigned(1, "renewals")
	quiet := w.subscribe()
	quiet.req.Quiet = true
	if p := quiet.mustSend(credits(1, 8, 0)).GetCustomerPass(); p.GetPurchase() != nil {
		t.Errorf("got %v", p)
	}
	assigned(1, "a quiet creation")
	updated(2, "a quiet creation")
}

func TestSyncProtocol(t *testing.T) { // invariant 15
	w := open(t)
	s := w.subscribe()
	missing := func(want string, grants ...*passv1.PeriodGrant) {
		t.Helper()
		_, err := s.send(grants...)
		if reason(err) != ReasonGrantMissing || fault.From(err).Meta["last_period"] != want {
			t.Errorf("got %v, want the last period %s", err, want)
		}
	}
	missing("0")
	missing("0", credits(2, 8, 0))
	missing("0", credits(1, 8, 0), credits(3, 8, 0))
	if _, err := w.client.GetCustomerPass(w.as(w.company), &passv1.GetCustomerPassRequest{Id: s.pass()}); !fault.Is(err, fault.NotFound) {
		t.Errorf("a refused grant left a pass: %v", err)
	}
	s.req.Version, s.req.StateId = 5, "five"
	s.mustSend(credits(1, 8, 0), credits(2, 8, 0))
	missing("2", credits(4, 8, 0))
	missing("2", credits(3, 8, 0), credits(5, 8, 0))
	for _, c := range []struct {
		version int64
		status  passv1.CustomerPassStatus
		want    string
	}{
		{4, passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_PAUSED, "5 five ACTIVE"},
		{5, passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_CANCELLED, "5 five ACTIVE"},
		{7, passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_PAUSED, "7 sent PAUSED"},
		{6, passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_ACTIVE, "7 sent PAUSED"},
		{8, passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_ACTIVE, "8 sent ACTIVE"},
	} {
		s.req.Version, s.req.StateId, s.req.Status = c.version, "sent", c.status
		got := s.mustSend()
		status := strings.TrimPrefix(got.GetCustomerPass().GetStatus().String(), "CUSTOMER_PASS_STATUS_")
		if text := fmt.Sprint(got.GetVersion(), " ", got.GetStateId(), " ", status); text != c.want || got.GetLastPeriod() != 2 {
			t.Errorf("version %d: got %s, want %s", c.version, text, c.want)
		}
	}
	t.Run("an older state still grants, and its pass type does not apply", func(t *testing.T) {
		s.req.Version, s.req.PassType = 1, newPlan()
		got := s.mustSend(credits(2, 1, 1), credits(3, 9, 0))
		if grantsOf(got) != "2: 8 0 8, 3: 9 0 8" || got.GetCustomerPass().GetTotalUses() != 9 || got.GetLastPeriod() != 3 {
			t.Errorf("got %v", got)
		}
		plan, _ := id.Parse[id.Plan](s.req.GetPassType().GetPlanId())
		if got.GetCustomerPass().GetPassTypeId() == id.PassType(plan.UUID()).String() {
			t.Error("the type of an older state was applied")
		}
	})
	t.Run("the pass of another customer is not changed", func(t *testing.T) {
		other := proto.CloneOf(s.req)
		other.Version, other.CustomerId = 99, w.customer()
		if _, err := w.subscriptions.SyncSubscriptionPass(w.asPlatform(), other); !fault.Is(err, fault.Invalid) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a pass that is sold on its own is not the pass of a subscription", func(t *testing.T) {
		own, _ := id.Parse[id.CustomerPass](w.give(s.req.GetCustomerId(), nil).GetId())
		req := proto.CloneOf(s.req)
		req.SubscriptionId = id.Subscription(own.UUID()).String()
		if _, err := w.subscriptions.SyncSubscriptionPass(w.asPlatform(), req); !fault.Is(err, fault.NotFound) {
			t.Errorf("got %v", err)
		}
	})
	w.verify()
}

func TestSyncFaults(t *testing.T) {
	w := open(t)
	for name, c := range map[string]struct {
		change func(*passv1.SyncSubscriptionPassRequest)
		want   string
	}{
		"a derived status": {func(r *passv1.SyncSubscriptionPassRequest) {
			r.Status = passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_EXPIRED
		}, "status:enum"},
		"no version":               {func(r *passv1.SyncSubscriptionPassRequest) { r.Version = 0 }, "version:range"},
		"no first day":             {func(r *passv1.SyncSubscriptionPassRequest) { r.StartDate = "" }, "start_date:format"},
		"an end before the start":  {func(r *passv1.SyncSubscriptionPassRequest) { r.LastDay = "2026-01-30" }, "last_day:min"},
		"a time outside the range": {func(r *passv1.SyncSubscriptionPassRequest) { r.UnusableFrom = &timestamppb.Timestamp{Seconds: 1 << 60} }, "unusable_from:range"},
		"periods out of order": {func(r *passv1.SyncSubscriptionPassRequest) {
			r.Grants = []*passv1.PeriodGrant{credits(2, 1, 0), credits(1, 1, 0)}
		}, "grants[1].period:order"},
		"bounds of a grant": {func(r *passv1.SyncSubscriptionPassRequest) {
			r.Grants = []*passv1.PeriodGrant{{Credits: maxUses + 1, MaxRollover: -1}}
		}, "grants[0].first_day:format grants[0].period:range grants[0].credits:range grants[0].max_rollover:range"},
		"credits of unlimited uses": {func(r *passv1.SyncSubscriptionPassRequest) {
			g := unlimited(1)
			g.Credits = 1
			r.Grants = []*passv1.PeriodGrant{g}
		}, "grants[0].credits:range"},
		"a pass type": {func(r *passv1.SyncSubscriptionPassRequest) {
			r.PassType = &passv1.PlanPassType{PlanId: r.GetPassType().GetPlanId(), Price: -1, EligibleEventTypes: []string{"yoga"}}
		}, "pass_type.title:required pass_type.version:range pass_type.credits:range pass_type.interval_count:range pass_type.interval_unit:enum " +
			"pass_type.price:range pass_type.currency:enum pass_type.eligible_event_types[0]:enum"},
		"no pass type": {func(r *passv1.SyncSubscriptionPassRequest) { r.PassType = nil }, "pass_type:required"},
		"a payment": {func(r *passv1.SyncSubscriptionPassRequest) {
			r.Purchase = &passv1.PassPurchase{Method: "BARTER"}
		}, "purchase.method:enum"},
	} {
		t.Run(name+" is refused", func(t *testing.T) {
			s := w.subscribe()
			s.req.Grants = []*passv1.PeriodGrant{credits(1, 8, 0)}
			c.change(s.req)
			if _, err := w.subscriptions.SyncSubscriptionPass(w.asPlatform(), s.req); faults(err) != c.want {
				t.Errorf("got %v (%s), want %s", err, faults(err), c.want)
			}
		})
	}
	t.Run("only a platform credential may call", func(t *testing.T) {
		_, err := w.subscriptions.SyncSubscriptionPass(w.as(w.company), w.subscribe().req)
		if !fault.Is(err, fault.Forbidden) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("an unknown customer gets no pass", func(t *testing.T) {
		s := w.subscribe()
		s.req.CustomerId = id.New[id.Customer]().String()
		if _, err := s.send(credits(1, 8, 0)); !fault.Is(err, fault.NotFound) {
			t.Errorf("got %v", err)
		}
	})
}

func TestExportPassGrants(t *testing.T) {
	w := open(t)
	var want []string
	for range 3 {
		s := w.subscribe()
		s.mustSend(credits(1, 8, 0), credits(2, 6, 1))
		want = append(want, s.pass()+" 1: 8 0 0 2026-01-31", s.pass()+" 2: 6 1 7 2027-01-31")
	}
	slices.Sort(want)
	stream, err := w.subscriptions.ExportPassGrants(w.as(w.company), &passv1.ExportPassGrantsRequest{})
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
		for _, g := range res.GetGrants() {
			got = append(got, fmt.Sprintf("%s %d: %d %d %d %s", g.GetCustomerPassId(), g.GetPeriod(), g.GetGranted(), g.GetCarriedOver(), g.GetExpired(), g.GetFirstDay()))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}
