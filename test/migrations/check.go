package migrations

import (
	"fmt"
	"regexp"
	"strings"
)

// Finding is a statement that would disturb the previous release or its users.
type Finding struct {
	File string
	Line int
	// Rule is the name of the violated rule, for use in an allowance.
	Rule    string
	Message string
}

// String formats a finding for people.
func (f Finding) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", f.File, f.Line, f.Rule, f.Message)
}

// rule is a form of statement that is not allowed on a table of an earlier migration.
type rule struct {
	name, message string
	// match finds the form in a statement with normalized names, spaces and case. Its first
	// group, if any, is the table.
	match *regexp.Regexp
	// unless matches statements that are allowed nevertheless.
	unless *regexp.Regexp
	// everywhere means that the rule applies to new tables too.
	everywhere bool
}

const table = `(?:if exists )?(?:only )?([a-z_][a-z0-9_.]*)`

// rules returns the rules in the order in which they are checked.
func rules() []rule {
	re := regexp.MustCompile
	alter := `^alter table ` + table + ` `
	return []rule{
		{name: "drop", message: "the previous release uses it: stop using it in one release, drop it in the next",
			match: re(`^drop (?:table|view|materialized view|sequence|type|function|schema) ` + table)},
		{name: "drop", message: "the previous release reads or writes the column", match: re(alter + `drop column\b`)},
		{name: "rename", message: "the previous release knows the former name", match: re(alter + `rename\b`)},
		{name: "column-type", message: "the table is rewritten, and the previous release sees another type", match: re(alter + `alter (?:column )?\S+ (?:set data )?type\b`)},
		{name: "not-null", message: "the previous release writes no value, and every row is read under an exclusive lock; add a check `not valid`, validate it, release, and then set it",
			match: re(alter + `alter (?:column )?\S+ set not null\b`)},
		{name: "no-default", message: "the previous release inserts rows without the column: give it a default, or let it be null",
			match: re(alter + `add column (?:if not exists )?\S+ .*\bnot null\b`), unless: re(`\bdefault\b|\bgenerated\b`)},
		{name: "drop-default", message: "the previous release relies on the default", match: re(alter + `alter (?:column )?\S+ drop default\b`)},
		{name: "rewrite", message: "every row is rewritten under an exclusive lock: add the column without it, and fill it in batches",
			match: re(alter + `add column (?:if not exists )?\S+ .*(?:generated always as \(|default (?:now|clock_timestamp|gen_random_uuid|random|nextval)\b|serial\b)`)},
		{name: "validate-apart", message: "every row is read under an exclusive lock: add it `not valid`, and validate it in a statement of its own",
			match: re(alter + `add constraint \S+ (?:check|foreign key)\b`), unless: re(`\bnot valid\b`)},
		{name: "unique", message: "the index is built under an exclusive lock: create it concurrently, and add the constraint `using index`",
			match: re(alter + `add constraint \S+ (?:unique|primary key|exclude)\b`), unless: re(`\busing index\b`)},
		{name: "index", message: "writers wait while the index is built: create it concurrently, in a file with `-- +goose NO TRANSACTION`",
			match: re(`^create (?:unique )?index (?:if not exists )?\S+ on ` + table)},
		{name: "index", message: "writers and readers wait: drop it concurrently", match: re(`^drop index (?:if exists )?([a-z_][a-z0-9_.]*)`)},
		{name: "trigger", message: "it acts on what the previous release writes", match: re(`^create (?:constraint )?(?:or replace )?trigger .* on ` + table)},
		{name: "backfill", message: "one statement locks every row that it changes until it ends: a job fills them in batches",
			match: re(`^(?:update|delete from) ` + table)},
		{name: "truncate", message: "it is not there any more to roll back to", match: re(`^truncate (?:table )?` + table)},
		{name: "lock", message: "everybody waits for it", match: re(`^(?:lock|cluster|reindex|vacuum full)\b`), everywhere: true},
		{name: "lock-timeout", message: "the limit of 5 s that migrate sets keeps a waiting migration from holding up the queries behind it",
			match: re(`^set (?:local |session )?(?:lock_timeout|statement_timeout)\b`), everywhere: true},
	}
}

var (
	created    = regexp.MustCompile(`^create (?:unlogged )?table (?:if not exists )?([a-z_][a-z0-9_.]*)`)
	concurrent = regexp.MustCompile(`^(?:create|drop) (?:unique )?index concurrently\b`)
	repeatable = regexp.MustCompile(`\bif (?:not )?exists\b|^create or replace\b|^(?:update|delete|insert|set)\b|validate constraint\b|^comment\b|^select\b`)
	// allowance excuses the next statement: -- allow backfill: a hundred rows
	allowance = regexp.MustCompile(`(?m)^\s*-- allow ([a-z-]+): \S`)
)

// Check returns the statements of a migration that would disturb the previous release or its
// users. Statements about tables that the file itself creates are allowed.
func Check(file, text string) []Finding {
	var found []Finding
	fresh := map[string]bool{}
	inTransaction := !strings.Contains(text, "-- +goose NO TRANSACTION")
	for _, s := range statements(text) {
		if m := created.FindStringSubmatch(s.sql); m != nil {
			fresh[m[1]] = true
		}
		add := func(rule, message string) {
			if !s.allows(rule) {
				found = append(found, Finding{File: file, Line: s.line, Rule: rule, Message: message})
			}
		}
		if concurrent.MatchString(s.sql) && inTransaction {
			add("transaction", "an index is not built concurrently within a transaction: `-- +goose NO TRANSACTION`")
		}
		if !inTransaction && !repeatable.MatchString(s.sql) {
			add("repeatable", "without a transaction a file that failed is run again from its start: `if not exists`, `if exists`")
		}
		for _, action := range s.actions() {
			if m := unconstrained.FindStringSubmatch(action); m != nil && !fresh[m[1]] && !strings.Contains(normal(text), "add constraint "+m[2]+" ") {
				add("drop-constraint", "the previous release may name it, in an `on conflict` or where it answers what it refuses")
			}
		}
		for _, r := range rules() {
			for _, action := range s.actions() {
				if r.breaks(action, fresh) {
					add(r.name, r.message)
				}
			}
		}
	}
	return found
}

func (r *rule) breaks(sql string, fresh map[string]bool) bool {
	m := r.match.FindStringSubmatch(sql)
	if m == nil || r.unless != nil && r.unless.MatchString(sql) || concurrent.MatchString(sql) {
		return false
	}
	return r.everywhere || !fresh[m[1]]
}

var unconstrained = regexp.MustCompile(`^alter table ` + table + ` drop constraint (?:if exists )?([a-z_][a-z0-9_]*)`)

var altered = regexp.MustCompile(`^(alter table ` + table + `) (.*)$`)

// actions returns the changes of an alter table, each as a separate statement. For any other
// statement it returns the statement.
func (s statement) actions() []string {
	m := altered.FindStringSubmatch(s.sql)
	if m == nil {
		return []string{s.sql}
	}
	var list []string
	depth, from := 0, 0
	for i, c := range m[3] + "," {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			list = append(list, m[1]+" "+strings.TrimSpace(m[3][from:i]))
			from = i + 1
		}
	}
	return list
}

// statement is one statement of a file.
type statement struct {
	sql  string // in lower case with single spaces, without comments and quoted text
	line int    // line of its first word, from 1
	// comments are the comments between this statement and the previous one.
	comments string
}

func (s statement) allows(rule string) bool {
	for _, m := range allowance.FindAllStringSubmatch(s.comments, -1) {
		if m[1] == rule {
			return true
		}
	}
	return false
}

// tokens matches everything that can contain a semicolon.
var tokens = regexp.MustCompile(`(?s)--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\$([a-z_]*)\$|;`)

// statements splits a file into statements. Quoted text except names becomes an empty literal.
func statements(text string) []statement {
	var list []statement
	var sql, comments strings.Builder
	line := 0
	at := 0
	note := func(upTo int) {
		piece := text[at:upTo]
		if line == 0 {
			if i := strings.IndexFunc(piece, func(r rune) bool { return !strings.ContainsRune(" \t\r\n", r) }); i >= 0 {
				line = 1 + strings.Count(text[:at+i], "\n")
			}
		}
		sql.WriteString(piece)
	}
	for at < len(text) {
		m := tokens.FindStringSubmatchIndex(text[at:])
		if m == nil {
			note(len(text))
			break
		}
		from, to := at+m[0], at+m[1]
		note(from)
		at = to
		switch token := text[from:to]; {
		case strings.HasPrefix(token, "--"):
			comments.WriteString(token + "\n")
		case token == ";":
			list = append(list, statement{sql: normal(sql.String()), line: line, comments: comments.String()})
			sql.Reset()
			comments.Reset()
			line = 0
		case strings.HasPrefix(token, "$"):
			if end := strings.Index(text[to:], token); end >= 0 {
				at = to + end + len(token)
			}
			sql.WriteString("''")
		case strings.HasPrefix(token, "'"):
			sql.WriteString("''")
		}
	}
	if last := normal(sql.String()); last != "" {
		list = append(list, statement{sql: last, line: line, comments: comments.String()})
	}
	return list
}

func normal(sql string) string {
	return strings.Join(strings.Fields(strings.ToLower(strings.ReplaceAll(sql, `"`, ""))), " ")
}
