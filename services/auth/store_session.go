package auth

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

const sessionColumns = `company_id, id, administrator_id, token_hash, address, user_agent, created_at, last_used_at, expires_at`

const (
	// Three queries in one round trip. The company is not known from a session's token.
	sessionByTokenSQL = `select ` + sessionColumns + ` from sessions where token_hash = $1`

	administratorOfTokenSQL = `select ` + administratorColumns + ` from administrators
		where (company_id, id) = (select company_id, administrator_id from sessions where token_hash = $1)`

	companyOfTokenSQL = `select ` + companyColumns + ` from companies
		where company_id = (select company_id from sessions where token_hash = $1)`

	sessionSQL = `select ` + sessionColumns + ` from sessions where company_id = $1 and id = $2`

	sessionsSQL = `select ` + sessionColumns + ` from sessions
		where company_id = $1 and administrator_id = $2 and expires_at > $3 and last_used_at > $4
		order by last_used_at desc, id desc`

	insertSessionSQL = `insert into sessions (` + sessionColumns + `) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`

	touchSessionSQL = `update sessions set last_used_at = $3 where company_id = $1 and id = $2 and last_used_at < $3`

	deleteSessionSQL = `delete from sessions where company_id = $1 and id = $2`

	deleteSessionsSQL = `delete from sessions where company_id = $1 and administrator_id = $2 and id <> $3`
)

func (s *store) sessionByToken(ctx context.Context, hash []byte) (in signedIn, err error) {
	err = s.DB.Read(ctx, pg.Lookup(),
		pg.Query{SQL: sessionByTokenSQL, Args: []any{hash}, Scan: func(rows pgx.Rows) (err error) {
			in.session, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Session])
			return err
		}},
		pg.Query{SQL: administratorOfTokenSQL, Args: []any{hash}, Scan: func(rows pgx.Rows) (err error) {
			in.administrator, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Administrator])
			return err
		}},
		pg.Query{SQL: companyOfTokenSQL, Args: []any{hash}, Scan: func(rows pgx.Rows) (err error) {
			in.company, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Company])
			return err
		}})
	return in, pg.Missing(s.Fault(err), "session")
}

func (s *store) session(ctx context.Context, company id.Company, session id.Session) (Session, error) {
	return one[Session](ctx, s, pg.For(company), "session", sessionSQL, company, session)
}

// sessions returns the live sessions of an administrator: not expired at now, and used after
// idleSince.
func (s *store) sessions(ctx context.Context, company id.Company, a id.Administrator, now, idleSince time.Time) ([]Session, error) {
	return all[Session](ctx, s, pg.For(company), sessionsSQL, company, a, now, idleSince)
}

func (s *store) insertSession(ctx context.Context, tx *pg.Tx, n Session) error {
	_, err := tx.Exec(ctx, insertSessionSQL, n.Company, n.ID, n.Administrator, n.TokenHash, n.Address, n.UserAgent, n.CreatedAt, n.LastUsedAt, n.ExpiresAt)
	return err
}

// touchSession records when a session was used, to the minute.
func (s *store) touchSession(ctx context.Context, n Session, at time.Time) error {
	minute := at.Truncate(time.Minute)
	if !n.LastUsedAt.Before(minute) {
		return nil
	}
	return s.Write(ctx, n.Company, func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, touchSessionSQL, n.Company, n.ID, minute)
		return err
	})
}

// deleteSession deletes a session and reports whether it existed.
func (s *store) deleteSession(ctx context.Context, tx *pg.Tx, company id.Company, session id.Session) (bool, error) {
	tag, err := tx.Exec(ctx, deleteSessionSQL, company, session)
	return tag.RowsAffected() > 0, err
}

// deleteSessions deletes the sessions and pending sign-ins of an administrator, except one session,
// and returns how many sessions it deleted. The zero session keeps none.
func (s *store) deleteSessions(ctx context.Context, tx *pg.Tx, now time.Time, company id.Company, a id.Administrator, except id.Session) (int64, error) {
	if err := s.abandonAll(ctx, tx, now, company, a); err != nil {
		return 0, err
	}
	tag, err := tx.Exec(ctx, deleteSessionsSQL, company, a, [16]byte(except))
	return tag.RowsAffected(), err
}

const pruneSessionsSQL = `delete from sessions where last_used_at <= $1 or expires_at <= $2`

func (s *store) pruneSessions(ctx context.Context, tx *pg.Tx, usedBefore, expiredBefore time.Time) error {
	_, err := tx.Exec(ctx, pruneSessionsSQL, usedBefore, expiredBefore)
	return err
}
