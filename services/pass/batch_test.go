package pass

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

func (w *world) redeemBatch(reqs ...*passv1.RedeemCreditsRequest) []*passv1.RedemptionResult {
	w.t.Helper()
	res, err := w.client.BatchRedeemCredits(w.as(w.company), &passv1.BatchRedeemCreditsRequest{Redemptions: reqs})
	if err != nil {
		w.t.Fatal(err)
	}
	if len(res.GetResults()) != len(reqs) {
		w.t.Fatalf("got %d results for %d redemptions", len(res.GetResults()), len(reqs))
	}
	return res.GetResults()
}

// reasons returns the reason of each refused redemption, and "" for one that took credits.
func reasons(results []*passv1.RedemptionResult) []string {
	var all []string
	for _, r := range results {
		if r.GetRedeemed() != nil {
			all = append(all, "")
		} else {
			all = append(all, reason(status.ErrorProto(r.GetRefused())))
		}
	}
	return all
}

func TestBatchRedeem(t *testing.T) { // invariants 1, 2 and 9
	w := open(t)
	t.Run("decides each redemption on its own, in order", func(t *testing.T) {
		customer, other := w.customer(), w.customer()
		p := w.give(customer, func(r *passv1.CreatePassTypeRequest) { r.TotalUses = 5 })
		q := w.give(other, nil)
		invalid := redeemRequest(customer, "", 1)
		invalid.Items[0].EventType = "yoga"
		results := w.redeemBatch(
			redeemRequest(customer, "", 2),
			redeemRequest(customer, p.GetId(), 4), // 3 are left
			invalid,
			redeemRequest(other, q.GetId(), 1, 2),
			redeemRequest(customer, q.GetId(), 1),
			redeemRequest(customer, "", 3),
			redeemRequest(customer, "", 1), // none is left
			redeemRequest(w.customer(), "", 1),
			redeemRequest(customer, id.New[id.CustomerPass]().String(), 1),
		)
		want := []string{
			"", ReasonPassExhausted, fault.ReasonValidation, "", ReasonPassNotApplicable, "", ReasonPassExhausted, ReasonPassNotApplicable, fault.ReasonNotFound,
		}
		if got := reasons(results); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		var left []int32
		for _, n := range []int{0, 3, 5} {
			left = append(left, results[n].GetRedeemed().GetRemainingUses())
		}
		if !slices.Equal(left, []int32{3, 7, 0}) {
			t.Errorf("%v are left", left)
		}
		if f := fault.From(status.ErrorProto(results[2].GetRefused())); len(f.Fields) != 1 || f.Fields[0].Field != "items[0].event_type" {
			t.Errorf("got %+v", f)
		}
		after := w.get(p.GetId())
		if after.GetRemainingUses() != 0 || after.GetVersion() != p.GetVersion()+1 || len(w.ledger(p.GetId())) != 3 {
			t.Errorf("got %v with %v", after, w.ledger(p.GetId()))
		}
		if n := w.events(p.GetId()); n != 1 {
			t.Errorf("%d events of a pass that paid twice in one commit", n)
		}
	})
	t.Run("the event of a pass has the pass before the commit", func(t *testing.T) {
		customer := w.customer()
		before := w.give(customer, func(r *passv1.CreatePassTypeRequest) { r.TotalUses = 5 })
		w.redeemBatch(redeemRequest(customer, "", 2), redeemRequest(customer, "", 3))
		got := &passv1.CustomerPassUpdated{}
		payload, err := pg.One[[]byte](t.Context(), w.db, pg.AllCompanies(),
			`select payload from outbox where subject = $1 order by id desc limit 1`, subjectCustomerPassUpdated)
		if err != nil || proto.Unmarshal(payload, got) != nil || !proto.Equal(got.GetPrevious(), before) || !proto.Equal(got.GetCustomerPass(), w.get(before.GetId())) {
			t.Errorf("got %v, %v", got, err)
		}
		if got.GetCustomerPass().GetStatus() != passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_EXHAUSTED {
			t.Errorf("got %v", got)
		}
	})
	t.Run("returns the result of RedeemCredits and of earlier batches", func(t *testing.T) {
		customer := w.customer()
		p := w.give(customer, nil)
		single, first := redeemRequest(customer, "", 9), redeemRequest(customer, "", 1)
		cancelled := redeemRequest(customer, "", 1)
		w.mustRedeem(single)
		if _, err := w.client.CancelRedemption(w.as(w.company), &passv1.CancelRedemptionRequest{RedemptionId: cancelled.GetRedemptionId()}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			// The pass is exhausted, so a new redemption would be refused.
			results := w.redeemBatch(first, single, cancelled, first)
			if got := reasons(results); !slices.Equal(got, []string{"", "", ReasonRedemptionCancelled, ""}) {
				t.Errorf("got %q", got)
			}
			if results[1].GetRedeemed().GetRemainingUses() != 1 || results[3].GetRedeemed().GetRemainingUses() != 0 {
				t.Errorf("got %v", results)
			}
		}
		if n := len(w.ledger(p.GetId())); n != 3 {
			t.Errorf("%d entries", n)
		}
	})
	t.Run("stores nothing if all are refused", func(t *testing.T) {
		before := w.count("select count(*) from redemptions") + w.count("select count(*) from customers")
		got := reasons(w.redeemBatch(redeemRequest(w.customer(), "", 1), redeemRequest(w.customer(), "", 1)))
		after := w.count("select count(*) from redemptions") + w.count("select count(*) from customers")
		if !slices.Equal(got, []string{ReasonPassNotApplicable, ReasonPassNotApplicable}) || after != before {
			t.Errorf("got %q, %d more rows", got, after-before)
		}
	})
	t.Run("refuses a batch without redemptions, or with more than 64", func(t *testing.T) {
		for _, n := range []int{0, 65} {
			req := &passv1.BatchRedeemCreditsRequest{}
			for range n {
				req.Redemptions = append(req.Redemptions, redeemRequest(w.customer(), "", 1))
			}
			if _, err := w.client.BatchRedeemCredits(w.as(w.company), req); !fault.Is(err, fault.Invalid) {
				t.Errorf("%d: got %v", n, err)
			}
		}
	})
	t.Run("adds the row of a customer whose passes are older than the table of customers", func(t *testing.T) {
		customer := w.customer()
		w.give(customer, nil)
		c, _ := id.Parse[id.Customer](customer)
		w.write(`delete from customers where company_id = $1 and id = $2`, c)
		if got := reasons(w.redeemBatch(redeemRequest(customer, "", 1))); !slices.Equal(got, []string{""}) {
			t.Errorf("got %q", got)
		}
		if n := w.count(`select count(*) from customers where id = $1`, c); n != 1 {
			t.Errorf("%d rows", n)
		}
	})
	w.verify()
}

// TestRedemptionStoredMeanwhile holds up a commit that has added a redemption's row, and sends the
// same redemption again.
func TestRedemptionStoredMeanwhile(t *testing.T) { // invariant 9
	w := open(t)
	w.server.lockWait = time.Minute // on a busy machine, the commit can be late
	customer := w.customer()
	p := w.give(customer, nil)
	for name, c := range map[string]struct {
		hold string
		want string
	}{
		"cancelled meanwhile": {
			`insert into redemptions (company_id, id, credits, remaining_uses, cancelled_at, created_at) values ($1, $2, 0, 0, now(), now())`,
			ReasonRedemptionCancelled,
		},
		"redeemed meanwhile": {
			`insert into redemptions (company_id, id, customer_pass_id, credits, remaining_uses, created_at)
				select $1, $2, id, 1, 9, now() from customer_passes where company_id = $1 limit 1`,
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			req, another := redeemRequest(customer, p.GetId(), 1), redeemRequest(customer, p.GetId(), 1)
			redemption, _ := id.Parse[id.Transaction](req.GetRedemptionId())
			before := w.get(p.GetId()).GetRemainingUses()
			commit := w.holdCommit(c.hold, redemption)
			done, results := make(chan error, 1), []*passv1.RedemptionResult(nil)
			go func() {
				res, err := w.client.BatchRedeemCredits(w.as(w.company), &passv1.BatchRedeemCreditsRequest{Redemptions: []*passv1.RedeemCreditsRequest{req, another}})
				results = res.GetResults()
				done <- err
			}()
			w.waitsFor("insert into redemptions", done)
			commit()
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if got := reasons(results); !slices.Equal(got, []string{c.want, ""}) {
				t.Errorf("got %q", got)
			}
			if left := w.get(p.GetId()).GetRemainingUses(); left != before-1 {
				t.Errorf("%d are left of %d, want one less", left, before)
			}
		})
	}
}

// TestBatchesInAnyOrder sends batches with the same passes and redemptions in different orders at
// once. No batch may lose a deadlock.
func TestBatchesInAnyOrder(t *testing.T) { // invariants 1 and 9
	w := open(t)
	w.server.lockWait = time.Minute // on a busy machine, batches wait for each other for long
	var reqs []*passv1.RedeemCreditsRequest
	var passes []string
	for range 16 {
		customer := w.customer()
		p := w.give(customer, nil)
		passes = append(passes, p.GetId())
		for range 3 {
			reqs = append(reqs, redeemRequest(customer, p.GetId(), 1))
		}
	}
	var wg sync.WaitGroup
	for n := range 12 {
		wg.Go(func() {
			mine := slices.Clone(reqs)
			slices.SortFunc(mine, func(a, b *passv1.RedeemCreditsRequest) int { // an order of its own
				x, y := a.GetRedemptionId(), b.GetRedemptionId()
				k := len(x) - 1 - n%8
				return 2*int(x[k]) - 2*int(y[k]) + slices.Compare([]byte(x), []byte(y))
			})
			for chunk := range slices.Chunk(mine, 20) {
				res, err := w.client.BatchRedeemCredits(w.as(w.company), &passv1.BatchRedeemCreditsRequest{Redemptions: chunk})
				if err != nil {
					t.Error(err)
					return
				}
				for _, reason := range reasons(res.GetResults()) {
					if reason != "" {
						t.Errorf("refused: %s", reason)
					}
				}
			}
		})
	}
	wg.Wait()
	for _, p := range passes {
		if left := w.get(p).GetRemainingUses(); left != 7 {
			t.Errorf("%d are left, want 7", left)
		}
	}
	if n := w.lostRaces(); n > 0 {
		t.Errorf("%v transactions were repeated", n)
	}
	w.verify()
}

// lostRaces returns how many transactions were repeated after a deadlock.
func (w *world) lostRaces() float64 {
	w.t.Helper()
	registry := prometheus.NewRegistry()
	if err := w.db.Collect(registry, ""); err != nil {
		w.t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "pg_repeats_total" && m.GetLabel()[0].GetValue() == "lost_race" {
				return m.GetCounter().GetValue()
			}
		}
	}
	w.t.Fatal("no pg_repeats_total")
	return 0
}

// TestLedgerAddsUp adds ledger entries that the database must refuse.
func TestLedgerAddsUp(t *testing.T) { // invariant 1
	w := open(t)
	pass, _ := id.Parse[id.CustomerPass](w.give(w.customer(), nil).GetId()) // 10 uses
	for name, sql := range map[string]string{
		"an entry that does not follow from the one before": `values ($1::uuid, $2::uuid, 2, -1, 8)`,
		"an entry after a gap":                              `values ($1::uuid, $2::uuid, 3, -1, 9)`,
		"a balance that is not the pass's":                  `values ($1::uuid, $2::uuid, 2, -1, 9)`,
		"several, of which the last is wrong":               `values ($1::uuid, $2::uuid, 2, -1, 9), ($1, $2, 3, 1, 11)`,
		"an entry of no pass":                               `values ($1::uuid, gen_random_uuid(), 1, 10, 10) offset 0 * length($2::text)`,
	} {
		t.Run(name, func(t *testing.T) {
			err := w.tryWrite(`insert into ledger_entries (company_id, customer_pass_id, sequence, kind, credits, balance, actor, created_at)
				select e.company, e.pass, e.sequence, 'adjusted', e.credits, e.balance, 'x', now() from (`+sql+`) e(company, pass, sequence, credits, balance)`, pass)
			if err == nil {
				t.Error("it was accepted")
			}
		})
	}
	if err := w.tryWrite(`insert into ledger_entries (company_id, customer_pass_id, sequence, kind, credits, balance, actor, created_at)
		values ($1, $2, 2, 'adjusted', -1, 9, 'x', now()), ($1, $2, 3, 'adjusted', 1, 10, 'x', now())`, pass); err != nil {
		t.Errorf("entries that add up were refused: %v", err)
	}
}

// events returns the number of customer_pass_updated events of a pass that wait to be published.
func (w *world) events(pass string) int64 {
	return w.count(`select count(*) from outbox_events where subject = $1 and position($2 in encode(payload, 'escape')) > 0`, subjectCustomerPassUpdated, pass)
}

func (w *world) count(sql string, args ...any) int64 {
	w.t.Helper()
	n, err := pg.One[int64](w.t.Context(), w.db, pg.AllCompanies(), sql, args...)
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

func TestLockedPassInABatch(t *testing.T) {
	w := open(t)
	customer, other := w.customer(), w.customer()
	locked, free := w.give(customer, nil), w.give(other, nil)
	w.mustRedeem(redeemRequest(other, free.GetId(), 1)) // so that both customers are known
	w.mustRedeem(redeemRequest(customer, locked.GetId(), 1))
	which, err := id.Parse[id.CustomerPass](locked.GetId())
	if err != nil {
		t.Fatal(err)
	}
	req := &passv1.BatchRedeemCreditsRequest{Redemptions: []*passv1.RedeemCreditsRequest{
		redeemRequest(other, free.GetId(), 2), redeemRequest(customer, locked.GetId(), 3), redeemRequest(other, free.GetId(), 1),
	}}
	err = w.db.InTx(t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
		if _, err := tx.Exec(ctx, `select from customer_passes where id = $1 for update`, which); err != nil {
			return err
		}
		resp, err := w.client.BatchRedeemCredits(w.as(w.company), req)
		if err != nil {
			return err
		}
		for n, want := range []codes.Code{codes.OK, codes.Unavailable, codes.OK} {
			if got := codes.Code(resp.GetResults()[n].GetRefused().GetCode()); got != want {
				t.Errorf("%d: got %v, want %v", n, got, want)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := w.client.BatchRedeemCredits(w.as(w.company), req)
	if err != nil || resp.GetResults()[1].GetRedeemed() == nil {
		t.Errorf("repeated: %v, %v", resp, err)
	}
	if w.get(locked.GetId()).GetRemainingUses() != 6 || w.get(free.GetId()).GetRemainingUses() != 6 {
		t.Errorf("%d and %d uses are left", w.get(locked.GetId()).GetRemainingUses(), w.get(free.GetId()).GetRemainingUses())
	}
	w.verify()
}
