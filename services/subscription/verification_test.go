package subscription

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

func TestVerifyFindsDifferences(t *testing.T) {
	w := openOwned(t)
	s := w.subscribe(w.plan())
	w.passes.redeem(s.GetId(), 5)
	w.renew(s.GetId(), 3)
	if _, err := actions["change to a new plan now"](w, w.ctx(), s.GetId(), nil); err != nil {
		t.Fatal(err)
	}
	w.verify()
	for damage, want := range map[string]string{
		`update subscriptions set amount_due = amount_due + 1`:                                                   "subscription.amount_due",
		`update subscriptions set account_credit = account_credit + 1`:                                           "subscription.account_credit",
		`update subscriptions set refund_due = refund_due + 1`:                                                   "subscription.refund_due",
		`update subscriptions set refunded_amount = refunded_amount + 1`:                                         "subscription.refunded_amount",
		`update subscriptions set entry_count = entry_count + 1`:                                                 "subscription.entry_count",
		`update subscriptions set status = 'past_due'`:                                                           "subscription.status",
		`update subscriptions set next_at = next_at + interval '1 day'`:                                          "subscription.next_at",
		`update subscriptions set periods = periods - 1`:                                                         "subscription.periods",
		`update periods set first_day = first_day + 1 where number = 2`:                                          "period.first_day",
		`update periods set last_day = last_day + 1 where number = 2`:                                            "period.last_day",
		`update periods set anchor_index = anchor_index + 1 where number = 2`:                                    "period.first_day",
		`delete from periods where number = 2`:                                                                   "period.number",
		`update periods set credits_granted = 11 where number = 2`:                                               "period.grant",
		`update periods set credits_carried_over = 4 where number = 2`:                                           "period.grant",
		`update periods set granted = false, granted_first_day = null where number = 1`:                          "period.granted",
		`update periods set granted_first_day = first_day + 1 where number = 2`:                                  "period.grant",
		`update account_entries set credit_balance = credit_balance + 1 where sequence = 1`:                      "account_entry.credit_balance",
		`update account_entries set credit = credit + 1, credit_balance = credit_balance + 1 where sequence = 1`: "account_entry.credit_balance",
		`delete from account_entries where sequence = 1`:                                                         "account_entry.sequence",
		`update periods set unused_value = unused_value - 1 where number = 3`:                                    "period.unused_value",
		`update periods set credit_applied = credit_applied - 1, price = price - 1 where number = 4`:             "period.credit_applied",
		`update subscription_totals set plans = 9`:                                                               "plans.total",
		`update subscription_totals set subscriptions = 9`:                                                       "subscriptions.total",
	} {
		t.Run(damage, func(t *testing.T) {
			for _, table := range []string{"subscriptions", "periods", "account_entries", "subscription_totals"} {
				if _, err := w.owner.Exec(t.Context(), `create temp table kept_`+table+` as table `+table); err != nil {
					t.Fatal(err)
				}
			}
			w.damage(t, damage)
			found, _ := w.differences()
			var got []string
			for _, d := range found {
				got = append(got, d.GetWhat())
				if d.GetStored() == d.GetComputed() {
					t.Errorf("no difference: %v", d)
				}
			}
			if !slices.Contains(got, want) {
				t.Errorf("found %v, want %s", found, want)
			}
			for _, table := range []string{"account_entries", "periods", "subscriptions", "subscription_totals"} {
				w.damage(t, `delete from `+table)
			}
			for _, table := range []string{"subscription_totals", "subscriptions", "periods", "account_entries"} {
				w.damage(t, `insert into `+table+` select * from kept_`+table, `drop table kept_`+table)
			}
			w.verify()
		})
	}
}

// damage runs statements past the triggers.
func (w *world) damage(t *testing.T, statements ...string) {
	t.Helper()
	tables := []string{"periods", "account_entries"}
	var all []string
	for _, table := range tables {
		all = append(all, `alter table `+table+` disable trigger user`)
	}
	all = append(all, statements...)
	for _, table := range tables {
		all = append(all, `alter table `+table+` enable trigger user`)
	}
	for _, sql := range all {
		if _, err := w.owner.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

func TestConstraints(t *testing.T) { // invariants 1, 10, 11 and 14
	w := open(t)
	s := w.subscribe(w.plan())
	w.renew(s.GetId(), 2)
	gone := w.subscribe(w.plan())
	if _, err := actions["cancel now"](w, w.ctx(), gone.GetId(), nil); err != nil {
		t.Fatal(err)
	}
	for sql, constraint := range map[string]string{
		`update subscriptions set account_credit = -1 where company_id = $1`:                    "subscriptions_account_credit",
		`update subscriptions set status = 'gone' where company_id = $1`:                        "subscriptions_status",
		`update subscriptions set amount_due = 1 where company_id = $1 and status = 'ended'`:    "subscriptions_final",
		`update subscriptions set status = 'ended' where company_id = $1 and status <> 'ended'`: "subscriptions_ended",
		`update periods set amount_due = 7 where company_id = $1`:                               "periods_amount_due",
		`update periods set credit_applied = price + 1 where company_id = $1`:                   "periods_credit_applied",
		`update periods set last_day = last_day + 1 where company_id = $1 and number = 1`:       "periods_follow",
		`update periods set number = 9 where company_id = $1 and number = 2`:                    "periods_follow",
		`update periods set number = 2 where company_id = $1 and number = 1`:                    "periods_pkey",
	} {
		if err := w.tryWrite(sql); err == nil || !strings.Contains(err.Error(), constraint) && !strings.Contains(fmt.Sprintf("%+v", err), "does not follow") {
			t.Errorf("%s: %v, want %s", sql, err, constraint)
		}
	}
}

func TestExportGrants(t *testing.T) {
	w := open(t)
	s := w.subscribe(w.plan())
	w.passes.redeem(s.GetId(), 5)
	w.renew(s.GetId(), 3)
	w.passes.hook(away, nil)
	w.subscribe(w.plan()) // not confirmed
	stream, err := w.client.ExportGrants(w.ctx(), &subscriptionv1.ExportGrantsRequest{})
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
			got = append(got, fmt.Sprint(g.GetCustomerPassId() == s.GetCustomerPassId(), g.GetPeriod(), g.GetGranted(), g.GetCarriedOver(), g.GetExpired()))
		}
	}
	if want := []string{"true 1 10 0 0", "true 2 10 3 2", "true 3 10 3 10"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
