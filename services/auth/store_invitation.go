package auth

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

const invitationColumns = `company_id, id, email, ` + dutyColumns + `, token_hash, invited_by, created_at, expires_at, accepted_at, revoked_at`

const (
	// The company is not known from a link.
	invitationByTokenSQL = `select ` + invitationColumns + ` from invitations where token_hash in ($1, $2)`

	lockInvitationSQL = `select ` + invitationColumns + ` from invitations where company_id = $1 and id = $2 for update`

	openInvitationSQL = `select ` + invitationColumns + ` from invitations
		where company_id = $1 and email_key = $2 and accepted_at is null and revoked_at is null for update`

	invitationsSQL = `select ` + invitationColumns + ` from invitations
		where company_id = $1 and accepted_at is null and revoked_at is null order by id desc`

	insertInvitationSQL = `insert into invitations (company_id, id, email, role, narrow_role, staff_id, token_hash, invited_by,
		created_at, expires_at, accepted_at, revoked_at, email_key) values (@company_id, @id, @email, @role, @narrow_role, @staff_id,
		@token_hash, @invited_by, @created_at, @expires_at, @accepted_at, @revoked_at, @email_key)`

	revokeInvitationsBySQL = `update invitations set revoked_at = $3
		where company_id = $1 and invited_by = $2 and accepted_at is null and revoked_at is null returning ` + invitationColumns

	endInvitationSQL = `update invitations set accepted_at = $3, revoked_at = $4 where company_id = $1 and id = $2`
)

// invitationByToken returns the invitation with a token, which has one of two hashes.
func (s *store) invitationByToken(ctx context.Context, hash, narrow []byte) (Invitation, error) {
	return one[Invitation](ctx, s, pg.Lookup(), "invitation", invitationByTokenSQL, hash, narrow)
}

func (s *store) lockInvitation(ctx context.Context, tx *pg.Tx, company id.Company, invitation id.Invitation) (Invitation, error) {
	return oneInvitation(ctx, tx, lockInvitationSQL, company, invitation)
}

// lockOpenInvitation returns and locks the invitation of an address that is neither accepted nor
// revoked; there is at most one.
func (s *store) lockOpenInvitation(ctx context.Context, tx *pg.Tx, company id.Company, key string) (Invitation, error) {
	return oneInvitation(ctx, tx, openInvitationSQL, company, key)
}

func oneInvitation(ctx context.Context, tx *pg.Tx, sql string, args ...any) (Invitation, error) {
	return pg.GetInTx[Invitation](ctx, tx, "invitation", sql, args...)
}

func (s *store) invitations(ctx context.Context, company id.Company) ([]Invitation, error) {
	return all[Invitation](ctx, s, pg.For(company), invitationsSQL, company)
}

func (s *store) insertInvitation(ctx context.Context, tx *pg.Tx, i Invitation) error {
	_, err := tx.Exec(ctx, insertInvitationSQL, rowArgs(i, pgx.NamedArgs{
		"email_key": emailKey(i.Email), "role": i.stored(), "narrow_role": i.narrow(), "staff_id": i.Staff,
	}))
	return err
}

// revokeInvitationsBy revokes the open invitations that an administrator created, and returns them.
func (s *store) revokeInvitationsBy(ctx context.Context, tx *pg.Tx, company id.Company, a id.Administrator, now time.Time) ([]Invitation, error) {
	rows, err := tx.Query(ctx, revokeInvitationsBySQL, company, a.String(), now)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[Invitation])
}

// endInvitation stores that an invitation was accepted or revoked.
func (s *store) endInvitation(ctx context.Context, tx *pg.Tx, i Invitation) error {
	_, err := tx.Exec(ctx, endInvitationSQL, i.Company, i.ID, i.AcceptedAt, i.RevokedAt)
	return err
}

const pruneInvitationsSQL = `delete from invitations where coalesce(accepted_at, revoked_at, expires_at) < $1`

func (s *store) pruneInvitations(ctx context.Context, tx *pg.Tx, before time.Time) error {
	_, err := tx.Exec(ctx, pruneInvitationsSQL, before)
	return err
}
