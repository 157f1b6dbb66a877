package pass

import (
	"fmt"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/pg"
	"reservation.dev/services/pass/migrations"
)

// migrationsUntil returns the migrations before one.
func migrationsUntil(t *testing.T, end string) fs.FS {
	t.Helper()
	names, err := fs.Glob(migrations.FS, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	earlier := fstest.MapFS{}
	for _, name := range names {
		text, err := fs.ReadFile(migrations.FS, name)
		if err != nil {
			t.Fatal(err)
		}
		if name < end {
			earlier[name] = &fstest.MapFile{Data: text}
		}
	}
	return earlier
}

// TestReturnedBeforeTheMigration migrates items of which one was returned.
func TestReturnedBeforeTheMigration(t *testing.T) {
	t.Parallel()
	all := pg.Migrations{Part: "pass", FS: migrations.FS, AppRole: testkit.AppRole()}
	earlier := pg.Migrations{Part: all.Part, AppRole: all.AppRole, FS: migrationsUntil(t, "0016")}
	ownerURL, _ := testkit.DBURLs(t, earlier)
	conn, err := pgx.Connect(t.Context(), ownerURL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	_, err = conn.Exec(t.Context(), `with r as (insert into redemptions (company_id, id, credits, remaining_uses, created_at)
			select gen_random_uuid(), gen_random_uuid(), 4, 6, now() returning *)
		insert into redemption_items (company_id, redemption_id, item_id, customer_pass_id, credits, returned)
		select r.company_id, r.id, gen_random_uuid(), gen_random_uuid(), n.credits, n.returned from r, (values (1, 0), (2, 2), (0, 0)) n(credits, returned)`)
	if err != nil {
		t.Fatal(err)
	}
	if err := pg.Migrate(t.Context(), ownerURL, all); err != nil {
		t.Fatal(err)
	}
	rows, err := conn.Query(t.Context(), `select credits from redemption_items where returned_at is not null`)
	if err != nil {
		t.Fatal(err)
	}
	returned, err := pgx.CollectRows(rows, pgx.RowTo[int32])
	if err != nil || fmt.Sprint(returned) != "[2]" {
		t.Errorf("got %v, %v, want the item of two credits", returned, err)
	}
}
