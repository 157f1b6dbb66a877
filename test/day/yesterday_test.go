package day

import (
	"fmt"
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
	// every is the interval of the job that deletes.
	every time.Duration
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
	// timeOfID is the time in a UUID of version 7.
	timeOfID = `to_timestamp(('x' || translate(left(id::text, 13), '-', ''))::bit(48)::bigint / 1000.0)`
	// idAtTime is a UUID of version 7 with the time written.
	idAtTime = `(lpad(to_hex((extract(epoch from written) * 1000)::bigint), 12, '0') || '7' || left(md5('a' || n), 3) || '8' || left(md5('b' || n), 15))::uuid`
)

// expirings are the tables of which the test adds yesterday's rows.
var expirings = []expiring{
	{
		services: []string{"customer", "booking", "pass"}, table: "idempotency_keys", kept: day, every: 10 * time.Minute, at: "created_at",
		set: map[string]string{"key": `'yesterday-' || n`, "created_at": "written", "expires_at": "written + interval '1 day'"},
	},
	{
		services: []string{"customer", "booking", "pass", "reports", "webhook", "media", "subscription", "auth"}, table: "inbox",
		kept: 8 * day, every: 10 * time.Minute, at: "processed_at",
		set: map[string]string{"event_id": "gen_random_uuid()", "processed_at": "written"},
	},
	{
		services: []string{"booking"}, table: "ended_holds", kept: 30 * day, every: time.Minute, at: "ended_at",
		set: map[string]string{"id": idAtTime, "ended_at": "written"},
	},
	{
		services: []string{"booking"}, table: "transactions", kept: day, every: time.Minute, at: "expires_at", only: "status = 'released'",
		set: map[string]string{"id": "md5('transaction' || n)::uuid", "reference": "null", "expires_at": "written"},
	},
	{
		services: []string{"auth"}, table: "requests", kept: 30 * day, every: time.Hour, at: timeOfID,
		set: map[string]string{"id": idAtTime},
	},
	{
		services: []string{"webhook"}, table: "deliveries", kept: 30 * day, every: time.Hour, at: timeOfID, only: "state <> 'pending'",
		set: map[string]string{"id": idAtTime, "message_id": "gen_random_uuid()", "created_at": "written", "finished_at": "written"},
	},
}

// counts returns the number of rows of each expiring table, by service and table.
func (w *world) counts(t *testing.T) map[string]int64 {
	t.Helper()
	all := map[string]int64{}
	for _, e := range expirings {
		for _, service := range e.services {
			all[service+"."+e.table] = w.number(t, service, `select count(*) from `+e.table+` where `+e.condition())
		}
	}
	return all
}

func (e expiring) condition() string {
	if e.only == "" {
		return "true"
	}
	return e.only
}

// addYesterday adds the rows of a day that is over, which expire during the next one. Today will add
// as many: grown has the number of rows that the warm-up has added.
func (w *world) addYesterday(t *testing.T, p plan, grown map[string]int64) {
	t.Helper()
	began := time.Now()
	add := func(service string, e expiring, n float64) {
		if n >= 1 {
			written := fmt.Sprintf("now() + make_interval(secs => %f * n / $1 - %f)", p.length.Seconds(), e.kept.Seconds())
			w.exec(t, service, e.copySQL(w.columns(t, service, e.table), written), int64(n))
		}
	}
	days := p.length.Seconds() / p.warmUp().Seconds()
	for _, e := range expirings {
		for _, service := range e.services {
			add(service, e, days*float64(grown[service+"."+e.table]))
		}
	}
	// Each released purchase has its booking, which is deleted with it.
	add("booking", expiring{
		table: "bookings", only: "transaction_id in (select id from transactions where status = 'released')",
		set: map[string]string{"id": "md5('booking' || n)::uuid", "transaction_id": "md5('transaction' || n)::uuid"},
	}, days*float64(grown["booking.transactions"]))
	w.addOldPartitions(t, days*float64(grown["webhook.deliveries"]))
	for _, service := range w.services() {
		w.exec(t, service, "vacuum analyze")
	}
	t.Logf("added yesterday's rows in %s: %v", time.Since(began).Round(time.Second), grown)
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
		number as (select count(*) as of from kinds)
		insert into %[1]s (%[3]s) select %[4]s
		from generate_series(0, $1::bigint - 1) n cross join number join kinds k on k.i = n %% number.of
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
func (w *world) addOldPartitions(t *testing.T, rows float64) {
	t.Helper()
	const day = `date_trunc('day', now(), 'UTC') - interval '32 days'`
	for table, of := range map[string]struct {
		bound string // of the partitions, of a day
		set   map[string]string
	}{
		"messages": {"first_uuid_at(%s)", map[string]string{"id": idAtTime}},
		"attempts": {"(%s)", map[string]string{"delivery_id": "md5('attempt' || n)::uuid", "at": "written"}},
	} {
		var name, from, to string
		err := w.databases["webhook"].QueryRow(t.Context(), fmt.Sprintf(`select $1 || to_char((%s) at time zone 'UTC', '_YYYYMMDD'), %s::text, %s::text`,
			day, fmt.Sprintf(of.bound, day), fmt.Sprintf(of.bound, day+" + interval '1 day'")), table).Scan(&name, &from, &to)
		if err != nil {
			t.Fatal(err)
		}
		w.exec(t, "webhook", fmt.Sprintf(`create table %s partition of %s for values from ('%s') to ('%s')`, name, table, from, to))
		w.exec(t, "webhook", fmt.Sprintf(`alter table %s owner to webhook_owner`, name))
		w.exec(t, "webhook", expiring{table: table, set: of.set}.copySQL(w.columns(t, "webhook", table), day+" + interval '12 hours'"), int64(rows))
	}
}

// overdue returns how many rows should have been deleted, because their job has run since they
// expired.
func (w *world) overdue(t *testing.T, e expiring, service string, lastRun time.Time) int64 {
	t.Helper()
	return w.number(t, service, `select count(*) from `+e.table+` where `+e.condition()+` and `+e.at+` < $1`, lastRun.Add(-e.kept))
}
