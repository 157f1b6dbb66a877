package store

import (
	"bytes"
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

const (
	creditChangeColumns = `company_id, booking_id, id, state, target, transaction_id, event_type, day, credits_before, credits`

	// A job that takes over a change skips locked ones, so a move that has locked a change can complete it.
	lockCreditChangesSQL = `select ` + creditChangeColumns + ` from credit_changes
		where company_id = $1 and booking_id` + pg.AmongIDs + ` order by booking_id for no key update`

	insertCreditChangeSQL = `insert into credit_changes (` + creditChangeColumns + `, due_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`

	takenSQL = `delete from credit_changes where company_id = $1 and booking_id = $2 and id = $3 and state = 'taking'`

	undoCreditChangeSQL = `update credit_changes set state = 'undoing', due_at = $4
		where company_id = $1 and booking_id = $2 and id = $3 and state = 'taking'`

	endCreditChangeSQL = `delete from credit_changes where company_id = $1 and booking_id = $2 and id = $3 and state <> 'taking'`

	renewCreditChangeSQL = `update credit_changes set id = $4, credits_before = $5
		where company_id = $1 and booking_id = $2 and id = $3 and state = 'settling'`

	// A company with many due changes leaves turns to others: a batch takes the first of each company before the
	// second of any. Only the oldest due changes are compared. A change that fails is claimed again after a delay.
	ClaimCreditChangesSQL = `update credit_changes c set due_at = $2, state = case c.state when 'taking' then 'undoing' else c.state end
		from (select l.company_id, l.booking_id from credit_changes l join (
				select company_id, booking_id, row_number() over (partition by company_id order by due_at) as turn, due_at
				from (select company_id, booking_id, due_at from credit_changes where due_at <= $1 order by due_at limit $4) oldest
				order by turn, due_at limit $3) n on n.company_id = l.company_id and n.booking_id = l.booking_id
			where l.due_at <= $1 for no key update of l skip locked) due
		where c.company_id = due.company_id and c.booking_id = due.booking_id
		returning c.company_id, c.booking_id, c.id, c.state, c.target, c.transaction_id, c.event_type, c.day, c.credits_before, c.credits`
)

// StoredCreditChange is a change of credits that is not finished.
type StoredCreditChange struct {
	model.CreditChange // without its pass
	State              model.CreditChangeState
	Target             []byte    // digest of the request
	Due                time.Time // when a job continues it; not read
}

// Continues reports whether a request that needs the change wanted can continue this one.
func (c *StoredCreditChange) Continues(wanted model.CreditChange, target []byte) bool {
	wanted.ID, wanted.Pass = c.ID, c.Pass
	return c.State == model.CreditsTaking && c.CreditChange == wanted && bytes.Equal(c.Target, target)
}

func (c *StoredCreditChange) insert() pg.Query {
	return pg.Query{SQL: insertCreditChangeSQL, Args: []any{c.Company, c.Booking, c.ID, string(c.State), c.Target,
		c.Transaction, c.EventType, c.Day, c.Expected, c.Credits, c.Due}}
}

func scanCreditChanges(each func(*StoredCreditChange)) func(pgx.Rows) error {
	return pg.Each(func(rows pgx.Rows) error {
		var c StoredCreditChange
		err := rows.Scan(&c.Company, &c.Booking, &c.ID, &c.State, &c.Target, &c.Transaction, &c.EventType, &c.Day, &c.Expected, &c.Credits)
		each(&c)
		return err
	})
}

func lockCreditChanges(company id.Company, bookings []id.Booking, into map[id.Booking]*StoredCreditChange) pg.Query {
	return pg.Query{SQL: lockCreditChangesSQL, Args: []any{company, bookings},
		Scan: scanCreditChanges(func(c *StoredCreditChange) { into[c.Booking] = c })}
}

// BeginCreditChange stores that the credits of a change are being taken. If an earlier attempt of the same
// request has begun it, it sets the identifier of that change. It returns CHANGE_IN_PROGRESS if another change
// of the booking is not finished.
func (s *Store) BeginCreditChange(ctx context.Context, c *StoredCreditChange) error {
	own := c.ID
	return s.Write(ctx, c.Company, func(ctx context.Context, tx *pg.Tx) error {
		c.ID = own // the transaction may be a retry
		found := map[id.Booking]*StoredCreditChange{}
		err := tx.Pipeline(ctx, pg.Query{SQL: lockTransactionSQL, Args: []any{c.Company, c.Booking}},
			lockCreditChanges(c.Company, []id.Booking{c.Booking}, found))
		had := found[c.Booking]
		switch {
		case err != nil:
			return err
		case had == nil:
			return tx.Pipeline(ctx, c.insert())
		case had.Continues(c.CreditChange, c.Target):
			c.ID = had.ID
			return nil
		}
		return model.ChangeInProgress()
	})
}

// UndoCreditChange stores that the credits of a change are being returned, and that its move will not be
// committed. It reports whether the credits were being taken until then.
func (s *Store) UndoCreditChange(ctx context.Context, c model.CreditChange, due time.Time) (begun bool, err error) {
	err = s.Write(ctx, c.Company, func(ctx context.Context, tx *pg.Tx) error {
		tag, err := tx.Exec(ctx, undoCreditChangeSQL, c.Company, c.Booking, c.ID, due)
		begun = tag.RowsAffected() > 0
		return err
	})
	return begun, err
}

// RenewCreditChange replaces the identifier and the expected credits of a change that is settling. It returns
// CHANGE_IN_PROGRESS if the change has ended or was renewed by another process.
func (s *Store) RenewCreditChange(ctx context.Context, c, next model.CreditChange) error {
	return s.Write(ctx, c.Company, func(ctx context.Context, tx *pg.Tx) error {
		tag, err := tx.Exec(ctx, renewCreditChangeSQL, c.Company, c.Booking, c.ID, next.ID, next.Expected)
		if err == nil && tag.RowsAffected() == 0 {
			return model.ChangeInProgress()
		}
		return err
	})
}

// EndCreditChange removes a change that is undone or settled.
func (s *Store) EndCreditChange(ctx context.Context, c model.CreditChange) error {
	return s.Write(ctx, c.Company, func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, endCreditChangeSQL, c.Company, c.Booking, c.ID)
		return err
	})
}

// creditChangesCompared is the number of due changes among which a claim distributes turns.
const creditChangesCompared = 5000

// ClaimCreditChanges claims changes that are due. From then on, those whose credits were being taken are undone.
// Another process can claim them after until.
func (s *Store) ClaimCreditChanges(ctx context.Context, now, until time.Time, limit int) ([]*StoredCreditChange, error) {
	var due []*StoredCreditChange
	err := s.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		due = nil
		return tx.Pipeline(ctx, pg.Query{SQL: ClaimCreditChangesSQL, Args: []any{now, until, limit, creditChangesCompared},
			Scan: scanCreditChanges(func(c *StoredCreditChange) { due = append(due, c) })})
	})
	return due, s.Fault(err)
}
