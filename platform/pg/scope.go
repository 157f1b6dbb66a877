package pg

import (
	"github.com/google/uuid"

	"reservation.dev/platform/id"
)

// Scope is the company whose rows a statement can read and write. The zero Scope sees
// nothing.
type Scope struct {
	setting string // the value of app.company_id
}

// For confines statements to one company. The zero company sees nothing.
func For(company id.Company) Scope {
	if company.IsZero() {
		return Scope{}
	}
	return Scope{setting: uuid.UUID(company).String()}
}

// AllCompanies lets statements read and write every company's rows. It is for background
// jobs, never for a caller's request.
func AllCompanies() Scope { return Scope{setting: "*"} }

// scopeSQL is the first statement of a transaction; $1 is the setting. The transaction begins with a
// cached statement too, because the server parses any other text each time.
const (
	beginSQL  = `begin`
	scopeSQL  = `select set_config('app.company_id', $1, true)`
	commitSQL = `commit`
)

// readSQL is the first statement of a pipelined read; $1 is the setting. A read is repeated
// if its connection was lost. So it must not write, and this setting makes the server
// refuse a statement that does.
const readSQL = `select set_config('app.company_id', $1, true), set_config('transaction_read_only', 'on', true)`

// streamSQL also lifts the statement timeout, which would otherwise count the
// time that the reader of the stream takes.
const streamSQL = `select set_config('app.company_id', $1, true), set_config('transaction_read_only', 'on', true),
	set_config('statement_timeout', '0', true)`
