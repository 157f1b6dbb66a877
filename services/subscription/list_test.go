package subscription

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

func TestLists(t *testing.T) {
	w := open(t)
	plan, second := w.plan(), w.plan(free)
	customer := w.customer()
	var all []string
	for i := range 7 {
		w.clock.set(began.Add(time.Duration(i) * time.Second))
		p := plan
		if i%2 == 1 {
			p = second
		}
		s := w.subscribe(p, func(r *subscriptionv1.CreateSubscriptionRequest) { r.CustomerId = customer })
		all = append(all, s.GetId())
	}
	w.clock.set(began.Add(time.Minute))
	if _, err := actions["cancel now"](w, w.ctx(), all[2], nil); err != nil {
		t.Fatal(err)
	}
	due := w.subscribe(plan, unpaid).GetId()
	reversed := slices.Clone(all)
	slices.Reverse(reversed)
	for name, c := range map[string]struct {
		req  *subscriptionv1.ListSubscriptionsRequest
		want []string
	}{
		"by id":          {&subscriptionv1.ListSubscriptionsRequest{CustomerId: customer}, all},
		"by creation":    {&subscriptionv1.ListSubscriptionsRequest{CustomerId: customer, Order: subscriptionv1.SubscriptionOrder_SUBSCRIPTION_ORDER_CREATED}, all},
		"newest first":   {&subscriptionv1.ListSubscriptionsRequest{CustomerId: customer, Order: subscriptionv1.SubscriptionOrder_SUBSCRIPTION_ORDER_CREATED_DESC}, reversed},
		"of a plan":      {&subscriptionv1.ListSubscriptionsRequest{PlanId: second.GetId()}, []string{all[1], all[3], all[5]}},
		"of a status":    {&subscriptionv1.ListSubscriptionsRequest{Status: ended}, []string{all[2]}},
		"payment due":    {&subscriptionv1.ListSubscriptionsRequest{PaymentDue: true}, []string{due}},
		"changed since":  {&subscriptionv1.ListSubscriptionsRequest{UpdatedSince: timestamppb.New(began.Add(time.Minute)), Order: subscriptionv1.SubscriptionOrder_SUBSCRIPTION_ORDER_UPDATED}, []string{all[2], due}},
		"nobody":         {&subscriptionv1.ListSubscriptionsRequest{CustomerId: "x"}, nil},
		"everything":     {&subscriptionv1.ListSubscriptionsRequest{}, append(slices.Clone(all), due)},
		"with an offset": {&subscriptionv1.ListSubscriptionsRequest{Offset: 5}, append(slices.Clone(all[5:]), due)},
		"latest change":  {&subscriptionv1.ListSubscriptionsRequest{CustomerId: customer, Order: subscriptionv1.SubscriptionOrder_SUBSCRIPTION_ORDER_UPDATED_DESC}, append([]string{all[2]}, append(slices.Clone(reversed[:4]), reversed[5:]...)...)},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			req := c.req
			req.PageSize = 3
			for {
				res, err := w.client.ListSubscriptions(w.ctx(), req)
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range res.GetSubscriptions() {
					if s.GetCurrentPeriod().GetNumber() != 1 {
						t.Errorf("%v has no current period", s)
					}
					got = append(got, s.GetId())
				}
				if want := len(c.want) + int(c.req.GetOffset()); res.GetTotal() != int64(want) && name != "with an offset" {
					t.Errorf("total %d, want %d", res.GetTotal(), want)
				}
				if req.PageToken = res.GetNextPageToken(); req.PageToken == "" {
					break
				}
				req.Offset = 0
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
	t.Run("periods and entries are paged in both directions", func(t *testing.T) {
		w.renew(all[1], 7)
		for _, desc := range []bool{false, true} {
			req := &subscriptionv1.ListPeriodsRequest{SubscriptionId: all[1], PageSize: 3, Descending: desc}
			var got []int32
			for {
				res, err := w.client.ListPeriods(w.ctx(), req)
				if err != nil || res.GetTotal() != 7 {
					t.Fatalf("got %v, %v", res, err)
				}
				for _, p := range res.GetPeriods() {
					got = append(got, p.GetNumber())
				}
				if req.PageToken = res.GetNextPageToken(); req.PageToken == "" {
					break
				}
			}
			want := []int32{1, 2, 3, 4, 5, 6, 7}
			if desc {
				slices.Reverse(want)
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		}
		res, err := w.client.ListPeriods(w.ctx(), &subscriptionv1.ListPeriodsRequest{SubscriptionId: all[1], Offset: 5, Descending: true})
		if err != nil || len(res.GetPeriods()) != 2 || res.GetPeriods()[0].GetNumber() != 2 {
			t.Errorf("got %v, %v", res, err)
		}
		entries, err := w.client.ListAccountEntries(w.ctx(), &subscriptionv1.ListAccountEntriesRequest{SubscriptionId: all[2]})
		if err != nil || entries.GetTotal() != int64(len(entries.GetEntries())) {
			t.Errorf("got %v, %v", entries, err)
		}
	})
	t.Run("invalid pages are refused", func(t *testing.T) {
		first, err := w.client.ListSubscriptions(w.ctx(), &subscriptionv1.ListSubscriptionsRequest{PageSize: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, req := range []*subscriptionv1.ListSubscriptionsRequest{
			{PageSize: 201}, {PageSize: -1}, {PageToken: "x"}, {Order: 9}, {Status: 9}, {Offset: -1},
			{PageToken: first.GetNextPageToken(), Order: subscriptionv1.SubscriptionOrder_SUBSCRIPTION_ORDER_CREATED},
			{PageToken: first.GetNextPageToken(), Offset: 1}, {UpdatedSince: &timestamppb.Timestamp{Nanos: -1}},
		} {
			if _, err := w.client.ListSubscriptions(w.ctx(), req); !fault.Is(err, fault.Invalid) {
				t.Errorf("%v: got %v", req, err)
			}
		}
	})
}

// node is a node of EXPLAIN's JSON.
type node struct {
	Type    string  `json:"Node Type"`
	Table   string  `json:"Relation Name"`
	Index   string  `json:"Index Name"`
	Rows    float64 `json:"Actual Rows"`
	Removed float64 `json:"Rows Removed by Filter"`
	Loops   float64 `json:"Actual Loops"`
	Plans   []node  `json:"Plans"`
}

func (n node) walk(visit func(node)) {
	visit(n)
	for _, child := range n.Plans {
		child.walk(visit)
	}
}

// explain returns the plan of a statement under the policies of a scope.
func (w *world) explain(scope pg.Scope, mode, sql string, args ...any) node {
	w.t.Helper()
	var out []struct{ Plan node }
	err := w.db.InTx(w.t.Context(), scope, func(ctx context.Context, tx *pg.Tx) error {
		var types, values []string
		for _, a := range args {
			typ, value := "bigint", fmt.Sprint(a)
			switch a := a.(type) {
			case time.Time:
				typ, value = "timestamptz", "'"+a.UTC().Format(time.RFC3339Nano)+"'"
			case string:
				typ, value = "text", "'"+a+"'"
			case interface{ UUID() id.UUID }:
				typ, value = "uuid", "'"+uuidOf(a.UUID())+"'"
			case [16]byte:
				typ, value = "uuid", "'"+uuidOf(a)+"'"
			}
			types, values = append(types, typ), append(values, value)
		}
		var text []byte
		for _, statement := range []string{"set local plan_cache_mode = " + mode, "prepare probe (" + strings.Join(types, ", ") + ") as " + sql} {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return err
			}
		}
		defer tx.Exec(ctx, "deallocate probe")
		if err := tx.QueryRow(ctx, "explain (analyze, format json) execute probe ("+strings.Join(values, ", ")+")").Scan(&text); err != nil {
			return err
		}
		return json.Unmarshal(text, &out)
	})
	if err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
	return out[0].Plan
}

// fillSQL adds $2 subscriptions of the company with one period each, whose steps are due in the next days.
const fillSQL = `with made as (insert into subscriptions (company_id, id, customer_id, plan_id, price, currency, interval_unit, interval_count,
		bookings, credits, max_rollover, minimum_periods, status, start_day, periods, has_pass, imported, term_from, last_period, end_reason,
		cancel_reason, cancel_at_period_end, paused, pause_reason, amount_due, account_credit, refund_due, refunded_amount, entry_count,
		suspended, next_at, version, created_at, updated_at, advance_at, state_id, pass_sync_due, pass_sync_since)
	select $1, gen_random_uuid(), gen_random_uuid(), $3, 100, 'GBP', 'month', 1, 'credits', 1, 0, 0,
		'active', date '2027-03-01', 1, true, false, 1, 0, '', '', false, false, '',
		case when n % 100 = 1 then 100 else 0 end, 0, 0, 0, 0, false, n.at, 1, n.at, n.at, n.at, gen_random_uuid(), n.at, n.at
	from (select n, timestamptz '2027-04-01' + n * interval '1 minute' as at from generate_series(1, $2::integer) n) n
	returning company_id, id)
	insert into periods (company_id, subscription_id, number, plan_id, first_day, last_day, trial, trial_days, anchor, anchor_day, anchor_index,
		interval_unit, interval_count, paused_days, cut_short, price, currency, credit_applied, amount_due, unused_value, payment_status,
		past_due_after_days, grace_days, reminder_days, reminders_sent, paid_amount, payment_method, payment_reference, waive_reason,
		failure_reason, failed_attempts, bookings, credits, max_rollover, created_at)
	select company_id, id, 1, $3, date '2027-03-01', date '2027-03-31', false, 0, date '2027-03-01', 1, 0, 'month', 1, 0, false, 100, 'GBP', 0, 100, 0,
		'due', 3, 7, '{}', 0, 0, '', '', '', '', 0, 'credits', 1, 0, now() from made`

// TestPlansOfQueries runs lists and searches of jobs on tables with many rows, and checks that they go through few.
func TestPlansOfQueries(t *testing.T) {
	w := openOwned(t)
	fill := func(w *world, n int) *subscriptionv1.Plan {
		t.Helper()
		plan := w.plan()
		p, _ := id.Parse[id.Plan](plan.GetId())
		if _, err := w.owner.Exec(t.Context(), fillSQL, w.company, n, p); err != nil {
			t.Fatal(err)
		}
		return plan
	}
	plan := fill(w, 6000)
	for range 20 {
		test := w.of(id.New[id.Company]().Test())
		test.setClock(time.Minute, 2)
		fill(test, 100)
	}
	few := w.subscribe(w.plan())
	if _, err := w.owner.Exec(t.Context(), `vacuum analyze`); err != nil {
		t.Fatal(err)
	}
	few1, _ := id.Parse[id.Subscription](few.GetId())
	customer, _ := id.Parse[id.Customer](few.GetCustomerId())
	planID, _ := id.Parse[id.Plan](plan.GetId())
	order := func(column string, desc bool) page.Page {
		return page.Page{Order: page.Order{Column: column, Desc: desc}, Size: 20}
	}
	type probe struct {
		scope pg.Scope
		sql   string
		args  []any
	}
	all := map[string]probe{}
	list := func(name string, f subscriptionFilter, p page.Page) {
		s := f.page(f.where(w.company), p)
		all["list "+name] = probe{pg.For(w.company), s.SQL, s.Args}
	}
	list("by id", subscriptionFilter{}, order("", false))
	list("by creation", subscriptionFilter{}, order(createdAt, true))
	list("by change", subscriptionFilter{}, order(updatedAt, false))
	list("of a customer", subscriptionFilter{customer: &customer}, order(createdAt, true))
	list("of a plan", subscriptionFilter{plan: &planID}, order(createdAt, true))
	list("of a status", subscriptionFilter{status: "ended"}, order(createdAt, true))
	list("with a payment due", subscriptionFilter{paymentDue: true}, order(createdAt, true))
	before := noonOf("2027-03-15")
	all["one subscription"] = probe{pg.For(w.company), viewSQL, []any{w.company, few1}}
	all["whether work is due"] = probe{pg.AllCompanies(), dueSQL, []any{before}}
	all["due subscriptions"] = probe{pg.AllCompanies(), dueSubscriptionsSQL, []any{before, 100}}
	all["states to send"] = probe{pg.AllCompanies(), claimPassesSQL, []any{before, 25, 200}}
	all["overdue work"] = probe{pg.AllCompanies(), overdueSQL, []any{before, 20000}}
	for name, p := range all {
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			t.Run(name+" with a "+mode, func(t *testing.T) {
				plan := w.explain(p.scope, mode, p.sql, p.args...)
				plan.walk(func(n node) {
					if n.Table != "subscriptions" && n.Table != "periods" {
						return
					}
					if rows := (n.Rows + n.Removed) * n.Loops; rows > 60 {
						t.Errorf("%s on %s %s goes through %.0f rows", n.Type, n.Table, n.Index, rows)
					}
				})
				if t.Failed() {
					text, _ := json.MarshalIndent(plan, "", " ")
					t.Log(string(text))
				}
			})
		}
	}
}
