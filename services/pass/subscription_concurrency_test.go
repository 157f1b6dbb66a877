package pass

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// entriesOfPeriods returns the number of entries that grant credits, for each period, in the ledger.
func (s *subscription) entriesOfPeriods() map[int32]int {
	s.t.Helper()
	found := map[int32]int{}
	for _, e := range s.ledger(s.pass()) {
		switch e.GetKind() {
		case passv1.LedgerEntryKind_LEDGER_ENTRY_KIND_ASSIGNED, passv1.LedgerEntryKind_LEDGER_ENTRY_KIND_GRANTED:
			found[e.GetPeriod()]++
		}
	}
	return found
}

// upTo returns the grants of the periods from 1 to last.
func upTo(last int32) (grants []*passv1.PeriodGrant) {
	for n := int32(1); n <= last; n++ {
		grants = append(grants, credits(n, 8, n%5))
	}
	return grants
}

// TestConcurrentSync sends the states of one subscription in any order, while its credits are taken and
// returned, and while some callers go away in the middle of a call.
func TestConcurrentSync(t *testing.T) { // invariants 1, 9, 14 and 15
	w := open(t)
	s := w.subscribe()
	const periods, workers = 12, 16
	var wg sync.WaitGroup
	for n := range workers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(n), 7))
			for range 12 {
				last := 1 + r.Int32N(periods)
				req := proto.CloneOf(s.req)
				req.Version, req.Grants = int64(last), upTo(last)
				req.StateId, req.PeriodLastDay = fmt.Sprint("s", last), fmt.Sprintf("2027-%02d-28", last)
				req.PassType.Version = int64(last)
				ctx, cancel := s.asPlatform(), func() {}
				if r.IntN(3) == 0 {
					ctx, cancel = context.WithTimeout(ctx, time.Duration(r.IntN(8000))*time.Microsecond)
				}
				_, err := s.subscriptions.SyncSubscriptionPass(ctx, req)
				if err != nil && ctx.Err() == nil && !fault.Is(err, fault.Unavailable) {
					t.Errorf("version %d: %v", last, err)
				}
				cancel()
				taken := redeemRequest(s.req.GetCustomerId(), s.pass(), 1+r.Int32N(3))
				if _, err := w.redeem(taken); err == nil && r.IntN(2) == 0 {
					if _, err := w.client.CancelRedemption(w.as(w.company), &passv1.CancelRedemptionRequest{RedemptionId: taken.GetRedemptionId()}); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	s.req.Version = periods
	got := s.mustSend(upTo(periods)...)
	if got.GetLastPeriod() != periods || got.GetVersion() != periods || len(got.GetGrants()) != periods {
		t.Errorf("got %v", got)
	}
	found := s.entriesOfPeriods()
	for n := int32(1); n <= periods; n++ {
		if found[n] != 1 {
			t.Errorf("period %d was granted %d times", n, found[n])
		}
	}
	if n := w.eventsOf(subjectCustomerPassAssigned); n != 1 {
		t.Errorf("the pass is announced %d times", n)
	}
	if n := w.eventsOf(subjectPassTypeCreated); n != 1 {
		t.Errorf("the pass type is announced %d times", n)
	}
	w.verify()
}

// TestConcurrentFirstSync creates passes of many subscriptions to one plan, each by several callers.
func TestConcurrentFirstSync(t *testing.T) { // invariants 14 and 15
	w := open(t)
	plan := newPlan()
	var wg sync.WaitGroup
	for range 8 {
		s := w.subscribe()
		s.req.PassType = plan
		for range 4 {
			wg.Go(func() {
				if resp, err := s.send(credits(1, 8, 0)); err != nil || resp.GetGrants()[0].GetGranted() != 8 {
					t.Errorf("got %v, %v", resp, err)
				}
			})
		}
	}
	wg.Wait()
	if n := w.eventsOf(subjectCustomerPassAssigned); n != 8 {
		t.Errorf("%d passes are announced", n)
	}
	w.verify()
}

// converge sends grants as the subscription service does: it continues after the period that the service
// has. It returns the number of refusals.
func (s *subscription) converge(all []*passv1.PeriodGrant, from int) (refused int) {
	s.t.Helper()
	for {
		_, err := s.send(all[from:]...)
		if err == nil {
			return refused
		}
		if reason(err) != ReasonGrantMissing {
			s.t.Fatal(err)
		}
		if _, err := fmt.Sscan(fault.From(err).Meta["last_period"], &from); err != nil {
			s.t.Fatal(err)
		}
		refused++
	}
}

// restore brings back the rows of the pass that an earlier moment had, as restoring the database does.
func (s *subscription) restore(to int32, version int64) {
	s.t.Helper()
	admin := func(ctx context.Context, tx *pg.Tx) error {
		for _, sql := range []string{
			`delete from ledger_entries e where coalesce(e.period, 0) > $1 or e.sequence > (select min(sequence) from ledger_entries
				where company_id = e.company_id and customer_pass_id = e.customer_pass_id and period > $1)`,
			`delete from pass_grants where period > $1`,
		} {
			if _, err := tx.Exec(ctx, sql, to); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, `update customer_passes p set last_period = $1, subscription_version = $2, subscription_state = 'restored',
			remaining_uses = (select sum(credits) from ledger_entries where company_id = p.company_id and customer_pass_id = p.id)`, to, version)
		return err
	}
	// Only the ledger of a company in test mode can be deleted.
	if err := s.db.InTx(s.t.Context(), pg.For(s.company), admin); err != nil {
		s.t.Fatal(err)
	}
}

func TestRestoredPassDatabase(t *testing.T) { // invariant 15
	w := open(t)
	w = w.of(w.company.Test())
	s := w.subscribe()
	s.req.Version, s.req.StateId = 6, "six"
	all := upTo(6)
	s.mustSend(all...)
	before := s.shown()
	s.restore(3, 3)
	w.verify()
	if refused := s.converge(all, 5); refused != 1 {
		t.Errorf("%d refusals", refused)
	}
	s.want(before)
	got := s.mustSend()
	if got.GetVersion() != 6 || got.GetStateId() != "six" || got.GetLastPeriod() != 6 {
		t.Errorf("got %v", got)
	}
	t.Run("a pass that was lost is created again, quietly", func(t *testing.T) {
		announced := w.eventsOf(subjectCustomerPassAssigned)
		for _, table := range []string{"ledger_entries", "pass_grants", "customer_passes", "pass_types"} {
			w.exec(`delete from ` + table)
		}
		w.exec(`update pass_totals set customer_passes = 0`)
		s.req.Quiet = true
		if refused := s.converge(all, 5); refused != 1 {
			t.Errorf("%d refusals", refused)
		}
		s.want(before)
		if n := w.eventsOf(subjectCustomerPassAssigned); n != announced {
			t.Errorf("the pass is announced again")
		}
	})
	t.Run("a restored subscription gets the grants that were made, and learns the version", func(t *testing.T) {
		old := proto.CloneOf(s.req)
		old.Version, old.StateId = 4, "restored"
		old.Grants = []*passv1.PeriodGrant{credits(5, 1, 0), credits(6, 1, 0)}
		got, err := w.subscriptions.SyncSubscriptionPass(w.asPlatform(), old)
		if err != nil || got.GetVersion() != 6 || got.GetStateId() != "six" || got.GetLastPeriod() != 6 || got.GetGrants()[0].GetGranted() != 8 {
			t.Errorf("got %v, %v", got, err)
		}
		s.want(before)
	})
}

func TestSubscriptionDuringADeletion(t *testing.T) { // invariants 8 and 17
	w := open(t)
	s := w.subscribe()
	s.mustSend(credits(1, 8, 0))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for n := int32(2); n < maxPeriods; n++ {
				if _, err := s.send(&passv1.PeriodGrant{Period: n, Credits: 8, FirstDay: "2026-01-31"}); err != nil {
					if reason(err) != ReasonCustomerDeleted {
						t.Error(err)
					}
					return
				}
			}
		})
	}
	customer, _ := id.Parse[id.Customer](s.req.GetCustomerId())
	w.customers.Delete(customer)
	confirmation := w.with(w.issuer.Client(w.company, "customers:write"))
	if _, err := w.deletions.ConfirmCustomerDeletion(confirmation, &customerv1.ConfirmCustomerDeletionRequest{CustomerId: customer.String()}); err != nil {
		t.Error(err)
	}
	confirmed := w.count(`select count(*) from ledger_entries`)
	wg.Wait()
	if n := w.count(`select count(*) from ledger_entries`); n != confirmed {
		t.Errorf("%d entries after the deletion was confirmed", n-confirmed)
	}
	w.verify()
}
