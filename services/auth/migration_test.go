package auth

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/services/auth/migrations"
)

// TestMigrationOfKindsOfThings fills in the kinds of the entries of an earlier release, in several batches.
func TestMigrationOfKindsOfThings(t *testing.T) {
	t.Parallel()
	ownerURL, _ := testkit.DBURLs(t, pg.Migrations{Part: "auth", FS: migrations.FS, AppRole: testkit.AppRole()})
	owner, err := pgx.Connect(t.Context(), ownerURL)
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close(t.Context())
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := owner.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	count := func(condition string) (n int) {
		t.Helper()
		if err := owner.QueryRow(t.Context(), `select count(*) from audit_log where `+condition).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	exec(`alter table audit_log disable trigger audit_log_thing`)
	for range 3 {
		exec(`insert into audit_log (company_id, id, at, actor, action, target)
			select $1, gen_random_uuid(), now(), 'admin_1', case n % 2 when 0 then 'booking.cancel' else 'customer.create' end, ''
			from generate_series(1, 2500) n`, id.New[id.Company]())
	}
	exec(`alter table audit_log enable trigger audit_log_thing`)
	if n := count(`thing is null`); n != 7500 {
		t.Fatalf("%d entries have no kind", n)
	}
	text, err := migrations.FS.ReadFile("0013_changes_by_credentials.sql")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\ndo $$")
	block, _, found := strings.Cut(rest, "\n$$;")
	if !found || !strings.Contains(block, "update audit_log") {
		t.Fatalf("the migration has another form:\n%s", text)
	}
	before := count(`true`)
	for range 2 { // also again, as after an interruption
		exec("do $$" + block + "\n$$")
		if n := count(`thing is distinct from split_part(action, '.', 1)`); n != 0 || count(`true`) != before {
			t.Errorf("%d entries have another kind", n)
		}
	}
	t.Run("each batch is a commit", func(t *testing.T) {
		var commits, most int
		if err := owner.QueryRow(t.Context(), `select count(*), max(n) from (select count(*) as n from audit_log group by xmin::text) c`).Scan(&commits, &most); err != nil {
			t.Fatal(err)
		}
		if commits < 2 || most > 5000 {
			t.Errorf("%d commits, one with %d entries", commits, most)
		}
	})
	t.Run("the log is only added to again", func(t *testing.T) {
		if _, err := owner.Exec(t.Context(), `update audit_log set thing = ''`); err == nil {
			t.Error("an entry was changed")
		}
	})
}
