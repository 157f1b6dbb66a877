package pass

import (
	"context"
	"encoding/binary"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
)

// companyLedgerSQL reads entries of all passes. The pass of an entry is looked up for the entries of the page alone.
const companyLedgerSQL = `select e.*, p.customer_id, p.title from (
		select customer_pass_id, ` + ledgerColumns + ` from ledger_entries where company_id = $1`

const passesOfEntriesSQL = `) e cross join lateral (select p.customer_id,
		(select t.title from pass_types t where t.company_id = $1 and t.id = p.pass_type_id) as title
		from customer_passes p where p.company_id = $1 and p.id = e.customer_pass_id offset 0) p
	order by e.created_at, e.customer_pass_id, e.sequence`

// companyLedger is the filters and the page of a list of the entries of all passes, in the order of their time.
type companyLedger struct {
	page         page.Page // only its size
	after        *position // nil: at the start of the list
	from, before time.Time // zero: none
	mostCounted  int64     // the largest total
}

// position is the place of an entry in the list. Entries of one commit have the same time.
type position struct {
	at       time.Time
	pass     id.UUID
	sequence int64
}

// companyEntry is an entry of the list.
type companyEntry struct {
	LedgerEntry
	Pass     id.CustomerPass `db:"customer_pass_id"`
	Customer id.Customer     `db:"customer_id"`
	Title    string          `db:"title"`
}

func (e companyEntry) position() position {
	return position{at: e.CreatedAt, pass: e.Pass.UUID(), sequence: e.Sequence}
}

// token returns the token of the page after the position.
func (p position) token() string {
	c := page.At(p.at, p.pass)
	c.Code = ledgerOrderOfCompany
	binary.BigEndian.PutUint64(c.Within[8:], uint64(p.sequence))
	return c.Token()
}

// decodePosition reads a page token.
func decodePosition(token string) (*position, error) {
	c, err := page.Decode(token)
	if err != nil {
		return nil, err
	}
	sequence := int64(binary.BigEndian.Uint64(c.Within[8:]))
	if c.Code != ledgerOrderOfCompany || sequence < 1 || binary.BigEndian.Uint64(c.Within[:8]) != 0 {
		return nil, fault.InvalidParameter("page_token", "order", "belongs to another list or order; start again from the first page")
	}
	return &position{at: c.Time(), pass: c.ID, sequence: sequence}, nil
}

// list returns the statement that reads the page and one entry more. The index is searched from one lower bound:
// that of the page, or of the filter on its first page.
func (q companyLedger) list(company id.Company) *pg.Statement {
	after := position{at: q.from}
	if q.after != nil && !q.after.at.Before(q.from) {
		after = *q.after
	}
	s := &pg.Statement{SQL: companyLedgerSQL, Args: []any{company}}
	s.And("(created_at, customer_pass_id, sequence) > (%s, %s, %s)", after.at, [16]byte(after.pass), after.sequence)
	q.andBefore(s)
	s.SQL += " order by created_at, customer_pass_id, sequence limit " + s.Arg(q.page.Size+1) + passesOfEntriesSQL
	return s
}

// total returns the statement that counts the entries that match, up to the limit.
func (q companyLedger) total(company id.Company) *pg.Statement {
	s := &pg.Statement{SQL: "select count(*) from (select from ledger_entries where company_id = $1", Args: []any{company}}
	s.And("created_at >= %s", q.from)
	q.andBefore(s)
	s.SQL += " order by created_at limit " + s.Arg(q.mostCounted) + ") few"
	return s
}

func (q companyLedger) andBefore(s *pg.Statement) {
	if !q.before.IsZero() {
		s.And("created_at < %s", q.before)
	}
}

// companyLedger returns a page of the entries of all passes, and one entry more if there is one, and the number of
// matches.
func (s *store) companyLedger(ctx context.Context, company id.Company, q companyLedger) (entries []companyEntry, total int64, err error) {
	err = s.ReadOf(ctx, company, q.list(company).Query(pg.Collect(&entries)), q.total(company).Query(pg.First(&total)))
	return entries, total, err
}
