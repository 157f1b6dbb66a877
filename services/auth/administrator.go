package auth

import (
	"crypto/rand"
	"slices"
	"strings"
	"time"

	"reservation.dev/platform/id"
)

// The roles of administrators.
const (
	roleOwner = "owner"
	roleStaff = "staff"
)

// Administrator is a person who signs in to the dashboard.
type Administrator struct {
	Company           id.Company       `db:"company_id"`
	ID                id.Administrator `db:"id"`
	Name              string           `db:"name"`
	Email             string           `db:"email"`
	Role              string           `db:"role"`
	PasswordHash      string           `db:"password_hash"`
	PasswordChangedAt time.Time        `db:"password_changed_at"`
	// TotpSecret is sealed; nil: there is none. It is asked for once it is confirmed.
	TotpSecret      []byte     `db:"totp_secret"`
	TotpConfirmedAt *time.Time `db:"totp_confirmed_at"`
	// TotpStep is that of the last code that was taken, see totpStep.
	TotpStep int64 `db:"totp_step"`
	// RecoveryCodes are the hashes of those that were not used.
	RecoveryCodes [][]byte `db:"recovery_codes"`
	// Notices are what somebody else did to the account and it was not yet shown.
	Notices []Notice `db:"notices"`
	// DevicesSince: browsers that were known before are not any more; nil: all are.
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
func (a *Administrator) isOwner() bool { return a.Role == roleOwner && a.DisabledAt == nil }

// Notice tells an administrator what somebody else did to their account.
type Notice struct {
	At     time.Time `json:"at"`
	Action string    `json:"action"` // as in the audit log
	By     string    `json:"by"`     // a name; "": whoever runs the platform
}

// notify adds a notice, and drops the oldest ones if there are too many.
func (a *Administrator) notify(now time.Time, action, by string) {
	a.Notices = append(a.Notices, Notice{At: now, Action: action, By: by})
	a.Notices = a.Notices[max(0, len(a.Notices)-mostNotices):]
}

// newPassword replaces the password: no browser is known by the former one.
func (a *Administrator) newPassword(hash string, now time.Time) {
	a.PasswordHash, a.PasswordChangedAt, a.DevicesSince = hash, now, &now
}

// needsCode reports whether a password alone does not sign a in.
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
	mostNotices = 20
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

// emailKey is by what two addresses are the same.
func emailKey(email string) string { return strings.ToLower(strings.TrimSpace(email)) }

// facts are what the audit log says of an administrator.
func (a *Administrator) facts() []Detail {
	return []Detail{{Field: "name", After: a.Name}, {Field: "email", After: a.Email}, {Field: "role", After: a.Role}}
}

// administratorFields are what a change of an administrator states; nil: nothing.
type administratorFields struct {
	name, role *string
	disabled   *bool
}

// update makes what the fields state of a.
func (a *Administrator) update(f administratorFields, now time.Time) {
	if f.name != nil {
		a.Name = *f.name
	}
	if f.role != nil {
		a.Role = *f.role
	}
	switch {
	case f.disabled == nil || *f.disabled == (a.DisabledAt != nil):
	case *f.disabled:
		a.DisabledAt = &now
	default:
		a.DisabledAt = nil
	}
}
