package auth

import (
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

const (
	resetLifetime = time.Hour

	// resetKept is how long a used or expired link is kept, so that a visitor learns why it does
	// not work.
	resetKept = 7 * 24 * time.Hour
)

// passwordReset is a link with which an administrator chooses a new password.
type passwordReset struct {
	Company       id.Company       `db:"company_id"`
	TokenHash     []byte           `db:"token_hash"`
	Administrator id.Administrator `db:"administrator_id"`
	MadeBy        string           `db:"made_by"`
	CreatedAt     time.Time        `db:"created_at"`
	ExpiresAt     time.Time        `db:"expires_at"`
	UsedAt        *time.Time       `db:"used_at"`
}

// checkOpen returns why the link cannot be used at an instant; nil: it can.
func (r *passwordReset) checkOpen(now time.Time) error {
	switch {
	case r.UsedAt != nil:
		return fault.Refuse(ReasonResetUsed, "the link was already used; sign in")
	case !now.Before(r.ExpiresAt):
		return fault.Refuse(ReasonResetExpired, "the link has expired; ask for a new one")
	}
	return nil
}

// newPasswordReset returns a link for an administrator, created by madeBy, and its token.
func newPasswordReset(a Administrator, madeBy string, now time.Time) (r passwordReset, raw string, err error) {
	if a.DisabledAt != nil {
		return r, "", fault.Refuse(ReasonAdministratorDisabled, "the administrator is disabled; enable the administrator first")
	}
	r = passwordReset{Company: a.Company, Administrator: a.ID, MadeBy: madeBy, CreatedAt: now, ExpiresAt: now.Add(resetLifetime)}
	raw, r.TokenHash = newToken()
	return r, raw, nil
}
