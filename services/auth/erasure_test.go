package auth

import (
	"context"
	"slices"
	"testing"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/privacy"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

func TestErasureInAuditLog(t *testing.T) { // invariant 7
	t.Parallel()
	r := newWorld(t).start()
	company := r.company()
	tenant, err := id.Parse[id.Company](company)
	if err != nil {
		t.Fatal(err)
	}
	gone, stays := id.New[id.Customer](), id.New[id.Customer]()
	record := func(action, target string, details ...*authv1.AuditDetail) {
		t.Helper()
		if _, err := r.audit.RecordAuditEntry(r.as(company), &authv1.RecordAuditEntryRequest{Action: action, Target: target, Details: details}); err != nil {
			t.Fatal(err)
		}
	}
	say := func(customer id.Customer) {
		record("customer.update", customer.String(), &authv1.AuditDetail{Field: "name", Before: "Ann", After: "Anna"})
		record("customer_pass.adjust", "cp_1", &authv1.AuditDetail{Field: "customer", After: customer.String()}, &authv1.AuditDetail{Field: "reason", After: "Ann was ill"})
	}
	lines := func() []string {
		all := spelled(r.entries(company, &authv1.ListAuditEntriesRequest{Action: "customer."}))
		return append(all, spelled(r.entries(company, &authv1.ListAuditEntriesRequest{Action: "customer_pass."}))...)
	}
	say(gone)
	say(stays)
	e := privacy.Erasure{Company: tenant, Customer: gone, At: time.Now()}
	if err := r.db.InTx(t.Context(), pg.For(tenant), func(ctx context.Context, tx *pg.Tx) error {
		return privacy.Mark(ctx, tx, e.Company, e.Customer, e.At)
	}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // it can be repeated
		if err := r.server.store.erase(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"customer.update name: Ann → Anna", "customer.update",
		"customer_pass.adjust customer: " + stays.String() + ", reason: Ann was ill", "customer_pass.adjust customer: " + gone.String(),
	}
	trim := func(all []string) []string {
		for i := range all {
			for len(all[i]) > 0 && all[i][len(all[i])-1] == ' ' {
				all[i] = all[i][:len(all[i])-1]
			}
		}
		return all
	}
	t.Run("removes facts about the customer, and keeps that the change was made", func(t *testing.T) {
		if got := trim(lines()); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("stores a late entry without these facts", func(t *testing.T) {
		say(gone)
		if got := trim(lines()); !slices.Equal(got, []string{want[1], want[0], want[1], want[3], want[2], want[3]}) {
			t.Errorf("got %q", got)
		}
	})
	t.Run("prevents any other change of an entry", func(t *testing.T) {
		for _, sql := range []string{`update audit_log set details = '[]'`, `delete from audit_log`} {
			err := r.db.InTx(t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
				if _, err := tx.Exec(ctx, `select set_config('app.audit_log', 'cut', true)`); err != nil {
					return err
				}
				_, err := tx.Exec(ctx, sql)
				return err
			})
			if err == nil {
				t.Errorf("%s: done", sql)
			}
		}
	})
}

func TestRetention(t *testing.T) {
	t.Parallel()
	r := newWorld(t).start()
	company := r.company()
	if _, err := r.audit.RecordAuditEntry(r.as(company), &authv1.RecordAuditEntryRequest{Action: "customer.update", Target: "cust_x"}); err != nil {
		t.Fatal(err)
	}
	invited, err := r.admins.InviteAdministrator(r.as(company), &authv1.InviteAdministratorRequest{Email: email(), Role: manager})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.admins.RevokeInvitation(r.as(company), &authv1.RevokeInvitationRequest{Id: invited.GetInvitation().GetId()}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.admins.InviteAdministrator(r.as(company), &authv1.InviteAdministratorRequest{Email: email(), Role: manager}); err != nil {
		t.Fatal(err)
	}
	count := func(table string) int64 {
		n, err := pg.One[int64](t.Context(), r.db, pg.AllCompanies(), `select count(*) from `+table)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	kept := Retention{Audit: 48 * time.Hour, Invitations: time.Hour}
	retain := func(after time.Duration) {
		t.Helper()
		r.server.now = func() time.Time { return time.Now().Add(after) }
		if err := r.server.retainOnce(t.Context(), kept); err != nil {
			t.Fatal(err)
		}
	}
	written := count("audit_log")
	t.Run("keeps recent entries", func(t *testing.T) {
		retain(30 * time.Minute)
		if count("audit_log") != written || count("invitations") != 2 {
			t.Errorf("%d of %d lines, %d invitations", count("audit_log"), written, count("invitations"))
		}
	})
	t.Run("deletes invitations that ended long ago, and keeps open ones", func(t *testing.T) {
		retain(2 * time.Hour)
		if count("audit_log") != written || count("invitations") != 1 {
			t.Errorf("%d of %d lines, %d invitations", count("audit_log"), written, count("invitations"))
		}
	})
	t.Run("deletes old entries, including the installation's", func(t *testing.T) {
		retain(49 * time.Hour)
		if count("audit_log") != 0 {
			t.Errorf("%d lines are left", count("audit_log"))
		}
	})
}
