package tenancy

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"strings"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// Column is a fact of a company that a service keeps in a column of its table companies.
type Column struct {
	name    string
	field   func(*Company) any
	isClaim bool // whether tokens contain it
}

// Timezone is the column timezone.
func Timezone() Column {
	return Column{"timezone", func(c *Company) any { return &c.Timezone }, true}
}

// Currency is the column currency.
func Currency() Column {
	return Column{"currency", func(c *Company) any { return &c.Currency }, true}
}

// UniqueEmails is the column unique_emails.
func UniqueEmails() Column {
	return Column{"unique_emails", func(c *Company) any { return &c.UniqueEmails }, false}
}

// ClockOffset is the column clock_offset_seconds.
func ClockOffset() Column {
	return Column{"clock_offset_seconds", func(c *Company) any { return &c.ClockOffset }, true}
}

// statements are the SQL statements of a copy.
type statements struct {
	columns    []Column
	read, keep string
}

func statementsOf(columns []Column) statements {
	s := statements{columns: append([]Column{
		{"company_id", func(c *Company) any { return &c.ID }, true},
		{"version", func(c *Company) any { return &c.Version }, true},
	}, columns...)}
	names, values, changes := make([]string, len(s.columns)), make([]string, len(s.columns)), make([]string, len(s.columns))
	for i, column := range s.columns {
		names[i], values[i] = column.name, "$"+strconv.Itoa(i+1)
		changes[i] = column.name + " = excluded." + column.name
	}
	list := strings.Join(names, ", ")
	s.read = "select " + list + " from companies where company_id = $1"
	// An older version changes nothing, so events can arrive in any order.
	s.keep = "insert into companies as c (" + list + ") values (" + strings.Join(values, ", ") + ")" +
		" on conflict (company_id) do update set " + strings.Join(changes[1:], ", ") + " where c.version < excluded.version"
	return s
}

// areClaims reports whether tokens contain the facts of all columns.
func areClaims(columns []Column) bool {
	return !slices.ContainsFunc(columns, func(c Column) bool { return !c.isClaim })
}

// fields returns pointers to the fields of a company, in the order of the columns.
func (s statements) fields(c *Company) []any {
	out := make([]any, len(s.columns))
	for i, column := range s.columns {
		out[i] = column.field(c)
	}
	return out
}

// Keep stores companies in the copy, unless the copy is newer. It locks the rows in the order of
// their identifiers, so that concurrent transactions do not deadlock.
func (c *Companies) Keep(ctx context.Context, tx *pg.Tx, companies []Company) error {
	newest := map[id.Company]Company{}
	for _, company := range companies {
		newest[company.ID] = company.Newest(newest[company.ID])
	}
	sorted := make([]Company, 0, len(newest))
	for _, company := range newest {
		sorted = append(sorted, company)
	}
	slices.SortFunc(sorted, func(a, b Company) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	queries := make([]pg.Query, len(sorted))
	for i := range sorted {
		queries[i] = pg.Query{SQL: c.sql.keep, Args: c.sql.fields(&sorted[i])}
	}
	return tx.Pipeline(ctx, queries...)
}
