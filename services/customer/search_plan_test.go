package customer

import (
	"context"
	"fmt"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/config"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	"reservation.dev/services/customer/migrations"
)

// searched is a database of customers with a store whose searches are measured.
type searched struct {
	db    *pg.DB
	store *store
	owner *pgx.Conn
}

func openSearched(t *testing.T) *searched {
	ownerURL, appURL := testkit.DBURLs(t, pg.Migrations{Part: "customer", FS: migrations.FS, AppRole: testkit.AppRole()})
	db, err := pg.Open(t.Context(), pg.Config{URL: config.Secret(appURL), MaxConns: 1}, testkit.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	owner, err := pgx.Connect(t.Context(), ownerURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { owner.Close(context.Background()) })
	disableAutovacuum(t, owner)
	return &searched{db: db, store: newStore(db), owner: owner}
}

// Customers have one of 240 first names and one of 4,800 last names; every 1,000th is
// a Quxley.
const fillSQL = `insert into customers (company_id, id, first_name, last_name, email, mobile, archived, version, created_at, updated_at)
	select $1, gen_random_uuid(), initcap(f), initcap(l), f || '.' || l || g || '@example.com', '+44 7' || to_char(g * 7919 % 1000000000, 'FM000000000'), g % 11 = 0, 1,
		to_timestamp(1700000000 + g), to_timestamp(1700000000 + g)
	from (select g, (array['an','be','ca','da','el','fi','ga','ha','ir','jo','ka','lu'])[1 + g % 12] || (array['na','ra','mi','le','so'])[1 + g / 12 % 5] || (array['', 'n', 's', 'ne'])[1 + g / 60 % 4] as f,
		case when g % 1000 = 7 then 'quxley' else (array['smi','jon','bro','tay','wil','da','eva','tho','rob','wal'])[1 + g / 7 % 10] || (array['th','es','wn','lor','son','vis','ans','mas'])[1 + g / 70 % 8]
			|| (array['','er','ing','ton','ham','ford'])[1 + g / 560 % 6] || (array['','a','o','e','i','u','y','ey','ie','is'])[1 + g / 3360 % 10] end as l
		from generate_series($2::int, $3::int) g) n`

func (s *searched) fill(t *testing.T, company id.Company, n int) {
	t.Helper()
	const lot = 2_500
	for from := 1; from <= n; from += lot {
		err := s.db.InTx(t.Context(), pg.For(company), func(ctx context.Context, tx *pg.Tx) error {
			return execUnlimited(ctx, tx, fillSQL, company, from, min(n, from+lot-1))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// inBulk calls fill with the indexes of searches dropped, and builds them again afterwards. The
// indexes that only the previous release uses stay dropped.
func (s *searched) inBulk(t *testing.T, fill func()) {
	t.Helper()
	rows, err := s.owner.Query(t.Context(), `select indexdef from pg_indexes where tablename = 'customers' and indexname like 'customers_search%'`)
	if err != nil {
		t.Fatal(err)
	}
	definitions, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	run := func(sql string) {
		if _, err := s.owner.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	run(`drop index customers_search, customers_search_short, customers_first_key, customers_last_key, customers_email_key,
		customers_mobile_digits, customers_mobile_key, customers_mobile_end`)
	fill()
	for _, definition := range definitions {
		run(definition)
	}
}

// touched returns how many blocks of the table and its indexes all sessions have read so far, and
// how often they have read the whole table.
func (s *searched) touched(t *testing.T) (blocks, scans int) {
	t.Helper()
	err := s.db.InTx(t.Context(), pg.Scope{}, func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, `select pg_stat_force_next_flush()`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	// The owner has filled the table.
	if _, err := s.owner.Exec(t.Context(), `select pg_stat_force_next_flush()`); err != nil {
		t.Fatal(err)
	}
	err = s.owner.QueryRow(t.Context(), `select heap_blks_read + heap_blks_hit + idx_blks_read + idx_blks_hit, seq_scan
		from pg_statio_user_tables join pg_stat_user_tables using (relid) where relid = 'customers'::regclass`).Scan(&blocks, &scans)
	if err != nil {
		t.Fatal(err)
	}
	return blocks, scans
}

// through returns the migrations up to a number.
func through(t *testing.T, last int) fs.FS {
	t.Helper()
	names, err := fs.Glob(migrations.FS, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{}
	for _, name := range names[:last] {
		text, err := fs.ReadFile(migrations.FS, name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: text}
	}
	return files
}

// A search finds customers who were stored before there was a search text, and customers whom the
// previous release stores after the migration.
func TestSearchTextOfOtherReleases(t *testing.T) { // invariant 13
	before := pg.Migrations{Part: "customer", FS: through(t, 7), AppRole: testkit.AppRole()}
	ownerURL, appURL := testkit.DBURLs(t, before)
	db, err := pg.Open(t.Context(), pg.Config{URL: config.Secret(appURL)}, testkit.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	company := id.New[id.Company]()
	const lot = 5_100 // more than one batch of the migration
	insert := func(from int) {
		t.Helper()
		err := db.InTx(t.Context(), pg.For(company), func(ctx context.Context, tx *pg.Tx) error {
			return execUnlimited(ctx, tx, fillSQL, company, from, from+lot-1)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	insert(1)
	now := before
	now.FS = migrations.FS
	if err := pg.Migrate(t.Context(), ownerURL, now); err != nil {
		t.Fatal(err)
	}
	insert(1 + lot)
	found, err := newStore(db).list(t.Context(), company, list{Page: page.Page{Size: 1}, filter: filter{query: terms("example.com")}})
	if err != nil || found.total != 2*lot {
		t.Errorf("%d customers are found, want %d: %v", found.total, 2*lot, err)
	}
}

// The functions that run as the owner return only identifiers of the transaction's company, for
// every caller.
func TestSearchFunctionsAreConfined(t *testing.T) { // invariants 6 and 13
	s := openSearched(t)
	own := id.New[id.Company]()
	s.fill(t, own, 10)
	s.fill(t, id.New[id.Company](), 10)
	for name, scope := range map[string]pg.Scope{"own": pg.For(own), "another": pg.For(id.New[id.Company]()), "all": pg.AllCompanies(), "none": {}} {
		want := map[string]int{"own": 10}[name]
		for _, sql := range []string{`select find_customers('{%example%}', '{}', 100)`, `select find_customers_with_any('{%example%}', '{%}', 100)`} {
			found, err := pg.Rows[id.Customer](t.Context(), s.db, scope, sql)
			if err != nil || len(found) != want {
				t.Errorf("%s finds %d customers in the scope of %s company, want %d: %v", sql, len(found), name, want, err)
			}
		}
	}
}

// A search that many customers match walks the list until its page is full, in a database that has one company
// too. Row-level security keeps the statistics of the search texts from the planner.
func TestSlowSearchWithoutStatistics(t *testing.T) { // invariant 13
	s := openSearched(t)
	company := id.New[id.Company]()
	s.inBulk(t, func() { s.fill(t, company, 40_000) })
	vacuum(t, s.owner)
	for _, query := range []string{"example.com", "smi"} {
		for _, o := range []page.Order{{}, {Code: 2, Column: byCreated, Desc: true}} {
			t.Run(fmt.Sprintf("%s, by %q", query, o.Column), func(t *testing.T) {
				l := list{Page: page.Page{Order: o, Size: 50, After: new(o.Start())}, filter: filter{match: &match{tier: anywhere, like: anywhere.patterns([]string{query})}}}
				before, _ := s.touched(t)
				found, err := s.store.rows(t.Context(), company, l)
				if err != nil || len(found) != l.Size+1 {
					t.Fatalf("%d customers, %v", len(found), err)
				}
				// The table has about 1,600 blocks. One customer in ten matches "smi", in random order, so a walk
				// reads 510 ± 70 customers, each in a block of its own.
				blocks, _ := s.touched(t)
				t.Logf("%d blocks", blocks-before)
				if blocks-before > 1_000 {
					t.Errorf("touches %d blocks", blocks-before)
				}
			})
		}
	}
}

// The cost of a search depends on what it finds, or on a walk until its page is full, or on one
// reading of a small index. It never reads the table.
func TestSlowSearchPlans(t *testing.T) { // invariant 13
	s := openSearched(t)
	large, small := id.New[id.Company](), id.New[id.Company]()
	s.inBulk(t, func() {
		s.fill(t, large, 100_000)
		s.fill(t, small, 1_000)
		for range 5 {
			s.fill(t, id.New[id.Company](), 1_000)
		}
	})
	vacuum(t, s.owner)
	for query, most := range map[string]int{
		"quxley": 3_000, "quxl": 3_000, "uxle": 3_000, "anna.smither5@": 5_000, "900123": 3_000, "anna smi": 4_000, // few
		"smi": 8_000, "anna": 8_000, "nna": 8_000, "a": 8_000, "7": 8_000, "an": 8_000, "example.com": 8_000, // many
		"q": 5_000, "zz": 5_000, "qx": 5_000, "龍": 5_000, // few, without a trigram
		"quxely": 5_000, "nobody at all": 5_000, "anna nobodi": 20_000, "quxely anna": 20_000, // possible typos
	} {
		for company, name := range map[id.Company]string{large: "100,000 customers", small: "1,000 customers"} {
			for _, o := range []page.Order{{}, {Code: 2, Column: byCreated, Desc: true}} {
				t.Run(fmt.Sprintf("%s in a company with %s, by %q", query, name, o.Column), func(t *testing.T) {
					l := list{Page: page.Page{Order: o, Size: 50, After: new(o.Start())}, filter: filter{archived: ptr(false), query: terms(query)}, most: 1000}
					before, scans := s.touched(t)
					page, err := s.store.list(t.Context(), company, l)
					if err != nil {
						t.Fatal(err)
					}
					blocks, scansAfter := s.touched(t)
					t.Logf("%d of %d customers from %d blocks", len(page.customers), page.total, blocks-before)
					if blocks-before > most || scansAfter > scans {
						t.Errorf("touches %d blocks, want at most %d, and reads the table %d times", blocks-before, most, scansAfter-scans)
					}
				})
			}
		}
	}
}
