package pg

import (
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Statement is an SQL statement that grows by conditions. Its text consists of constants
// only; values become arguments.
type Statement struct {
	SQL  string
	Args []any
}

// AmongIDs is the condition that a column is one of the identifiers in the array $2. PostgreSQL makes
// a plan of "= any($2)" for each array, because the plan for one element seems cheaper than that for
// any number, and making it takes longer than running it. It does not look into the sub-select, so it
// keeps its plan.
const AmongIDs = ` = any((select $2::uuid[])::uuid[])`

// Arg adds an argument and returns its placeholder: "$3".
func (s *Statement) Arg(v any) string {
	s.Args = append(s.Args, v)
	return "$" + strconv.Itoa(len(s.Args))
}

// And adds a condition to the where-clause that the statement ends with. Each %s in
// the condition stands for the next argument.
func (s *Statement) And(condition string, args ...any) {
	s.SQL += " and " + s.fill(condition, args)
}

// fill replaces each %s in text with the placeholder of the next argument.
func (s *Statement) fill(text string, args []any) string {
	for _, arg := range args {
		text = strings.Replace(text, "%s", s.Arg(arg), 1)
	}
	return text
}

// Query returns the statement as a query, whose rows scan reads.
func (s *Statement) Query(scan func(pgx.Rows) error) Query {
	return Query{SQL: s.SQL, Args: s.Args, Scan: scan}
}

// Each returns a Query.Scan that calls scan for every row.
func Each(scan func(pgx.Rows) error) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		for rows.Next() {
			if err := scan(rows); err != nil {
				return err
			}
		}
		return nil
	}
}

// Collect returns a Query.Scan that reads all rows into out, as Rows does.
func Collect[T any](out *[]T) func(pgx.Rows) error {
	return func(rows pgx.Rows) (err error) {
		*out, err = pgx.CollectRows(rows, rowTo[T]())
		return err
	}
}

// First returns a Query.Scan that reads the columns of the first row into out. Without a
// row, out is unchanged.
func First(out ...any) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		if !rows.Next() {
			return nil
		}
		return rows.Scan(out...)
	}
}

// ByIndex returns the query after which PostgreSQL plans each statement of a transaction once, and
// looks up every row in an index. A cached plan from when a table was small would otherwise read all
// of it each time, and a new plan each time costs as much as a few rows.
func ByIndex() Query {
	return Query{SQL: `select set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
		set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
		set_config('enable_material', 'off', true)`}
}
