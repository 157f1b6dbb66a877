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

// groups are tables whose sizes the test adds up and prints, as patterns of their names.
var groups = []struct{ name, like string }{
	{"outbox", "outbox_events"},
	{"idempotency keys", "idempotency_keys"},
	{"inbox", "inbox"},
	{"ended holds", "ended_holds"},
	{"deliveries", "deliveries"},
	{"messages and attempts", "(messages|attempts)_.*"},
	{"request log", "requests"},
}

// part is the cost of a part of the day.
type part struct {
	what                  string
	requests              int
	took                  []time.Duration
	postgres, nats, other time.Duration // processor time
	blocks, wal           int64
	// sizes are those of the groups at the end, in bytes. streams are JetStream's files, and logs is
	// what the services have logged.
	sizes         map[string]int64
	streams, logs int64
	statements    map[string]statement
}

// statement is what a statement of a database has cost.
type statement struct {
	Database, SQL string
	Calls, Blocks int64
}

func (s statement) perCall() float64 { return float64(s.Blocks) / float64(max(s.Calls, 1)) }

func (p part) each(d time.Duration) float64 { return d.Seconds() * 1000 / float64(p.requests) }
func (p part) blocksEach() float64          { return float64(p.blocks) / float64(p.requests) }
func (p part) whole() time.Duration         { return p.postgres + p.nats + p.other }

func (p part) quantile(percent int) float64 {
	return float64(p.took[len(p.took)*percent/100]) / float64(time.Millisecond)
}

// state is what has been used so far.
type state struct {
	postgres, nats, other time.Duration
	wal, logs             int64
}

func (w *world) state(t *testing.T) state {
	t.Helper()
	s := state{postgres: harness.ProcessorTimeOfTree(t, w.Postgres.PID(t)), nats: harness.ProcessorTime(t, w.NATS.PID())}
	for _, name := range w.parts {
		p := w.Part(name)
		s.other += harness.ProcessorTime(t, p.PID())
		info, err := os.Stat(p.LogFile())
		if err != nil {
			t.Fatal(err)
		}
		s.logs += info.Size()
	}
	s.wal = w.number(t, "postgres", `select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint`)
	return s
}

// measure returns the cost of what happens until do returns.
func (w *world) measure(t *testing.T, f *traffic, what string, do func()) part {
	t.Helper()
	w.exec(t, "postgres", `select pg_stat_statements_reset()`)
	f.take()
	before := w.state(t)
	do()
	after := w.state(t)
	took, _ := f.take()
	p := part{
		what: what, requests: len(took), took: took, postgres: after.postgres - before.postgres, nats: after.nats - before.nats, other: after.other - before.other,
		wal: after.wal - before.wal, logs: after.logs - before.logs, sizes: map[string]int64{}, statements: w.statements(t), streams: sizeOf(t, w.NATS.Dir()),
	}
	for _, s := range p.statements {
		p.blocks += s.Blocks
	}
	for _, service := range w.services() {
		for _, g := range groups {
			p.sizes[g.name] += w.number(t, service, `select coalesce(sum(pg_total_relation_size(oid)), 0)::bigint from pg_class
				where relnamespace = 'public'::regnamespace and relkind = 'r' and relname ~ ('^(' || $1 || ')$')`, g.like)
		}
	}
	if p.requests == 0 {
		t.Fatalf("%s: no request was answered", what)
	}
	return p
}

// statements returns the costs of all statements of the services since the last reset.
func (w *world) statements(t *testing.T) map[string]statement {
	t.Helper()
	rows, err := w.databases["postgres"].Query(t.Context(), `select d.datname, regexp_replace(left(query, 160), '\s+', ' ', 'g'), sum(calls)::bigint, sum(shared_blks_hit + shared_blks_read)::bigint
		from pg_stat_statements s join pg_database d on d.oid = s.dbid join pg_roles r on r.oid = s.userid where not r.rolsuper group by 1, 2, queryid`)
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[statement])
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]statement{}
	for _, s := range all {
		key := s.Database + " " + s.SQL
		s.Calls, s.Blocks = s.Calls+by[key].Calls, s.Blocks+by[key].Blocks
		by[key] = s
	}
	return by
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
	for _, service := range w.services() {
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

// print prints the tables.
func (w *world) print(t *testing.T, parts []part) {
	t.Helper()
	var b strings.Builder
	b.WriteString("\n| | requests | median, ms | p99, ms | processor time, ms | of it PostgreSQL | NATS | blocks | write-ahead log, kB | logs, B |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for _, p := range parts {
		fmt.Fprintf(&b, "| %s | %d | %.1f | %.1f | %.2f | %.2f | %.2f | %.0f | %.1f | %.0f |\n", p.what, p.requests, p.quantile(50), p.quantile(99),
			p.each(p.whole()), p.each(p.postgres), p.each(p.nats), p.blocksEach(), float64(p.wal)/1000/float64(p.requests), float64(p.logs)/float64(p.requests))
	}
	b.WriteString("\n| size at the end, MB |")
	for _, g := range groups {
		fmt.Fprintf(&b, " %s |", g.name)
	}
	b.WriteString(" streams |\n|---" + strings.Repeat("|---", len(groups)+1) + "|\n")
	for _, p := range parts {
		fmt.Fprintf(&b, "| %s |", p.what)
		for _, g := range groups {
			fmt.Fprintf(&b, " %s |", mb(p.sizes[g.name]))
		}
		fmt.Fprintf(&b, " %s |\n", mb(p.streams))
	}
	b.WriteString("\n| table at the end | MB | dead, % | free, % | least dense index, % | vacuums |\n|---|---|---|---|---|---|\n")
	for _, x := range w.bloats(t) {
		fmt.Fprintf(&b, "| %s.%s | %s | %.1f | %.1f | %.0f | %d |\n", x.Service, x.Table, mb(x.Bytes), x.Dead, x.Free, x.Dense, x.Vacuums)
	}
	b.WriteString("\nStatements that read more blocks per call than in the first part of the day:\n")
	for _, p := range parts[1:] {
		for _, s := range grown(parts[0], p) {
			first := parts[0].statements[s.Database+" "+s.SQL]
			fmt.Fprintf(&b, "%s: %s: %.0f → %.0f blocks, %d calls: %s\n", p.what, s.Database, first.perCall(), s.perCall(), s.Calls, s.SQL)
		}
	}
	t.Log(b.String())
}

// grown returns the statements that have become most expensive.
func grown(first, p part) (all []statement) {
	for key, s := range p.statements {
		before, known := first.statements[key]
		more := s.perCall() - before.perCall()
		if known && more > before.perCall()/2 && more*float64(s.Calls) > float64(p.blocks)/200 {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(x, y statement) int { return cmp.Compare(y.Blocks, x.Blocks) })
	return all[:min(len(all), 6)]
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
