package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

const (
	discountColumns = `id, code, basis_points, amount, coalesce(currency, ''), valid_from, valid_until, max_uses, uses, disabled,
		event_ids, version, created_at, updated_at`

	lockCodesSQL = `select ` + discountColumns + ` from discount_codes
		where company_id = $1 and lower(code) = any($2) order by id for no key update`

	// A CHECK of the table repeats the decision made under the lock.
	countUsesSQL = `update discount_codes c set uses = c.uses + n.uses from unnest($2::uuid[], $3::integer[]) n(id, uses)
		where c.company_id = $1 and c.id = n.id`
)

const (
	insertDiscountSQL = `insert into discount_codes (company_id, id, code, basis_points, amount, currency, valid_from, valid_until,
			max_uses, event_ids, created_at, updated_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11)`

	saveDiscountSQL = `update discount_codes set valid_from = $3, valid_until = $4, max_uses = $5, disabled = $6, version = $7, updated_at = $8,
			event_ids = $9
		where company_id = $1 and id = $2`

	existingEventsSQL = `select id from events where company_id = $1 and id = any($2) and deleted_at is null`

	discountByIDSQL   = `select ` + discountColumns + ` from discount_codes where company_id = $1 and id = $2`
	discountByCodeSQL = `select ` + discountColumns + ` from discount_codes where company_id = $1 and lower(code) = lower($2)`
	discountsSQL      = `select ` + discountColumns + ` from discount_codes where company_id = $1`
	countDiscountsSQL = `select count(*) from discount_codes where company_id = $1`
)

func scanDiscount(rows pgx.Rows, c *model.DiscountCode) error {
	return rows.Scan(&c.ID, &c.Code, &c.BasisPoints, &c.Amount, &c.Currency, &c.ValidFrom, &c.ValidUntil, &c.MaxUses, &c.Uses,
		&c.Disabled, &c.Events, &c.Version, &c.CreatedAt, &c.UpdatedAt)
}

func scanDiscounts(into *[]model.DiscountCode) func(pgx.Rows) error {
	return pg.Each(func(rows pgx.Rows) error {
		var c model.DiscountCode
		err := scanDiscount(rows, &c)
		*into = append(*into, c)
		return err
	})
}

// InsertDiscount stores a new code. Its events must be the company's.
func (s *Store) InsertDiscount(ctx context.Context, tx *pg.Tx, company id.Company, c *model.DiscountCode) error {
	_, err := tx.Exec(ctx, insertDiscountSQL, company, c.ID, c.Code, c.BasisPoints, c.Amount, orNull(c.Currency),
		c.ValidFrom, c.ValidUntil, c.MaxUses, c.Events, c.CreatedAt)
	return err
}

// ExistingEvents returns the events that exist.
func (s *Store) ExistingEvents(ctx context.Context, tx *pg.Tx, company id.Company, events []id.Event) (found []id.Event, err error) {
	if len(events) == 0 {
		return nil, nil
	}
	err = tx.Pipeline(ctx, pg.Query{SQL: existingEventsSQL, Args: []any{company, events}, Scan: pg.Collect(&found)})
	return found, err
}

// Discount reads a code by its identifier.
func (s *Store) Discount(ctx context.Context, company id.Company, which id.DiscountCode) (*model.DiscountCode, error) {
	return s.readDiscount(ctx, company, discountByIDSQL, which)
}

// DiscountByCode reads a code by its text.
func (s *Store) DiscountByCode(ctx context.Context, company id.Company, code string) (*model.DiscountCode, error) {
	return s.readDiscount(ctx, company, discountByCodeSQL, code)
}

func (s *Store) readDiscount(ctx context.Context, company id.Company, sql string, which any) (*model.DiscountCode, error) {
	var found []model.DiscountCode
	err := s.ReadOf(ctx, company, pg.Query{SQL: sql, Args: []any{company, which}, Scan: scanDiscounts(&found)})
	return onlyDiscount(found, err)
}

// LockDiscount reads a code for a change in tx.
func (s *Store) LockDiscount(ctx context.Context, tx *pg.Tx, company id.Company, which id.DiscountCode) (*model.DiscountCode, error) {
	var found []model.DiscountCode
	err := tx.Pipeline(ctx, pg.Query{SQL: discountByIDSQL + ` for no key update`, Args: []any{company, which}, Scan: scanDiscounts(&found)})
	return onlyDiscount(found, err)
}

func onlyDiscount(found []model.DiscountCode, err error) (*model.DiscountCode, error) {
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, fault.Missing("discount code")
	}
	return &found[0], nil
}

// SaveDiscount stores the fields of a code that can change.
func (s *Store) SaveDiscount(ctx context.Context, tx *pg.Tx, company id.Company, c *model.DiscountCode) error {
	_, err := tx.Exec(ctx, saveDiscountSQL, company, c.ID, c.ValidFrom, c.ValidUntil, c.MaxUses, c.Disabled, c.Version, c.UpdatedAt, c.Events)
	return err
}

// DiscountQuery is the filter, the order and the page of a list of discount codes.
type DiscountQuery struct {
	Page  page.Page
	Since time.Time // zero: none
}

// statement returns the statement that begins with sql, for the codes that match q.
func (q *DiscountQuery) statement(company id.Company, sql string) pg.Statement {
	s := pg.Statement{SQL: sql, Args: []any{company}}
	if !q.Since.IsZero() {
		s.And("updated_at >= %s", q.Since)
	}
	return s
}

// Total returns the statement that counts the codes that match q.
func (q *DiscountQuery) Total(company id.Company) pg.Statement {
	return q.statement(company, countDiscountsSQL)
}

// List returns the statement that reads the page and one more code.
func (q *DiscountQuery) List(company id.Company) pg.Statement {
	s := q.statement(company, discountsSQL)
	q.Page.Add(&s)
	return s
}

// Next returns the cursor after a code.
func (q *DiscountQuery) Next(last *model.DiscountCode) page.Cursor {
	if q.Page.Order.Column == "" {
		return page.Cursor{ID: last.ID.UUID()}
	}
	return page.At(last.UpdatedAt, last.ID.UUID())
}

// Discounts reads a page of codes plus one more, and the total number of matches.
func (s *Store) Discounts(ctx context.Context, company id.Company, q *DiscountQuery) (codes []model.DiscountCode, total int64, err error) {
	list, count := q.List(company), q.Total(company)
	err = s.ReadOf(ctx, company, list.Query(scanDiscounts(&codes)), count.Query(pg.First(&total)))
	return codes, total, err
}
