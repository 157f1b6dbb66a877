package pg

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"reservation.dev/platform/id"
	"reservation.dev/platform/origin"
)

// Scope is the company whose rows a statement can read and write. The zero Scope sees
// nothing.
type Scope struct {
	setting string // the value of app.company_id
	lookup  bool   // see Lookup
}

// For confines statements to one company. The zero company sees nothing. While the company moves to another
// installation, its first statement fails (package documentation, Moves).
func For(company id.Company) Scope {
	if company.IsZero() {
		return Scope{}
	}
	return Scope{setting: uuid.UUID(company).String()}
}

// allCompanies is the setting of AllCompanies.
const allCompanies = "*"

// AllCompanies lets statements read and write every company's rows, except those of a company that moves. It is
// for background jobs, never for a caller's request.
func AllCompanies() Scope { return Scope{setting: allCompanies} }

// Lookup is AllCompanies for queries that find out which company an identifier belongs to, such as that of a
// credential. It also sees companies that leave for another installation, so that the caller does not take what
// belongs to them for unknown.
func Lookup() Scope { return Scope{setting: allCompanies, lookup: true} }

// The first statements of a transaction, of a pipelined read and of a stream; $1 is the setting. A transaction
// begins with a cached statement too, because the server parses any other text each time.
//
// A read is repeated if its connection was lost. So it must not write, and a setting makes the server refuse a
// statement that does. A stream also lifts the statement timeout, which would otherwise count the time that the
// reader of the stream takes.
//
// app_enter is set_config, and refuses a company that moves.
const (
	beginSQL  = `begin`
	commitSQL = `commit`

	scopeSQL    = `select set_config('app.company_id', $1, true)`
	enterSQL    = `select app_enter($1)`
	readOnly    = `, set_config('transaction_read_only', 'on', true)`
	noTimeout   = `, set_config('statement_timeout', '0', true)`
	readSQL     = scopeSQL + readOnly
	enterRead   = enterSQL + readOnly
	streamSQL   = readSQL + noTimeout
	enterStream = enterRead + noTimeout

	ofEvents = `select set_config('app.origin', 'event', true), `
	ofLookup = `select set_config('app.origin', 'lookup', true), `
)

// first returns the first statement of ctx's work under s: ofAll, or ofCompany if s is a company.
func (s Scope) first(ctx context.Context, ofAll, ofCompany string) string {
	sql := ofAll
	if s.setting != "" && s.setting != allCompanies {
		sql = ofCompany
	}
	switch {
	case s.lookup:
		return ofLookup + strings.TrimPrefix(sql, "select ")
	case origin.IsEvent(ctx):
		return ofEvents + strings.TrimPrefix(sql, "select ")
	}
	return sql
}
