package pass

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	"reservation.dev/services/pass/migrations"
)

func TestDaysOfEarlierReleases(t *testing.T) { // invariant 20
	w := open(t)
	p := w.assign("")
	// An earlier release has added the pass and its second entry late in the evening in New York.
	w.exec(`update customer_passes set created_at = '2026-03-01T03:30:00Z', created_on = null where id = $1`, idOf(t, p.GetId()))
	w.exec(`insert into ledger_entries (company_id, customer_pass_id, sequence, kind, credits, balance, actor, created_at)
		select company_id, id, n, 'adjusted', case n when 2 then -1 else 1 end, remaining_uses - case n when 2 then 1 else 0 end, 'x', '2026-03-01T03:30:00Z'
		from customer_passes, generate_series(2, 3) n where id = $1`, idOf(t, p.GetId()))
	check := func(t *testing.T) {
		t.Helper()
		s, err := w.streamed(w.asPlatform(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{"the snapshot's pass": s.passes[p.GetId()].GetCreatedOn(), "the snapshot's entry": s.entries[p.GetId()][1].GetDay()}
		read, err := w.client.GetCustomerPass(w.as(w.company), &passv1.GetCustomerPassRequest{Id: p.GetId()})
		if err != nil {
			t.Fatal(err)
		}
		got["the pass"] = read.GetCustomerPass().GetCreatedOn()
		list, err := w.client.ListLedgerEntries(w.as(w.company), &passv1.ListLedgerEntriesRequest{CustomerPassId: p.GetId()})
		if err != nil {
			t.Fatal(err)
		}
		got["the entry of the pass"] = list.GetEntries()[1].GetDay()
		all, err := w.client.ListCompanyLedgerEntries(w.as(w.company), &passv1.ListCompanyLedgerEntriesRequest{})
		if err != nil {
			t.Fatal(err)
		}
		got["the entry of the company"] = all.GetEntries()[0].GetEntry().GetDay()
		for name, day := range got {
			if day != "2026-02-28" {
				t.Errorf("%s has the day %s", name, day)
			}
		}
	}
	t.Run("are those of the company's zone at that time", check)
	w.exec(`update companies set timezone = 'Asia/Tokyo', version = version + 1 where company_id = $1`, w.company)
	t.Run("stay when the company changes its zone", check)
	adjusted, err := w.client.AdjustCredits(w.as(w.company), &passv1.AdjustCreditsRequest{CustomerPassId: p.GetId(), Credits: 1, Reason: "a gift"})
	if err != nil || adjusted.GetCustomerPass().GetCreatedOn() != "2026-02-28" {
		t.Errorf("after a change, the pass is %v, %v", adjusted.GetCustomerPass(), err)
	}
	t.Run("stay when the pass changes", check)
}

func TestMigrationOfEarlierZones(t *testing.T) {
	t.Parallel()
	ownerURL, _ := testkit.DBURLs(t, pg.Migrations{Part: "pass", FS: migrations.FS, AppRole: testkit.AppRole()})
	owner, err := pgx.Connect(t.Context(), ownerURL)
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close(t.Context())
	exec := func(sql string) {
		t.Helper()
		if err := owner.PgConn().Exec(t.Context(), sql).Close(); err != nil {
			t.Fatal(err)
		}
	}
	migrate := func() {
		t.Helper()
		sql, err := migrations.FS.ReadFile("0019_earlier_zone.sql")
		if err != nil {
			t.Fatal(err)
		}
		exec(string(sql))
	}
	old, added := id.New[id.Company](), id.New[id.Company]()
	want := func(company id.Company, zone string) {
		t.Helper()
		var got string
		if err := owner.QueryRow(t.Context(), `select earlier_zone($1)`, company).Scan(&got); err != nil || got != zone {
			t.Errorf("got %q, %v, want %q", got, err, zone)
		}
	}
	keep := func(company id.Company, zone string) { // as the previous release does
		t.Helper()
		if _, err := owner.Exec(t.Context(), `insert into companies (company_id, timezone, currency, version) values ($1, $2, 'USD', 1)
			on conflict (company_id) do update set timezone = excluded.timezone`, company, zone); err != nil {
			t.Fatal(err)
		}
	}
	exec(`drop trigger companies_earlier_zone on companies; alter table companies drop column earlier_zone`)
	keep(old, "America/New_York")
	migrate()
	want(old, "America/New_York")
	keep(added, "America/New_York")
	want(added, "America/New_York")
	keep(old, "Asia/Tokyo")
	keep(added, "Asia/Tokyo")
	migrate() // again, as after an interruption
	want(old, "America/New_York")
	want(added, "America/New_York")
	want(id.New[id.Company](), "")
}
