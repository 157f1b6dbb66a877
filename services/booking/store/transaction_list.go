package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

const (
	confirmedSQL = ` from transactions t where t.company_id = $1 and t.status = 'confirmed'`

	// OFFSET 0 makes the planner find the transactions that the filters leave before it sorts them.
	filteredSQL = ` from (select t.id, t.purchased_at, t.updated_at` + confirmedSQL

	TransactionsSQL = `with page as materialized (select ` + purchaseColumns + confirmedSQL + ` and t.id` + pg.AmongIDs + `)` +
		selectBookings + inOrder

	PurchasersSQL = `select t.id, t.purchaser_id, coalesce(c.first_name, ''), coalesce(c.last_name, ''), coalesce(c.email, '')
		from (select t.id, t.purchaser_id` + confirmedSQL + ` and t.id` + pg.AmongIDs + ` offset 0) t
		left join lateral (select c.first_name, c.last_name, c.email from customers c
			where c.company_id = $1 and c.id = t.purchaser_id offset 0) c on true`
)

// CompanyQuery is the filters and the page of a list of a company's transactions.
type CompanyQuery struct {
	Page        page.Page
	Purchaser   *id.Customer // nil: of all purchasers
	Since       time.Time    // zero: none
	MostCounted int64        // the largest total
	// PurchasedFrom and PurchasedBefore bound the time of the purchase; zero: no bound.
	PurchasedFrom, PurchasedBefore time.Time
}

// ofPeriod reports whether the time of the purchase is bounded.
func (q *CompanyQuery) ofPeriod() bool {
	return !q.PurchasedFrom.IsZero() || !q.PurchasedBefore.IsZero()
}

// andPeriod adds the bounds of the time of the purchase.
func (q *CompanyQuery) andPeriod(s *pg.Statement) {
	if !q.PurchasedFrom.IsZero() {
		s.And("t.purchased_at >= %s", q.PurchasedFrom)
	}
	if !q.PurchasedBefore.IsZero() {
		s.And("t.purchased_at < %s", q.PurchasedBefore)
	}
}

// from begins a statement on the transactions that match q.
func (q *CompanyQuery) from(company id.Company) pg.Statement {
	s := pg.Statement{SQL: confirmedSQL, Args: []any{company}}
	filtered := q.Purchaser != nil || !q.Since.IsZero() || q.ofPeriod()
	if filtered {
		s.SQL = filteredSQL
	}
	if q.Purchaser != nil {
		s.And("t.purchaser_id = %s", *q.Purchaser)
	}
	if !q.Since.IsZero() {
		s.And(changedAt+" >= %s", q.Since)
	}
	q.andPeriod(&s)
	if filtered {
		s.SQL += " offset 0) t where true"
	}
	return s
}

// Total returns the statement that counts the transactions that match q, up to the limit.
func (q *CompanyQuery) Total(company id.Company) pg.Statement {
	from := *q
	if q.Purchaser == nil && q.Since.IsZero() {
		from.PurchasedFrom, from.PurchasedBefore = time.Time{}, time.Time{} // conditions on the index that the count walks
	}
	s := from.from(company)
	switch {
	case from.ofPeriod() != q.ofPeriod():
		q.andPeriod(&s)
		s.SQL += byPurchaseSQL + " order by t.purchased_at, t.id"
	case q.Purchaser == nil && q.Since.IsZero():
		s.SQL += " order by t.id" // along the index that the list walks
	}
	s.SQL = "select count(*) from (select" + s.SQL + " limit " + s.Arg(q.MostCounted) + ") n"
	return s
}

// List returns the statement that reads the identifiers and changes of the page and of one more
// transaction.
func (q *CompanyQuery) List(company id.Company) pg.Statement {
	from := *q
	switch walks := q.Purchaser == nil; {
	case walks && q.Page.Order.Column == changedAt:
		from.Since = time.Time{} // a condition on the index that the page walks
	case walks && q.Page.Order.Column == purchasedAt && q.Since.IsZero():
		return q.listPurchased(company)
	}
	s := from.from(company)
	if from.Since != q.Since {
		s.And(changedAt+" >= %s", q.Since)
	}
	s.SQL = "select t.id, " + changedAt + ", t.purchased_at" + s.SQL
	addPage(&s, q.Page)
	return s
}

// listPurchased is List along the index of the times of purchases. The index is searched from one lower bound:
// that of the page, or of the period on its first page.
func (q *CompanyQuery) listPurchased(company id.Company) pg.Statement {
	p := q.Page
	if p.After == nil || p.After.Time().Before(q.PurchasedFrom) {
		p.After = new(page.At(q.PurchasedFrom, id.UUID{}))
	}
	s := pg.Statement{SQL: "select t.id, " + changedAt + ", t.purchased_at" + confirmedSQL + byPurchaseSQL, Args: []any{company}}
	if !q.PurchasedBefore.IsZero() {
		s.And("t.purchased_at < %s", q.PurchasedBefore)
	}
	addPage(&s, p)
	return s
}

// TransactionsByCreation sorts transactions by the creation of the purchase or hold.
func TransactionsByCreation() page.Order { return page.Order{Code: 32, ID: "t.id"} }

// TransactionsByCreationDesc sorts transactions by creation, newest first.
func TransactionsByCreationDesc() page.Order { return page.Order{Code: 33, ID: "t.id", Desc: true} }

// TransactionsByChange sorts transactions by their last change.
func TransactionsByChange() page.Order { return page.Order{Code: 34, Column: changedAt, ID: "t.id"} }

// TransactionsByChangeDesc sorts transactions by their last change, latest first.
func TransactionsByChangeDesc() page.Order {
	return page.Order{Code: 35, Column: changedAt, ID: "t.id", Desc: true}
}

// TransactionsByPurchase sorts transactions by the time of the purchase.
func TransactionsByPurchase() page.Order {
	return page.Order{Code: 36, Column: purchasedAt, ID: "t.id"}
}

// purchasedAt is the column of the time of a purchase.
const purchasedAt = "t.purchased_at"

// byPurchaseSQL is a condition that is always true. Only statements that have it use the index of the times of
// purchases, and no others, even if there are no statistics yet.
const byPurchaseSQL = " and (case when t.timezone is null then t.source else t.timezone end) is not null"

// ListedTransaction is a transaction of a list.
type ListedTransaction struct {
	ID          id.Transaction
	ChangedAt   time.Time
	PurchasedAt time.Time
}

// Cursor returns the cursor of the transaction in an order.
func (t *ListedTransaction) Cursor(o page.Order) page.Cursor {
	if o.Column == purchasedAt {
		return page.At(t.PurchasedAt, t.ID.UUID())
	}
	return cursorOf(o, t.ID.UUID(), t.ChangedAt)
}

// CompanyTransactionIDs reads a page, plus one more transaction if there is another page, and the total
// number of matches.
func (s *Store) CompanyTransactionIDs(ctx context.Context, company id.Company, q *CompanyQuery) (page []ListedTransaction, total int64, err error) {
	list, matching := q.List(company), q.Total(company)
	err = s.ReadOf(ctx, company,
		pg.Query{SQL: list.SQL, Args: list.Args, Scan: pg.Each(func(rows pgx.Rows) error {
			var t ListedTransaction
			err := rows.Scan(&t.ID, &t.ChangedAt, &t.PurchasedAt)
			page = append(page, t)
			return err
		})},
		pg.Query{SQL: matching.SQL, Args: matching.Args, Scan: pg.First(&total)})
	return page, total, err
}

// CompanyTransactions reads confirmed transactions in the order of ids. It omits transactions that do
// not exist.
func (s *Store) CompanyTransactions(ctx context.Context, company id.Company, ids []id.Transaction) ([]model.Transaction, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var l Listing
	purchasers := make(map[id.Transaction]model.Customer, len(ids))
	err := s.ReadOf(ctx, company,
		pg.Query{SQL: TransactionsSQL, Args: []any{company, ids}, Scan: l.scanTransactions},
		pg.Query{SQL: PurchasersSQL, Args: []any{company, ids}, Scan: pg.Each(func(rows pgx.Rows) error {
			var t id.Transaction
			var c model.Customer
			err := rows.Scan(&t, &c.ID, &c.FirstName, &c.LastName, &c.Email)
			purchasers[t] = c
			return err
		})})
	if err != nil {
		return nil, err
	}
	found := make(map[id.Transaction]model.Transaction, len(ids))
	for _, t := range l.Transactions {
		t.Purchaser = purchasers[t.ID]
		found[t.ID] = t
	}
	list := make([]model.Transaction, 0, len(ids))
	for _, which := range ids {
		if t, ok := found[which]; ok {
			list = append(list, t)
		}
	}
	return list, nil
}
