package day

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// expiring is a table whose rows are deleted some time after they were written.
type expiring struct {
	services []string
	table    string
	// kept is how long a row is kept after the time in column at.
	kept time.Duration
	// task is the job of the service that deletes the rows.
	task string
	// at is the time of a row.
	at string
	// only limits the rows; "": all.
	only string
	// set has the expressions of columns of a new row: n is its number, and written is when it was
	// written.
	set map[string]string
}

const (
	day = 24 * time.Hour
	// cutLog is the job that also drops old partitions.
	cutLog = "cut_log"
	// timeOfID is the time in a UUID of version 7.
	timeOfID = `to_timestamp(('x' || translate(left(id::text, 13), '-', ''))::bit(48)::bigint / 1000.0)`
	// idAtTime is a UUID of version 7 with the time written.
	idAtTime = `(lpad(to_hex((extract(epoch from written) * 1000)::bigint), 12, '0') || '7' || left(md5('a' || n), 3) || '8' || left(md5('b' || n), 15))::uuid`
)

// expiringTables are the tables of which the test adds yesterday's rows.
var expiringTables = []expiring{
	{
		services: []string{"customer", "booking", "pass"}, table: "idempotency_keys", kept: day, task: "prune", at: "created_at",
		set: map[string]string{"key": `'yesterday-' || n`, "created_at": "written", "expires_at": "written + interval '1 day'"},
	},
	{
		services: []string{"booking"}, table: "inbox", kept: 8 * day, task: "prune", at: "processed_at",
		set: map[string]string{"event_id": "gen_random_uuid()", "processed_at": "written"},
	},
	{
		services: []string{"booking"}, table: "ended_holds", kept: 30 * day, task: "remove_released", at: "ended_at",
		set: map[string]string{"id": idAtTime, "ended_at": "written"},
	},
	{
		services: []string{"booking"}, table: "transactions", kept: day, task: "remove_released", at: "expires_at", only: "status = 'released'",
		set: map[string]string{"id": "md5('transaction' || n)::uuid", "reference": "null", "expires_at": "written"},
	},
	{
		services: []string{"auth"}, table: "requests", kept: 30 * day, task: "retain", at: timeOfID,
		set: map[string]string{"id": idAtTime},
	},
	{
		services: []string{"webhook"}, table: "deliveries", kept: 30 * day, task: cutLog, at: timeOfID, only: "state <> 'pending'",
		set: map[string]string{"id": idAtTime, "message_id": "gen_random_uuid()", "created_at": "written", "finished_at": "written"},
	},
}

func (e expiring) condition() string { return cmp.Or(e.only, "true") }

// counts returns the number of rows of each expiring table, by service and table.
func (w *world) counts(t *testing.T) map[string]int64 {
	t.Helper()
	all := map[string]int64{}
	for _, e := range expiringTables {
		for _, service := range e.services {
			all[service+"."+e.table] = w.number(t, service, `select count(*) from `+e.table+` where `+e.condition())
		}
	}
	return all
}

// addYesterday adds the rows of a day that is over, which expire during the next one. Today will add
// as many: growth has the number of rows that the traffic has added during the warm-up.
func (w *world) addYesterday(t *testing.T, p plan, growth map[string]int64) {
	t.Helper()
	began := time.Now()
	warmUps := p.length.Seconds() / p.warmUp().Seconds()
	add := func(service string, e expiring, grown int64) {
		if grown == 0 {
			t.Fatalf("%s.%s has got no rows", service, e.table)
		}
		written := fmt.Sprintf("now() + make_interval(secs => %f * n / $1 - %f)", p.length.Seconds(), e.kept.Seconds())
		w.exec(t, service, e.copySQL(w.columns(t, service, e.table), written), int64(warmUps*float64(grown)))
	}
	for _, e := range expiringTables {
		for _, service := range e.services {
			add(service, e, growth[service+"."+e.table])
		}
	}
	// Each released purchase has its booking, which is deleted with it.
	add("booking", expiring{
		table: "bookings", kept: day, only: "transaction_id in (select id from transactions where status = 'released')",
		set: map[string]string{"id": "md5('booking' || n)::uuid", "transaction_id": "md5('transaction' || n)::uuid"},
	}, growth["booking.transactions"])
	w.addOldPartitions(t, int64(warmUps*float64(growth["webhook.deliveries"])))
	for _, service := range services {
		w.exec(t, service, "vacuum analyze")
	}
	t.Logf("added yesterday's rows in %s; the warm-up added %v", time.Since(began).Round(time.Second), growth)
}

// copySQL copies rows of the table $1 times. written is when the copy n was written.
func (e expiring) copySQL(columns []string, written string) string {
	values := make([]string, len(columns))
	for i, column := range columns {
		if values[i] = e.set[column]; values[i] == "" {
			values[i] = "k." + column
		}
	}
	return fmt.Sprintf(`with kinds as (select *, row_number() over () - 1 as i from %[1]s where %[2]s limit 1000),
		number as (select count(*) as total from kinds)
		insert into %[1]s (%[3]s) select %[4]s
		from generate_series(0, $1::bigint - 1) n cross join number join kinds k on k.i = n %% number.total
		cross join lateral (select %[5]s as written) w`,
		e.table, e.condition(), strings.Join(columns, ", "), strings.Join(values, ", "), written)
}

// columns returns the columns of a table that a statement can write.
func (w *world) columns(t *testing.T, service, table string) []string {
	t.Helper()
	rows, err := w.databases[service].Query(t.Context(), `select column_name from information_schema.columns
		where table_schema = 'public' and table_name = $1 and is_generated = 'NEVER' order by ordinal_position`, table)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(names) == 0 {
		t.Fatalf("%s.%s has %d columns: %v", service, table, len(names), err)
	}
	return names
}

// addOldPartitions adds a partition to each log of webhooks, of a day that is more than 30 days ago,
// with as many rows as today will add.
func (w *world) addOldPartitions(t *testing.T, rows int64) {
	t.Helper()
	const old = `date_trunc('day', now(), 'UTC') - interval '32 days'`
	for table, log := range map[string]struct {
		bound string // of the partitions, of a day
		set   map[string]string
	}{
		"messages": {"first_uuid_at(%s)", map[string]string{"id": idAtTime}},
		"attempts": {"(%s)", map[string]string{"delivery_id": "md5('attempt' || n)::uuid", "at": "written"}},
	} {
		var name, from, to string
		err := w.databases["webhook"].QueryRow(t.Context(), fmt.Sprintf(`select $1 || to_char((%s) at time zone 'UTC', '_YYYYMMDD'), %s::text, %s::text`,
			old, fmt.Sprintf(log.bound, old), fmt.Sprintf(log.bound, old+" + interval '1 day'")), table).Scan(&name, &from, &to)
		if err != nil {
			t.Fatal(err)
		}
		w.exec(t, "webhook", fmt.Sprintf(`create table %s partition of %s for values from ('%s') to ('%s')`, name, table, from, to))
		w.exec(t, "webhook", fmt.Sprintf(`alter table %s owner to webhook_owner`, name))
		w.exec(t, "webhook", expiring{table: table, set: log.set}.copySQL(w.columns(t, "webhook", table), old+" + interval '12 hours'"), rows)
		w.oldPartitions = append(w.oldPartitions, name)
	}
}

// checkRetention checks that each job has run since yesterday's rows were added, and has deleted what
// had expired then. It leaves out jobs whose interval is longer than the day was.
func (w *world) checkRetention(t *testing.T, since time.Time) {
	t.Helper()
	for _, e := range expiringTables {
		for _, service := range e.services {
			last, interval := w.metric(t, service, "job_last_success_timestamp_seconds", e.task), w.metric(t, service, "job_interval_seconds", e.task)
			run := time.Unix(int64(last), 0)
			switch {
			case run.Before(since) && time.Since(since).Seconds() < interval:
				t.Logf("%s: the job %s was not due", service, e.task)
				continue
			case run.Before(since):
				t.Errorf("%s: the job %s has not run since %s", service, e.task, since.Format(time.TimeOnly))
				continue
			}
			sql := `select count(*) from ` + e.table + ` where ` + e.condition() + ` and ` + e.at + ` < $1`
			if n := w.number(t, service, sql, run.Add(-e.kept-time.Minute)); n > 0 {
				t.Errorf("%s.%s has %d rows that the job %s should have deleted", service, e.table, n, e.task)
			}
			if e.task == cutLog {
				w.checkPartitions(t)
			}
		}
	}
}

// checkPartitions checks that the old partitions are dropped.
func (w *world) checkPartitions(t *testing.T) {
	t.Helper()
	for _, name := range w.oldPartitions {
		if w.number(t, "webhook", `select count(*) from pg_class where relname = $1`, name) > 0 {
			t.Errorf("the partition %s exists", name)
		}
	}
}

// metric returns a metric of a service's job.
func (w *world) metric(t *testing.T, service, metric, task string) float64 {
	t.Helper()
	res, err := http.Get("http://" + w.Part(service).AdminAddr() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "} ")
		if !strings.HasPrefix(name, metric+"{") || !strings.Contains(name, `task="`+task+`"`) {
			continue
		}
		number, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatal(err)
		}
		return number
	}
	t.Fatalf("%s has no %s of the job %s", service, metric, task)
	return 0
}
