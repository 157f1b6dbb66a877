package subscription

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/privacy"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// lead takes a subscription through every state that stores free text.
func (w *world) lead(customer string) string {
	w.t.Helper()
	res, err := w.client.CreateSubscription(w.ctx(), &subscriptionv1.CreateSubscriptionRequest{CustomerId: customer, PlanId: w.plan().GetId()})
	if err != nil {
		w.t.Fatal(err)
	}
	s := res.GetSubscription().GetId()
	for _, name := range []string{"fail", "pay", "pause", "resume", "cancel now", "refund"} {
		if _, err := actions[name](w, w.ctx(), s, nil); err != nil {
			w.t.Fatalf("%s: %v", name, err)
		}
	}
	waived := w.subscribe(w.plan(), unpaid, func(r *subscriptionv1.CreateSubscriptionRequest) { r.CustomerId = customer })
	for _, name := range []string{"fail", "waive", "pause"} {
		if _, err := actions[name](w, w.ctx(), waived.GetId(), nil); err != nil {
			w.t.Fatalf("%s: %v", name, err)
		}
	}
	w.imports(&subscriptionv1.ImportedSubscription{
		Reference: "of " + customer, CustomerId: customer, PlanId: w.plan().GetId(), PeriodFirstDay: "2027-02-10",
	})
	return s
}

const textsSQL = `select (select count(*) from subscriptions where reference is not null) + (select count(*) from subscriptions where cancel_reason <> '') + (select count(*) from subscriptions where pause_reason <> '')
	+ (select count(*) from periods where payment_reference <> '') + (select count(*) from periods where waive_reason <> '')
	+ (select count(*) from periods where failure_reason <> '') + (select count(*) from account_entries where reference <> '')`

func TestErasure(t *testing.T) { // invariant 17
	w := open(t)
	gone, stays := w.customer(), w.customer()
	s := w.lead(gone)
	texts := w.count(textsSQL)
	if texts < 5 {
		t.Fatalf("only %d texts are stored", texts)
	}
	w.lead(stays)
	customer, _ := id.Parse[id.Customer](gone)
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
	if n := w.count(textsSQL); n != texts {
		t.Errorf("%d of %d texts are left", n, 2*texts)
	}
	if got := w.get(s); got.GetStatus() != ended || got.GetRefundedAmount() == 0 {
		t.Errorf("the money is gone: %v", got)
	}
	names, err := w.server.store.subscriptionsOf(t.Context(), e)
	if err != nil || len(names) != 3 {
		t.Errorf("got %v, %v", names, err)
	}
	t.Run("text that arrives later is not stored, and a new subscription is refused", func(t *testing.T) {
		open := names[slices.IndexFunc(names, func(n string) bool { return w.get(n).GetStatus() == paused })]
		for _, name := range []string{"resume", "pause", "cancel now"} {
			if _, err := actions[name](w, w.ctx(), open, nil); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if n := w.count(textsSQL); n != texts {
			t.Errorf("%d texts", n)
		}
		wantReason(t, w.subscribeTo(gone, w.plan()), fault.ReasonNotFound)
	})
	t.Run("account entries change in no other way", func(t *testing.T) { // invariant 10
		for _, sql := range []string{
			`update account_entries set reference = 'x' where company_id = $1`, `update account_entries set credit = credit + 1 where company_id = $1`,
			`delete from account_entries where company_id = $1`, `update account_entries set reference = '', actor = '' where company_id = $1`,
		} {
			if err := w.tryWrite(sql); err == nil {
				t.Errorf("%s: done", sql)
			}
		}
	})
	w.verify()
}

func TestExport(t *testing.T) {
	w := open(t)
	customer := w.customer()
	s := w.lead(customer)
	w.lead(w.customer())
	stream, err := w.exports.ExportPersonalData(w.with(w.issuer.Client(w.company, "privacy:read", "privacy:write", "customers:read")),
		&privacyv1.ExportPersonalDataRequest{CustomerId: customer})
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	var all strings.Builder
	for {
		res, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		kinds[res.GetRecord().GetKind()]++
		all.WriteString(res.GetRecord().GetJson())
	}
	if kinds["subscription"] != 3 || kinds["subscription_period"] != 3 {
		t.Errorf("got %v", kinds)
	}
	for _, want := range []string{s, customer, "re_1", "till 3", "expired card", "abroad", "Ten a month", "goodwill"} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("%q is missing", want)
		}
	}
	if strings.Contains(all.String(), "state_id") || strings.Contains(all.String(), "pass_sync") {
		t.Error("the export has columns that are not about the customer")
	}
}

func TestDeletedTestData(t *testing.T) { // invariants 10 and 19
	live := open(t)
	test := live.of(live.company.Test())
	kept := live.lead(live.customer())
	test.lead(test.customer())
	if _, err := live.tests.DeleteTestData(test.with(test.issuer.Client(test.company, "test-mode:write", "company:write")), &authv1.DeleteTestDataRequest{}); err != nil {
		t.Fatal(err)
	}
	list, err := test.client.ListSubscriptions(test.ctx(), &subscriptionv1.ListSubscriptionsRequest{})
	if err != nil || list.GetTotal() != 0 {
		t.Errorf("got %v, %v", list, err)
	}
	if got := live.get(kept); got.GetStatus() != ended {
		t.Errorf("got %v", got)
	}
	test.subscribe(test.plan())
	test.verify()
	live.verify()
}
