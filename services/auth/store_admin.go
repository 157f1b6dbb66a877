package auth

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

const administratorColumns = `company_id, id, name, email, role, password_hash, password_changed_at, totp_secret, totp_confirmed_at,
	totp_step, recovery_codes, generation, revoked_at, disabled_at, last_signed_in_at, version, created_at, updated_at,
	notices, devices_since`

const (
	// Who signs in has no company yet.
	administratorByEmailSQL = `select ` + administratorColumns + ` from administrators where email_key = $1`

	administratorSQL = `select ` + administratorColumns + ` from administrators where company_id = $1 and id = $2`

	lockAdministratorSQL = administratorSQL + ` for update`

	administratorsSQL = `select ` + administratorColumns + ` from administrators where company_id = $1 and id > $2 order by id limit $3`

	// The company's row is locked, so that no two owners go at once.
	otherOwnersSQL = `select exists (select from administrators
		where company_id = $1 and id <> $2 and role = 'owner' and disabled_at is null)`

	insertAdministratorSQL = `insert into administrators (` + administratorColumns + `, email_key)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)`

	updateAdministratorSQL = `update administrators set name = $3, role = $4, password_hash = $5, password_changed_at = $6,
		totp_secret = $7, totp_confirmed_at = $8, totp_step = $9, recovery_codes = $10, generation = $11, revoked_at = $12,
		disabled_at = $13, last_signed_in_at = $14, version = $15, updated_at = $16, notices = $17, devices_since = $18 where company_id = $1 and id = $2`

	revokedAdministratorsSQL = `select ` + administratorColumns + ` from administrators where revoked_at > $1`

	sealedTotpSQL = `select ` + administratorColumns + ` from administrators where totp_secret is not null and id > $1 order by id limit 100`

	resealTotpSQL = `update administrators set totp_secret = $4 where company_id = $1 and id = $2 and totp_secret = $3`
)

// administratorFaults are the faults of the constraints.
func administratorFaults() map[string]*fault.Error {
	return map[string]*fault.Error{"administrators_email": adminEmailExists()}
}

func (s *store) administratorByEmail(ctx context.Context, key string) (Administrator, error) {
	if !storable(key) {
		return Administrator{}, fault.Missing("administrator")
	}
	a, err := pg.One[Administrator](ctx, s.db, pg.AllCompanies(), administratorByEmailSQL, key)
	return a, missing(err, "administrator")
}

func (s *store) administrator(ctx context.Context, company id.Company, administrator id.Administrator) (Administrator, error) {
	a, err := pg.One[Administrator](ctx, s.db, pg.For(company), administratorSQL, company, administrator)
	return a, missing(err, "administrator")
}

func (s *store) lockAdministrator(ctx context.Context, tx *pg.Tx, company id.Company, administrator id.Administrator) (Administrator, error) {
	rows, err := tx.Query(ctx, lockAdministratorSQL, company, administrator)
	if err != nil {
		return Administrator{}, err
	}
	a, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Administrator])
	return a, missing(err, "administrator")
}

func (s *store) administrators(ctx context.Context, company id.Company, after id.UUID, limit int) ([]Administrator, error) {
	list, err := pg.Rows[Administrator](ctx, s.db, pg.For(company), administratorsSQL, company, [16]byte(after), limit)
	return list, pg.Fault(err, nil)
}

func (s *store) hasOtherOwner(ctx context.Context, tx *pg.Tx, a Administrator) (has bool, err error) {
	err = tx.QueryRow(ctx, otherOwnersSQL, a.Company, a.ID).Scan(&has)
	return has, err
}

func (s *store) insertAdministrator(ctx context.Context, tx *pg.Tx, a Administrator) error {
	_, err := tx.Exec(ctx, insertAdministratorSQL, a.Company, a.ID, a.Name, a.Email, a.Role, a.PasswordHash, a.PasswordChangedAt,
		a.TotpSecret, a.TotpConfirmedAt, a.TotpStep, hashes(a.RecoveryCodes), a.Generation, a.RevokedAt, a.DisabledAt, a.LastSignedInAt,
		a.Version, a.CreatedAt, a.UpdatedAt, notices(a.Notices), a.DevicesSince, emailKey(a.Email))
	return pg.Fault(err, administratorFaults())
}

func (s *store) updateAdministrator(ctx context.Context, tx *pg.Tx, a Administrator) error {
	_, err := tx.Exec(ctx, updateAdministratorSQL, a.Company, a.ID, a.Name, a.Role, a.PasswordHash, a.PasswordChangedAt,
		a.TotpSecret, a.TotpConfirmedAt, a.TotpStep, hashes(a.RecoveryCodes), a.Generation, a.RevokedAt, a.DisabledAt, a.LastSignedInAt,
		a.Version, a.UpdatedAt, notices(a.Notices), a.DevicesSince)
	return err
}

// notices is never NULL.
func notices(list []Notice) []Notice {
	if list == nil {
		return []Notice{}
	}
	return list
}

// hashes is never NULL.
func hashes(list [][]byte) [][]byte {
	if list == nil {
		return [][]byte{}
	}
	return list
}

// revokedAdministrators returns those whose tokens were revoked after an instant.
func (s *store) revokedAdministrators(ctx context.Context, after time.Time) ([]Administrator, error) {
	list, err := pg.Rows[Administrator](ctx, s.db, pg.AllCompanies(), revokedAdministratorsSQL, after)
	return list, pg.Fault(err, nil)
}

const sessionColumns = `company_id, id, administrator_id, token_hash, address, user_agent, created_at, last_used_at, expires_at`

const (
	// Three queries of one round trip: who shows a session's token has no company yet.
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

	pruneSessionsSQL = `delete from sessions where last_used_at <= $1 or expires_at <= $2`
)

// signedIn is what a session's token stands for.
type signedIn struct {
	session       Session
	administrator Administrator
	company       Company
}

func (s *store) sessionByToken(ctx context.Context, hash []byte) (in signedIn, err error) {
	err = s.db.Read(ctx, pg.AllCompanies(),
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
	return in, missing(err, "session")
}

func (s *store) session(ctx context.Context, company id.Company, session id.Session) (Session, error) {
	found, err := pg.One[Session](ctx, s.db, pg.For(company), sessionSQL, company, session)
	return found, missing(err, "session")
}

// sessions returns those of an administrator that are live: not expired at now,
// and used after idleSince.
func (s *store) sessions(ctx context.Context, company id.Company, a id.Administrator, now, idleSince time.Time) ([]Session, error) {
	list, err := pg.Rows[Session](ctx, s.db, pg.For(company), sessionsSQL, company, a, now, idleSince)
	return list, pg.Fault(err, nil)
}

func (s *store) insertSession(ctx context.Context, tx *pg.Tx, n Session) error {
	_, err := tx.Exec(ctx, insertSessionSQL, n.Company, n.ID, n.Administrator, n.TokenHash, n.Address, n.UserAgent, n.CreatedAt, n.LastUsedAt, n.ExpiresAt)
	return err
}

// touchSession notes that a session was used, to the minute.
func (s *store) touchSession(ctx context.Context, n Session, at time.Time) error {
	minute := at.Truncate(time.Minute)
	if !n.LastUsedAt.Before(minute) {
		return nil
	}
	return s.inTx(ctx, n.Company, func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, touchSessionSQL, n.Company, n.ID, minute)
		return err
	})
}

// deleteSession reports whether the session was there.
func (s *store) deleteSession(ctx context.Context, tx *pg.Tx, company id.Company, session id.Session) (bool, error) {
	tag, err := tx.Exec(ctx, deleteSessionSQL, company, session)
	return tag.RowsAffected() > 0, err
}

// deleteSessions deletes those of an administrator but one, and returns how many;
// the zero session keeps none. Those that wait for a code go too.
func (s *store) deleteSessions(ctx context.Context, tx *pg.Tx, now time.Time, company id.Company, a id.Administrator, but id.Session) (int64, error) {
	if _, err := s.abandon(ctx, tx, now, deletePendingsSQL, company, a); err != nil {
		return 0, err
	}
	tag, err := tx.Exec(ctx, deleteSessionsSQL, company, a, [16]byte(but))
	return tag.RowsAffected(), err
}

const invitationColumns = `company_id, id, email, role, token_hash, invited_by, created_at, expires_at, accepted_at, revoked_at`

const (
	// Who has a link has no company yet.
	invitationByTokenSQL = `select ` + invitationColumns + ` from invitations where token_hash = $1`

	lockInvitationSQL = `select ` + invitationColumns + ` from invitations where company_id = $1 and id = $2 for update`

	openInvitationSQL = `select ` + invitationColumns + ` from invitations
		where company_id = $1 and email_key = $2 and accepted_at is null and revoked_at is null for update`

	invitationsSQL = `select ` + invitationColumns + ` from invitations
		where company_id = $1 and accepted_at is null and revoked_at is null order by id desc`

	insertInvitationSQL = `insert into invitations (` + invitationColumns + `, email_key) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`

	revokeInvitationsBySQL = `update invitations set revoked_at = $3
		where company_id = $1 and invited_by = $2 and accepted_at is null and revoked_at is null returning ` + invitationColumns

	endInvitationSQL = `update invitations set accepted_at = $3, revoked_at = $4 where company_id = $1 and id = $2`
)

func (s *store) invitationByToken(ctx context.Context, hash []byte) (Invitation, error) {
	i, err := pg.One[Invitation](ctx, s.db, pg.AllCompanies(), invitationByTokenSQL, hash)
	return i, missing(err, "invitation")
}

func (s *store) lockInvitation(ctx context.Context, tx *pg.Tx, company id.Company, invitation id.Invitation) (Invitation, error) {
	return oneInvitation(ctx, tx, lockInvitationSQL, company, invitation)
}

// lockOpenInvitation returns the one invitation of an address that is neither
// accepted nor revoked.
func (s *store) lockOpenInvitation(ctx context.Context, tx *pg.Tx, company id.Company, key string) (Invitation, error) {
	return oneInvitation(ctx, tx, openInvitationSQL, company, key)
}

func oneInvitation(ctx context.Context, tx *pg.Tx, sql string, args ...any) (Invitation, error) {
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return Invitation{}, err
	}
	i, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Invitation])
	return i, missing(err, "invitation")
}

func (s *store) invitations(ctx context.Context, company id.Company) ([]Invitation, error) {
	list, err := pg.Rows[Invitation](ctx, s.db, pg.For(company), invitationsSQL, company)
	return list, pg.Fault(err, nil)
}

func (s *store) insertInvitation(ctx context.Context, tx *pg.Tx, i Invitation) error {
	_, err := tx.Exec(ctx, insertInvitationSQL, i.Company, i.ID, i.Email, i.Role, i.TokenHash, i.InvitedBy, i.CreatedAt, i.ExpiresAt,
		i.AcceptedAt, i.RevokedAt, emailKey(i.Email))
	return err
}

// revokeInvitationsBy revokes the open ones of an administrator, and returns them.
func (s *store) revokeInvitationsBy(ctx context.Context, tx *pg.Tx, company id.Company, a id.Administrator, now time.Time) ([]Invitation, error) {
	rows, err := tx.Query(ctx, revokeInvitationsBySQL, company, a.String(), now)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[Invitation])
}

// endInvitation saves that an invitation was accepted or revoked.
func (s *store) endInvitation(ctx context.Context, tx *pg.Tx, i Invitation) error {
	_, err := tx.Exec(ctx, endInvitationSQL, i.Company, i.ID, i.AcceptedAt, i.RevokedAt)
	return err
}
