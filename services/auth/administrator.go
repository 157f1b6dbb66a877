package auth

import (
	"crypto/rand"
	"slices"
	"strings"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/roles"
)

// Administrator is a person who signs in to the dashboard.
type Administrator struct {
	Company id.Company       `db:"company_id"`
	ID      id.Administrator `db:"id"`
	Name    string           `db:"name"`
	Email   string           `db:"email"`
	duty
	PasswordHash      string    `db:"password_hash"`
	PasswordChangedAt time.Time `db:"password_changed_at"`
	// TotpSecret is encrypted; nil: there is none. Codes are required after it is confirmed.
	TotpSecret      []byte     `db:"totp_secret"`
	TotpConfirmedAt *time.Time `db:"totp_confirmed_at"`
	// TotpStep is the period of the last code that was accepted, see totpStep.
	TotpStep int64 `db:"totp_step"`
	// RecoveryCodes are the hashes of the unused recovery codes.
	RecoveryCodes [][]byte `db:"recovery_codes"`
	// Notices are actions of others on the account that the administrator has not read yet.
	Notices []Notice `db:"notices"`
	// DevicesSince: browsers that signed in before this instant are no longer known; nil: all are.
	DevicesSince   *time.Time `db:"devices_since"`
	Generation     int64      `db:"generation"`
	RevokedAt      *time.Time `db:"revoked_at"`
	DisabledAt     *time.Time `db:"disabled_at"`
	LastSignedInAt *time.Time `db:"last_signed_in_at"`
	Version        int64      `db:"version"`
	CreatedAt      time.Time  `db:"created_at"`
	UpdatedAt      time.Time  `db:"updated_at"`
}

// revoke revokes every access token issued before.
func (a *Administrator) revoke(now time.Time) {
	a.Generation++
	a.RevokedAt = &now
}

// isOwner reports whether a can act as an owner.
func (a *Administrator) isOwner() bool { return a.Role == roles.Owner && a.DisabledAt == nil }

// Notice notifies an administrator of what somebody else did to their account.
type Notice struct {
	At     time.Time `json:"at"`
	Action string    `json:"action"` // as in the audit log
	By     string    `json:"by"`     // a name; "": whoever runs the platform
}

// notify adds a notice, and drops the oldest ones if there are too many.
func (a *Administrator) notify(now time.Time, action, by string) {
	a.Notices = append(a.Notices, Notice{At: now, Action: action, By: by})
	a.Notices = a.Notices[max(0, len(a.Notices)-maxNotices):]
}

// newPassword replaces the password. No browser stays known.
func (a *Administrator) newPassword(hash string, now time.Time) {
	a.PasswordHash, a.PasswordChangedAt, a.DevicesSince = hash, now, &now
}

// needsCode reports whether a needs a code in addition to the password to sign in.
func (a *Administrator) needsCode() bool { return a.TotpConfirmedAt != nil }

// removeTotp turns TOTP off.
func (a *Administrator) removeTotp() {
	a.TotpSecret, a.TotpConfirmedAt, a.TotpStep, a.RecoveryCodes = nil, nil, 0, [][]byte{}
}

// useRecoveryCode uses up a recovery code, and reports whether it was one.
func (a *Administrator) useRecoveryCode(code string) bool {
	hash := recoveryHash(code)
	left := slices.DeleteFunc(slices.Clone(a.RecoveryCodes), func(kept []byte) bool { return string(kept) == string(hash) })
	found := len(left) < len(a.RecoveryCodes)
	a.RecoveryCodes = left
	return found
}

const (
	maxNotices = 20
)

// newPassword returns 100 random bits in four groups.
func newPassword() string { return grouped(4) }

// grouped returns groups of five characters, 25 random bits each.
func grouped(groups int) string {
	random := id.UUID{}
	parts := make([]string, groups)
	for i := range parts {
		_, _ = rand.Read(random[:])
		text := random.String() // of which all but the first character have five bits
		parts[i] = text[len(text)-5:]
	}
	return strings.Join(parts, "-")
}

// emailKey returns the form of an address by which addresses are compared.
func emailKey(email string) string { return strings.ToLower(strings.TrimSpace(email)) }

// facts returns what the audit log records of an administrator.
func (a *Administrator) facts() []Detail {
	return append([]Detail{{Field: "name", After: a.Name}, {Field: "email", After: a.Email}}, a.duty.facts()...)
}

// administratorFields are the fields that a change sets; nil: unchanged.
type administratorFields struct {
	name     *string
	duty     *duty
	disabled *bool
}

// update applies the fields to a.
func (a *Administrator) update(f administratorFields, now time.Time) {
	if f.name != nil {
		a.Name = *f.name
	}
	if f.duty != nil {
		a.duty = *f.duty
	}
	switch {
	case f.disabled == nil || *f.disabled == (a.DisabledAt != nil):
	case *f.disabled:
		a.DisabledAt = &now
	default:
		a.DisabledAt = nil
	}
}
