package day

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/test/harness"
)

// groups are tables whose sizes the test adds up and prints, as patterns of their names. A group that is
// cut by an hourly job has the rows of almost two days at the end.
var groups = []struct {
	name, like string
	hourly     bool
}{
	{"outbox", "outbox_events", false},
	{"idempotency keys", "idempotency_keys", false},
	{"inbox", "inbox", false},
	{"ended holds", "ended_holds", false},
	{"deliveries", "deliveries", true},
	{"messages and attempts", "(messages|attempts)_.*", true},
	{"request log", "requests", true},
}

// period is what a period of the day has cost.
type period struct {
	what     string
	requests int
	// sales are the sorted times of bookings.
	sales []time.Duration
	usage
	blocks int64
	// sizes are those of the groups at the end, in bytes. streams are JetStream's files.
	sizes      map[string]int64
	streams    int64
	statements map[string]statement
}

// usage is what the platform has used: processor time, and bytes of the write-ahead log and of the
// services' logs.
type usage struct {
	postgres, nats, services time.Duration
	wal, logs                int64
}

// statement is what a statement of a database has cost.
type statement struct {
	Database, SQL string
	Calls, Blocks int64
}

func (s statement) perCall() float64 { return float64(s.Blocks) / float64(max(s.Calls, 1)) }

func (p period) each(n int64) float64             { return float64(n) / float64(p.requests) }
func (p period) eachMS(d time.Duration) float64   { return d.Seconds() * 1000 / float64(p.requests) }
func (p period) quantile(n int) time.Duration     { return p.sales[len(p.sales)*n/100] }
func (p period) quantileMS(percent int) float64   { return p.quantile(percent).Seconds() * 1000 }
func (p period) processorTime() (d time.Duration) { return p.postgres + p.nats + p.services }

// used returns what the platform has used so far.
func (w *world) used(t *testing.T) usage {
	t.Helper()
	u := usage{postgres: harness.ProcessorTimeOfTree(t, w.Postgres.PID(t)), nats: harness.ProcessorTime(t, w.NATS.PID())}
	for _, name := range processes {
		p := w.Part(name)
		u.services += harness.ProcessorTime(t, p.PID())
		info, err := os.Stat(p.LogFile())
		if err != nil {
			t.Fatal(err)
		}
		u.logs += info.Size()
	}
	u.wal = w.number(t, "postgres", `select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint`)
	return u
}

// measure returns what the time until do returns has cost.
func (w *world) measure(t *testing.T, f *traffic, what string, do func()) period {
	t.Helper()
	w.exec(t, "postgres", `select pg_stat_statements_reset()`)
	f.take()
	before := w.used(t)
	do()
	after := w.used(t)
	p := period{
		what: what, sizes: map[string]int64{}, statements: w.statements(t), streams: sizeOf(t, w.NATS.Dir()),
		usage: usage{
			postgres: after.postgres - before.postgres, nats: after.nats - before.nats, services: after.services - before.services,
			wal: after.wal - before.wal, logs: after.logs - before.logs,
		},
	}
	if p.requests, p.sales = f.take(); len(p.sales) == 0 {
		t.Fatalf("%s: no booking was answered", what)
	}
	for _, s := range p.statements {
		p.blocks += s.Blocks
	}
	for _, service := range services {
		for _, g := range groups {
			p.sizes[g.name] += w.number(t, service, `select coalesce(sum(pg_total_relation_size(oid)), 0)::bigint from pg_class
				where relnamespace = 'public'::regnamespace and relkind = 'r' and relname ~ ('^(' || $1 || ')$')`, g.like)
		}
	}
	return p
}

// statements returns the costs of all statements of the services since the last reset.
func (w *world) statements(t *testing.T) map[string]statement {
	t.Helper()
	rows, err := w.databases["postgres"].Query(t.Context(), `select d.datname, regexp_replace(left(query, 160), '\s+', ' ', 'g'), sum(calls)::bigint, sum(shared_blks_hit + shared_blks_read)::bigint
		from pg_stat_statements s join pg_database d on d.oid = s.dbid join pg_roles r on r.oid = s.userid where not r.rolsuper group by 1, 2`)
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[statement])
	if err != nil {
		t.Fatal(err)
	}
	byText := map[string]statement{}
	for _, s := range all {
		byText[s.Database+" "+s.SQL] = s
	}
	return byText
}

// sizeOf returns the size of all files below a directory.
func sizeOf(t *testing.T, dir string) (sum int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil || entry.IsDir() {
			return err
		}
		if info, err := entry.Info(); err == nil {
			sum += info.Size()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// bloat is how much of a table and of its indexes is not used.
type bloat struct {
	Service, Table    string
	Bytes             int64
	Dead, Free, Dense float64 // percent; Dense is the least density of an index
	Vacuums           int64
}

// bloats returns the bloat of the tables of the groups, and of tables whose rows change with every
// booking.
func (w *world) bloats(t *testing.T) (all []bloat) {
	t.Helper()
	var patterns []string
	for _, g := range groups {
		patterns = append(patterns, g.like)
	}
	patterns = append(patterns, "event_dates", "event_totals", "customer_totals", "company_totals", "customer_passes", "transactions", "bookings")
	for _, service := range services {
		rows, err := w.databases[service].Query(t.Context(), `select $2::text, c.relname::text, pg_total_relation_size(c.oid), s.dead_tuple_percent, s.free_percent,
				coalesce((select min(x.avg_leaf_density) from pg_index i cross join lateral pgstatindex(i.indexrelid::regclass) x
					where i.indrelid = c.oid and x.leaf_pages > 10), 100),
				coalesce((select autovacuum_count from pg_stat_all_tables where relid = c.oid), 0)
			from pg_class c cross join lateral pgstattuple(c.oid::regclass) s
			where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and c.relname ~ ('^(' || $1 || ')$') and pg_total_relation_size(c.oid) > 256 * 1024`,
			strings.Join(patterns, "|"), service)
		if err != nil {
			t.Fatal(err)
		}
		list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[bloat])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, list...)
	}
	slices.SortFunc(all, func(x, y bloat) int { return cmp.Compare(y.Bytes, x.Bytes) })
	return all
}

func mb(bytes int64) string { return fmt.Sprintf("%.1f", float64(bytes)/1e6) }

// printDay prints the tables.
func printDay(t *testing.T, periods []period, tables []bloat) {
	t.Helper()
	var b strings.Builder
	b.WriteString("\n| | requests | bookings: median, ms | p99, ms | processor time, ms | of it PostgreSQL | NATS | blocks | write-ahead log, kB | logs, B |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for _, p := range periods {
		fmt.Fprintf(&b, "| %s | %d | %.1f | %.1f | %.2f | %.2f | %.2f | %.0f | %.1f | %.0f |\n", p.what, p.requests, p.quantileMS(50), p.quantileMS(99),
			p.eachMS(p.processorTime()), p.eachMS(p.postgres), p.eachMS(p.nats), p.each(p.blocks), p.each(p.wal)/1000, p.each(p.logs))
	}
	b.WriteString("\n| size at the end, MB |")
	for _, g := range groups {
		fmt.Fprintf(&b, " %s |", g.name)
	}
	b.WriteString(" streams |\n|---" + strings.Repeat("|---", len(groups)+1) + "|\n")
	for _, p := range periods {
		fmt.Fprintf(&b, "| %s |", p.what)
		for _, g := range groups {
			fmt.Fprintf(&b, " %s |", mb(p.sizes[g.name]))
		}
		fmt.Fprintf(&b, " %s |\n", mb(p.streams))
	}
	b.WriteString("\n| table at the end | MB | dead, % | free, % | least dense index, % | vacuums |\n|---|---|---|---|---|---|\n")
	for _, x := range tables {
		fmt.Fprintf(&b, "| %s.%s | %s | %.1f | %.1f | %.0f | %d |\n", x.Service, x.Table, mb(x.Bytes), x.Dead, x.Free, x.Dense, x.Vacuums)
	}
	b.WriteString("\nStatements that read more blocks per call than in the first period:\n")
	for _, p := range periods[1:] {
		for _, s := range costlier(periods[0], p) {
			first := periods[0].statements[s.Database+" "+s.SQL]
			fmt.Fprintf(&b, "%s: %s: %.0f → %.0f blocks, %d calls: %s\n", p.what, s.Database, first.perCall(), s.perCall(), s.Calls, s.SQL)
		}
	}
	t.Log(b.String())
}

// costlier returns the statements that read at least half as much again per call as in the first
// period, and whose increase is at least 0.5 % of all blocks of the period.
func costlier(first, p period) (all []statement) {
	for key, s := range p.statements {
		before, isKnown := first.statements[key]
		more := s.perCall() - before.perCall()
		if isKnown && more > before.perCall()/2 && more*float64(s.Calls) > float64(p.blocks)/200 {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(x, y statement) int { return cmp.Compare(y.Blocks, x.Blocks) })
	return all
}

// number returns the number that a query of a service's database returns.
func (w *world) number(t *testing.T, service, sql string, args ...any) (n int64) {
	t.Helper()
	if err := w.databases[service].QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %s: %v", service, sql, err)
	}
	return n
}

func (w *world) exec(t *testing.T, service, sql string, args ...any) {
	t.Helper()
	if _, err := w.databases[service].Exec(context.WithoutCancel(t.Context()), sql, args...); err != nil {
		t.Fatalf("%s: %s: %v", service, sql, err)
	}
}
