package auth

import (
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

const (
	invitationLifetime = 7 * 24 * time.Hour
)

// Invitation lets somebody become an administrator.
type Invitation struct {
	Company id.Company    `db:"company_id"`
	ID      id.Invitation `db:"id"`
	Email   string        `db:"email"`
	duty
	TokenHash  []byte     `db:"token_hash"`
	InvitedBy  string     `db:"invited_by"`
	CreatedAt  time.Time  `db:"created_at"`
	ExpiresAt  time.Time  `db:"expires_at"`
	AcceptedAt *time.Time `db:"accepted_at"`
	RevokedAt  *time.Time `db:"revoked_at"`
}

// checkOpen returns why the invitation cannot be accepted at an instant; nil: it can.
func (i *Invitation) checkOpen(now time.Time) error {
	switch {
	case i.RevokedAt != nil:
		return fault.Missing("invitation")
	case i.AcceptedAt != nil:
		return fault.Refuse(ReasonInvitationAccepted, "the invitation was already accepted; sign in")
	case !now.Before(i.ExpiresAt):
		return fault.Refuse(ReasonInvitationExpired, "the invitation has expired; ask for a new one")
	}
	return nil
}

// facts returns what the audit log records of an invitation.
func (i *Invitation) facts() []Detail {
	return given(append([]Detail{{Field: "email", After: i.Email}}, i.duty.facts()...))
}
