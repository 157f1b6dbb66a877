package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/mail"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/token"
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

// revoke makes every access token issued before dead.
func (a *Administrator) revoke(now time.Time) {
	a.Generation++
	a.RevokedAt = &now
}

// isOwner reports whether a can act as an owner.
func (a *Administrator) isOwner() bool { return a.Role == roleOwner && a.DisabledAt == nil }

// Notice is what an administrator has to be told.
type Notice struct {
	At     time.Time `json:"at"`
	Action string    `json:"action"` // as in the audit log
	By     string    `json:"by"`     // a name; "": whoever runs the platform
}

// tell adds a notice; the oldest give way.
func (a *Administrator) tell(now time.Time, action, by string) {
	a.Notices = append(a.Notices, Notice{At: now, Action: action, By: by})
	a.Notices = a.Notices[max(0, len(a.Notices)-mostNotices):]
}

// newPassword replaces the password: no browser is known by the former one.
func (a *Administrator) newPassword(hash string, now time.Time) {
	a.PasswordHash, a.PasswordChangedAt, a.DevicesSince = hash, now, &now
}

// asksCode reports whether a password alone does not sign a in.
func (a *Administrator) asksCode() bool { return a.TotpConfirmedAt != nil }

// withoutTotp turns TOTP off.
func (a *Administrator) withoutTotp() {
	a.TotpSecret, a.TotpConfirmedAt, a.TotpStep, a.RecoveryCodes = nil, nil, 0, [][]byte{}
}

// takeRecovery uses up a recovery code, and reports whether it was one.
func (a *Administrator) takeRecovery(code string) bool {
	hash := recoveryHash(code)
	left := slices.DeleteFunc(slices.Clone(a.RecoveryCodes), func(kept []byte) bool { return string(kept) == string(hash) })
	found := len(left) < len(a.RecoveryCodes)
	a.RecoveryCodes = left
	return found
}

// Session is a browser that is signed in.
type Session struct {
	Company       id.Company       `db:"company_id"`
	ID            id.Session       `db:"id"`
	Administrator id.Administrator `db:"administrator_id"`
	TokenHash     []byte           `db:"token_hash"`
	Address       string           `db:"address"`
	UserAgent     string           `db:"user_agent"`
	CreatedAt     time.Time        `db:"created_at"`
	LastUsedAt    time.Time        `db:"last_used_at"`
	ExpiresAt     time.Time        `db:"expires_at"`
}

// live reports whether the session can be used at an instant, when it may lie
// idle for so long.
func (s *Session) live(now time.Time, idle time.Duration) bool {
	return now.Before(s.ExpiresAt) && now.Before(s.LastUsedAt.Add(idle))
}

// Invitation lets somebody become an administrator.
type Invitation struct {
	Company    id.Company    `db:"company_id"`
	ID         id.Invitation `db:"id"`
	Email      string        `db:"email"`
	Role       string        `db:"role"`
	TokenHash  []byte        `db:"token_hash"`
	InvitedBy  string        `db:"invited_by"`
	CreatedAt  time.Time     `db:"created_at"`
	ExpiresAt  time.Time     `db:"expires_at"`
	AcceptedAt *time.Time    `db:"accepted_at"`
	RevokedAt  *time.Time    `db:"revoked_at"`
}

// open returns why the invitation cannot be accepted at an instant; nil: it can.
func (i *Invitation) open(now time.Time) error {
	switch {
	case i.RevokedAt != nil:
		return fault.Missing("invitation")
	case i.AcceptedAt != nil:
		return fault.Refuse(ReasonInvitationAccepted, "the invitation was accepted already; sign in")
	case !now.Before(i.ExpiresAt):
		return fault.Refuse(ReasonInvitationExpired, "the invitation has expired; ask for another one")
	}
	return nil
}

// pendingSignIn is a password that was right, and waits for a code.
type pendingSignIn struct {
	Company       id.Company       `db:"company_id"`
	TokenHash     []byte           `db:"token_hash"`
	Administrator id.Administrator `db:"administrator_id"`
	Failures      int              `db:"failures"`
	Address       string           `db:"address"` // the browser's, when the password was right
	CreatedAt     time.Time        `db:"created_at"`
	ExpiresAt     time.Time        `db:"expires_at"`
}

// live reports whether a code still makes a session of it, for an administrator
// as they are now.
func (p *pendingSignIn) live(a Administrator, now time.Time) bool {
	return now.Before(p.ExpiresAt) && a.DisabledAt == nil && a.asksCode() && !a.PasswordChangedAt.After(p.CreatedAt)
}

// passwordReset lets an administrator choose a new password.
type passwordReset struct {
	Company       id.Company       `db:"company_id"`
	TokenHash     []byte           `db:"token_hash"`
	Administrator id.Administrator `db:"administrator_id"`
	MadeBy        string           `db:"made_by"`
	CreatedAt     time.Time        `db:"created_at"`
	ExpiresAt     time.Time        `db:"expires_at"`
	UsedAt        *time.Time       `db:"used_at"`
}

// open returns why the link cannot be used at an instant; nil: it can.
func (r *passwordReset) open(now time.Time) error {
	switch {
	case r.UsedAt != nil:
		return fault.Refuse(ReasonResetUsed, "the link was used already; sign in")
	case !now.Before(r.ExpiresAt):
		return fault.Refuse(ReasonResetExpired, "the link has expired; ask for another one")
	}
	return nil
}

// Reasons of faults about administrators.
const (
	ReasonSignInExpired         = "SIGN_IN_EXPIRED"
	ReasonResetExpired          = "RESET_EXPIRED"
	ReasonResetUsed             = "RESET_USED"
	ReasonOwnAccount            = "OWN_ACCOUNT"
	ReasonAdministratorDisabled = "ADMINISTRATOR_DISABLED"
	ReasonEmailExists           = "EMAIL_ALREADY_EXISTS"
	ReasonLastOwner             = "LAST_OWNER"
	ReasonSessionEnded          = "SESSION_ENDED"
	ReasonWrongPassword         = "WRONG_PASSWORD"
	ReasonInvalidTotpCode       = "INVALID_TOTP_CODE"
	ReasonTotpEnabled           = "TOTP_ALREADY_ENABLED"
	ReasonTotpNotSetUp          = "TOTP_NOT_SET_UP"
	ReasonInvitationExpired     = "INVITATION_EXPIRED"
	ReasonInvitationAccepted    = "INVITATION_ACCEPTED"
)

func adminEmailExists() *fault.Error {
	f := fault.Refuse(ReasonEmailExists, "an administrator has this e-mail address")
	f.Fields = []fault.Field{{Field: "email", Rule: "unique", Message: "belongs to an administrator"}}
	return f
}

func sessionEnded() *fault.Error {
	return fault.New(fault.Unauthenticated, ReasonSessionEnded, "the session has ended, sign in")
}

// signInExpired is the one answer to all that is wrong with a pending sign-in.
func signInExpired() *fault.Error {
	return fault.New(fault.Unauthenticated, ReasonSignInExpired, "the sign-in has ended, begin again with the password")
}

// ownAccount refuses what somebody else has to do.
func ownAccount() error {
	return fault.Refuse(ReasonOwnAccount, "this is for other administrators; your own account has a page of its own")
}

// wrongSignIn is the one answer to all that is wrong with an address and a password.
func wrongSignIn() *fault.Error {
	return fault.New(fault.Unauthenticated, fault.ReasonInvalidCredentials, "the e-mail address or the password is not right")
}

func wrongCode() *fault.Error {
	return fault.Refuse(ReasonInvalidTotpCode, "the code is not right, or was used before")
}

func wrongPassword() *fault.Error {
	return fault.Refuse(ReasonWrongPassword, "the present password is not right")
}

// roleScopes are what the access tokens of a role may do, sorted.
func roleScopes(role string) []string {
	scopes := staffScopes()
	if role == roleOwner {
		scopes = append(scopes, ownerScopes()...)
	}
	slices.Sort(scopes)
	return scopes
}

// staffScopes are the front desk.
func staffScopes() []string {
	return []string{
		"customers:read", "customers:write", "profile:read", "profile:write", "events:read", "events:write",
		"bookings:read", "bookings:write", "registrations:read", "registrations:write", "passes:read", "passes:write",
		"customer-passes:read", "customer-passes:write", "discounts:read", "discounts:write", "audit:write",
	}
}

// ownerScopes are what owners have beside the front desk.
func ownerScopes() []string {
	return []string{
		"company:read", "company:write", "api-clients:read", "api-clients:write", "api-keys:read", "api-keys:write",
		"service-credentials:read", "service-credentials:write", "webhooks:read", "webhooks:write",
		"administrators:read", "administrators:write", "audit:read", "privacy:read", "privacy:write",
	}
}

const (
	accessTokenLifetime = 5 * time.Minute
	invitationLifetime  = 7 * 24 * time.Hour
	resetLifetime       = time.Hour
	// resetKept is how long a link can say that it was used or has expired.
	resetKept = 7 * 24 * time.Hour

	pendingLifetime = 5 * time.Minute
	// pendingFailures wrong codes end a sign-in that waits for one.
	pendingFailures = 5
	// mostPending bounds those of one administrator; the oldest give way.
	mostPending = 5

	mostNotices = 20

	leastPassword = 12
	mostPassword  = 200
	maxEmail      = 254
	maxAddress    = 64
	maxUserAgent  = 300
)

// accessClaims are those of the access token of a session, but for its id.
func accessClaims(a Administrator, s Session, c Company, now time.Time) token.Claims {
	expires := now.Add(accessTokenLifetime)
	if s.ExpiresAt.Before(expires) {
		expires = s.ExpiresAt
	}
	return token.Claims{
		Subject: a.ID.String(), Kind: token.KindAdministrator, Session: s.ID.String(), Company: a.Company,
		Zone: c.Timezone, Currency: c.Currency, CompanyVersion: c.Version, Scopes: roleScopes(a.Role), Generation: a.Generation,
		IssuedAt: now.Truncate(time.Second), ExpiresAt: expires,
	}
}

// newToken returns an opaque token of 256 random bits, and what is kept of it.
func newToken() (raw string, hash []byte) {
	bits := make([]byte, sha256.Size)
	_, _ = rand.Read(bits) // never fails
	raw = base64.RawURLEncoding.EncodeToString(bits)
	return raw, hashOf(raw)
}

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

// email checks an e-mail address.
func (c *checks) email(field, s string) string {
	s = c.text(field, s, 1, maxEmail)
	if s == "" {
		return s
	}
	parsed, err := mail.ParseAddress(s)
	if err != nil || parsed.Address != s || !strings.Contains(s[strings.LastIndexByte(s, '@'):], ".") {
		c.add(field, "email", "must be an e-mail address")
	}
	return s
}

// password checks a new password of the administrator with that address.
func (c *checks) password(field, s, email string) {
	switch {
	case s == "":
		c.add(field, "required", "is required")
	case utf8.RuneCountInString(s) < leastPassword:
		c.add(field, "min_length", "must be at least 12 characters")
	case utf8.RuneCountInString(s) > mostPassword:
		c.add(field, "max_length", "must be at most 200 characters")
	case !utf8.ValidString(s):
		c.add(field, "characters", "must be UTF-8")
	case emailKey(s) == emailKey(email):
		c.add(field, "guessable", "must not be the e-mail address")
	}
}

// cut returns the beginning of what a browser says, in printable characters.
func cut(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return -1
		}
		return r
	}, s)
	runes := []rune(s)
	return string(runes[:min(len(runes), most)])
}
