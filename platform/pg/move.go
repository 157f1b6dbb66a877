package pg

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
)

// MoveState is the state of a company that moves between installations. Migration 0005 describes the states.
type MoveState string

// The states of a company in one database.
const (
	Arriving MoveState = "arriving"
	Leaving  MoveState = "leaving"
	Left     MoveState = "left"
)

// Move is the mark of a company that moves.
type Move struct {
	State       MoveState
	EffectiveAt time.Time // at the database's clock
	OtherCell   string
}

const (
	// markMargin is how long after its commit a mark counts, so that every transaction for which it
	// counts sees it.
	markMargin   = 300 * time.Millisecond
	markAttempts = 5

	// announceSQL stores a mark that does not count yet.
	announceSQL = `insert into company_moves (company, state, effective_at, other_cell) values ($1, $2, 'infinity', $3)
		on conflict (company) do nothing`

	setMoveCheckSQL = `select app_set_move_check()`

	// effectSQL sets the state. A mark that counts already keeps counting. One of a company that comes back keeps the
	// cell that the company had left for.
	effectSQL = `update company_moves m set state = $2, other_cell = $4,
			left_for = case when $2 <> 'arriving' then null when before.state = 'left' then before.other_cell else before.left_for end,
			effective_at = case when m.effective_at <= clock_timestamp() then m.effective_at else clock_timestamp() + make_interval(secs => $3) end
		from company_moves before where m.company = $1 and before.company = $1
		returning m.effective_at, before.effective_at = m.effective_at`

	isEarlySQL = `select clock_timestamp() < $1`

	moveSQL = `select state, effective_at, other_cell from company_moves where company = $1`

	// leftSQL changes only marks of a company that leaves for the other cell.
	leftSQL = `update company_moves set state = 'left' where company = any ($1) and state = 'leaving' and other_cell = $2`

	// leftAgainSQL restores the mark of a company that had left before it began to arrive, from the same time on.
	leftAgainSQL = `update company_moves set state = 'left', other_cell = left_for, left_for = null
		where company = $1 and state = 'arriving' and left_for is not null`

	unmarkSQL = `delete from company_moves where company = $1 and state = $2`

	// olderSQL counts the transactions that began before a mark counted.
	olderSQL = `select count(*) from pg_stat_activity
		where datname = current_database() and backend_type = 'client backend' and xact_start < $1 and pid <> pg_backend_pid()`

	// pastSQL allows for a busy server: a transaction gets its time a moment before others see it.
	pastSQL = `select clock_timestamp() > $1::timestamptz + interval '100 milliseconds'`
)

// MoveOf returns the mark of a company. It is nil if the company does not move.
func MoveOf(ctx context.Context, c *pgx.Conn, company id.Company) (*Move, error) {
	var m Move
	err := c.QueryRow(ctx, moveSQL, uuid.UUID(company)).Scan(&m.State, &m.EffectiveAt, &m.OtherCell)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return &m, err
}

// MarkMove sets the state of a company that moves. c must belong to the owner of the tables. The mark counts for
// transactions that begin a moment later (see AwaitMove), unless the company has a mark already.
func MarkMove(ctx context.Context, c *pgx.Conn, company id.Company, state MoveState, otherCell string) (*Move, error) {
	key := uuid.UUID(company)
	err := pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, announceSQL, key, state, otherCell); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, setMoveCheckSQL)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("mark: %w", err)
	}
	for range markAttempts {
		m := &Move{State: state, OtherCell: otherCell}
		var counts, early bool
		err := c.QueryRow(ctx, effectSQL, key, state, markMargin.Seconds(), otherCell).Scan(&m.EffectiveAt, &counts)
		if err != nil {
			return nil, fmt.Errorf("mark: %w", err)
		}
		if counts {
			return m, nil
		}
		if err := c.QueryRow(ctx, isEarlySQL, m.EffectiveAt).Scan(&early); err != nil {
			return nil, fmt.Errorf("mark: %w", err)
		}
		if early {
			return m, nil
		}
	}
	return nil, errors.New("mark: the database is too slow to commit a mark before it counts")
}

// AwaitMove waits until every transaction for which a mark does not count has ended. c must see the activity of
// other roles.
func AwaitMove(ctx context.Context, c *pgx.Conn, m *Move) error {
	for {
		var past bool
		var older int64
		if err := c.QueryRow(ctx, pastSQL, m.EffectiveAt).Scan(&past); err != nil {
			return err
		}
		if past {
			if err := c.QueryRow(ctx, olderSQL, m.EffectiveAt).Scan(&older); err != nil {
				return err
			}
			if older == 0 {
				return nil
			}
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("%d transactions that began before the mark have not ended: %w", older, err)
		}
	}
}

// ErrNotLeaving is returned by LeaveMove if a company does not leave for the other cell.
var ErrNotLeaving = errors.New("the company does not leave for the other cell")

// LeaveMove changes the state of companies from Leaving to Left, all or none of them.
func LeaveMove(ctx context.Context, c *pgx.Conn, otherCell string, companies ...id.Company) error {
	keys := make([]uuid.UUID, len(companies))
	for i, company := range companies {
		keys[i] = uuid.UUID(company)
	}
	return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, leftSQL, keys, otherCell)
		if err == nil && tag.RowsAffected() != int64(len(companies)) {
			err = ErrNotLeaving
		}
		return err
	})
}

// AbortArrival ends the arrival of a company that stays in the other cell. If the company had a mark that it has left
// this cell, it has that mark again; otherwise it has none.
func AbortArrival(ctx context.Context, c *pgx.Conn, company id.Company) error {
	if _, err := c.Exec(ctx, leftAgainSQL, uuid.UUID(company)); err != nil {
		return fmt.Errorf("unmark: %w", err)
	}
	return UnmarkMove(ctx, c, company, Arriving)
}

// UnmarkMove opens a company again that is in a state. It changes nothing if the company is in another state.
func UnmarkMove(ctx context.Context, c *pgx.Conn, company id.Company, state MoveState) error {
	return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, unmarkSQL, uuid.UUID(company), state); err != nil {
			return fmt.Errorf("unmark: %w", err)
		}
		_, err := tx.Exec(ctx, setMoveCheckSQL)
		return err
	})
}
