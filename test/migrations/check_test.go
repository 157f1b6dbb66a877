package migrations

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCheck(t *testing.T) {
	for name, tt := range map[string]struct {
		sql  string
		want []string // violated rules
	}{
		"a new table":                          {"create table x (id uuid primary key); create index x_a on x (a); alter table x add constraint a check (b); insert into x values (1); update x set a = 1;", nil},
		"a column that may be null":            {"alter table t add column a text;", nil},
		"a column with a constant":             {"alter table t add column a text not null default 'none', add column b boolean not null default false;", nil},
		"a column without a default":           {"alter table t add column a text not null;", []string{"no-default"}},
		"one of two without a default":         {"alter table t add column a text not null default 'a, b', add column b integer not null;", []string{"no-default"}},
		"a default per row":                    {"alter table t add column a uuid not null default gen_random_uuid();", []string{"rewrite"}},
		"a generated column":                   {"alter table t add column a text generated always as (lower(b)) stored;", []string{"rewrite"}},
		"a dropped column":                     {"ALTER TABLE t\n  DROP COLUMN a;", []string{"drop"}},
		"a dropped column, if it exists":       {"alter table if exists only t drop column if exists a;", []string{"drop"}},
		"a dropped table":                      {"drop table if exists t;", []string{"drop"}},
		"a dropped function":                   {"drop function f(integer);", []string{"drop"}},
		"a renamed column":                     {"alter table t rename column a to b;", []string{"rename"}},
		"a renamed table":                      {"alter table \"t\" rename to u;", []string{"rename"}},
		"a changed type":                       {"alter table t alter column a type bigint;", []string{"column-type"}},
		"not null":                             {"alter table t alter a set not null;", []string{"not-null"}},
		"a dropped default":                    {"alter table t alter column a drop default;", []string{"drop-default"}},
		"a check":                              {"alter table t add constraint a check (b in ('x', 'y'));", []string{"validate-apart"}},
		"a check that is validated separately": {"alter table t add constraint a check (b > 0) not valid; alter table t validate constraint a;", nil},
		"a foreign key":                        {"alter table t add constraint a foreign key (b) references c (d);", []string{"validate-apart"}},
		"a constraint that is dropped":         {"alter table t drop constraint a;", []string{"drop-constraint"}},
		"a replaced constraint":                {"alter table t drop constraint if exists a, add constraint a check (b > 0) not valid;", nil},
		"unique":                               {"alter table t add constraint a unique (b);", []string{"unique"}},
		"unique, from an index":                {"alter table t add constraint a unique using index b;", nil},
		"an index":                             {"create unique index a on t (b);", []string{"index"}},
		"an index without a transaction":       {"-- +goose NO TRANSACTION\n-- +goose Up\ncreate index concurrently if not exists a on t (b);", nil},
		"concurrently, in a transaction":       {"create index concurrently if not exists a on t (b);", []string{"transaction"}},
		"a change that cannot be repeated":     {"-- +goose NO TRANSACTION\n-- +goose Up\nalter table t add column a text;", []string{"repeatable"}},
		"a dropped index":                      {"drop index a;", []string{"index"}},
		"a trigger":                            {"create trigger a before insert on t for each row execute function f();", []string{"trigger"}},
		"a backfill":                           {"update t set a = 1;", []string{"backfill"}},
		"a deletion":                           {"delete from t where a;", []string{"backfill"}},
		"truncation":                           {"truncate t;", []string{"truncate"}},
		"a lock":                               {"lock table t;", []string{"lock"}},
		"a longer wait":                        {"set local lock_timeout = '1min';", []string{"lock-timeout"}},
		"an allowance":                         {"-- allow backfill: a row per company\nupdate t set a = 1;", nil},
		"an allowance for another rule":        {"-- allow drop: nobody reads it\nupdate t set a = 1;", []string{"backfill"}},
		"an allowance without a reason":        {"-- allow backfill:\nupdate t set a = 1;", []string{"backfill"}},
		"an allowance covers one statement":    {"-- allow backfill: few rows\nupdate t set a = 1; update t set b = 1;", []string{"backfill"}},
		"forbidden words in a comment":         {"-- drop table t;\n/* truncate t; */ select 1;", nil},
		"forbidden words in quotes":            {"comment on table t is 'drop; truncate t;'; create function f() returns void language sql as $$ truncate t; $$;", nil},
		"a statement without a semicolon":      {"select 1; drop table t", []string{"drop"}},
		"another table of the same file":       {"create table x (a uuid); drop table t;", []string{"drop"}},
		"a check of existing columns":          {"alter table t add constraint c check ((a is null) = (b is null) and (a is null) = (c is null));", []string{"validate-apart"}},
		"a primary key of an earlier table":    {"alter table t add constraint a primary key (b);", []string{"unique"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range Check("0002_a.sql", "-- +goose Up\n"+tt.sql) {
				got = append(got, f.Rule)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("a finding names its line", func(t *testing.T) {
		found := Check("a.sql", "-- +goose Up\n\nselect 1;\n\n-- why\ndrop table t;\n")
		if len(found) != 1 || found[0].Line != 6 || !strings.HasPrefix(found[0].String(), "a.sql:6: drop: ") {
			t.Errorf("found %v", found)
		}
	})
}
