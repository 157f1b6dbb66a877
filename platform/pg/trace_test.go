package pg

import "testing"

func TestSummarize(t *testing.T) {
	for sql, want := range map[string]string{
		"begin":                                  "BEGIN",
		"commit":                                 "COMMIT",
		"select id from customers where id = $1": "SELECT customers",
		"insert into outbox (id) select e.id from unnest($1) e(id)":   "INSERT outbox",
		"update event_dates d set booked = 1":                         "UPDATE event_dates",
		"delete from\n\t\tsessions where id = $1":                     "DELETE sessions",
		"with o as (select * from unnest($1)) insert into a select 1": "SELECT a",
		"select set_config('a', $1, true)":                            "SELECT",
		"":                                                            "SQL",
	} {
		if got := summarize(sql); got != want {
			t.Errorf("%q is %q, want %q", sql, got, want)
		}
	}
}
