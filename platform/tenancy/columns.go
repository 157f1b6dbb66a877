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
	name  string
	field func(*Company) any
	// isClaim is whether tokens contain it, or only callers of Kept need it.
	isClaim bool
	// missing is the condition for rows of an earlier release, which did not have the column; "": none.
	missing string
}

// Timezone is the column timezone.
func Timezone() Column {
	return Column{name: "timezone", field: func(c *Company) any { return &c.Timezone }, isClaim: true}
}

// Currency is the column currency.
func Currency() Column {
	return Column{name: "currency", field: func(c *Company) any { return &c.Currency }, isClaim: true}
}

// UniqueEmails is the column unique_emails.
func UniqueEmails() Column {
	return Column{name: "unique_emails", field: func(c *Company) any { return &c.UniqueEmails }}
}

// OptionalEmails is the column optional_emails.
func OptionalEmails() Column {
	return Column{
		name: "optional_emails", field: func(c *Company) any { return &c.OptionalEmails },
		missing: "c.optional_emails <> excluded.optional_emails",
	}
}

// ClockOffset is the column clock_offset_seconds.
func ClockOffset() Column {
	return Column{name: "clock_offset_seconds", field: func(c *Company) any { return &c.ClockOffset }, isClaim: true}
}

// Name is the column name. Tokens do not contain it: only Kept returns it.
func Name() Column {
	return Column{name: "name", field: func(c *Company) any { return &c.Name }, isClaim: true, missing: "c.name = ''"}
}

// statements are the SQL statements of a copy.
type statements struct {
	columns    []Column
	read, keep string
}

func statementsOf(columns []Column) statements {
	s := statements{columns: append([]Column{
		{name: "company_id", field: func(c *Company) any { return &c.ID }, isClaim: true},
		{name: "version", field: func(c *Company) any { return &c.Version }, isClaim: true},
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
	for _, column := range s.columns {
		if column.missing != "" {
			s.keep += " or c.version = excluded.version and " + column.missing
		}
	}
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
