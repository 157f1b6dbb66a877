package migrations

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/pg"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// openTables returns the tables without row-level security, because they hold no company's data
// or belong to the platform, each with the reason.
func openTables() map[string]string {
	return map[string]string{
		"inbox":            "identifiers of events that were consumed, without a company or a content",
		"company_moves":    "companies that move to another installation; the service can only read it",
		"platform_schema":  "the versions of the schema; the service can only read it",
		"*_schema":         "the versions of the schema; the service can only read it",
		"signing_keys":     "auth: the installation's keys, sealed",
		"signing_key_set":  "auth: the version of the set of keys",
		"workers":          "webhook: the processes that send, without a company or a content",
		"sign_in_failures": "auth: counts of failed sign-ins by hashes, before it is known whose they are",
	}
}

// tablesSQL lists the tables of a service with their protection.
const tablesSQL = `select c.relname::text as name, c.relrowsecurity as protected,
		exists (select from pg_policy p where p.polrelid = c.oid and p.polname = 'tenant' and p.polcmd = '*'
			and pg_get_expr(p.polqual, p.polrelid) like '%company_id%app_company%') as tenant,
		exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'company_id') as has_company,
		(select array_agg(p.polname::text order by p.polname) from pg_policy p where p.polrelid = c.oid and p.polname <> 'tenant') as further
	from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') order by 1`

type tableOf struct {
	Name                          string
	Protected, Tenant, HasCompany bool
	Further                       []string
}

// unsafeViewsSQL lists the views that show everything their owner can see.
const unsafeViewsSQL = `select relname::text from pg_class where relnamespace = 'public'::regnamespace and relkind in ('v', 'm')
	and not coalesce(reloptions @> '{security_invoker=true}', false)`

func TestEveryTableIsUnderRowLevelSecurity(t *testing.T) {
	used := map[string]bool{}
	for part, dir := range schemas(t) {
		if part == "platform" { // every service has its tables
			continue
		}
		ownerURL, _ := testkit.DBURLs(t, pg.Migrations{Part: part, FS: os.DirFS(filepath.Join(root, dir)), AppRole: testkit.AppRole()})
		conn, err := pgx.Connect(t.Context(), ownerURL)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
		rows, err := conn.Query(t.Context(), tablesSQL)
		if err != nil {
			t.Fatal(err)
		}
		tables, err := pgx.CollectRows(rows, pgx.RowToStructByName[tableOf])
		if err != nil || len(tables) < 5 {
			t.Fatalf("%s has %d tables, %v", part, len(tables), err)
		}
		for _, table := range tables {
			table.check(t, part, used)
		}
		rows, err = conn.Query(t.Context(), unsafeViewsSQL)
		if err != nil {
			t.Fatal(err)
		}
		if views, err := pgx.CollectRows(rows, pgx.RowTo[string]); err != nil || len(views) > 0 {
			t.Errorf("%s: the views %v show everything their owner can see, %v", part, views, err)
		}
	}
	for name := range maps.Keys(openTables()) {
		if !used[name] {
			t.Errorf("%s is listed as an exception, but no service has it", name)
		}
	}
}

func (o tableOf) check(t *testing.T, part string, used map[string]bool) {
	t.Helper()
	name := o.Name
	if name == part+"_schema" {
		name = "*_schema"
	}
	_, open := openTables()[name]
	switch {
	case open && o.HasCompany:
		t.Errorf("%s: %s has a company_id and is an exception", part, o.Name)
	case open:
		used[name] = true
	case !o.Protected || !o.Tenant || !o.HasCompany:
		t.Errorf("%s: %s is not confined to the company of the transaction: select tenant_table('%s'), or list it in openTables", part, o.Name, o.Name)
	}
	if len(o.Further) > 0 && (o.Name != "outbox_events" || !slices.Equal(o.Further, []string{"installation", "relay_of_previous_release"})) {
		t.Errorf("%s: %s has the policies %v, each of which allows further rows", part, o.Name, o.Further)
	}
}
