package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/token"
)

const (
	accessTokenLifetime = 5 * time.Minute

	pendingLifetime = 5 * time.Minute

	// pendingFailures is the number of wrong codes that ends a pending sign-in.
	pendingFailures = 5

	// maxPending limits the pending sign-ins of one administrator; the oldest are dropped.
	maxPending = 5
)

// sessionTimes are the idle timeout and the maximum lifetime of a session.
type sessionTimes struct{ idle, lifetime time.Duration }

// Session is a signed-in browser.
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

// live reports whether the session can be used at an instant, with an idle timeout.
func (s *Session) live(now time.Time, idle time.Duration) bool {
	return now.Before(s.ExpiresAt) && now.Before(s.LastUsedAt.Add(idle))
}

// signedIn is what a session token identifies.
type signedIn struct {
	session       Session
	administrator Administrator
	company       Company
}

// pendingSignIn is a sign-in whose password was right and that waits for a code.
type pendingSignIn struct {
	Company       id.Company       `db:"company_id"`
	TokenHash     []byte           `db:"token_hash"`
	Administrator id.Administrator `db:"administrator_id"`
	Failures      int              `db:"failures"`
	Address       string           `db:"address"` // the browser's, when the password was right
	CreatedAt     time.Time        `db:"created_at"`
	ExpiresAt     time.Time        `db:"expires_at"`
}

// live reports whether a code can still complete the sign-in, for the administrator's current
// state.
func (p *pendingSignIn) live(a Administrator, now time.Time) bool {
	return now.Before(p.ExpiresAt) && a.DisabledAt == nil && a.needsCode() && !a.PasswordChangedAt.After(p.CreatedAt)
}

// accessClaims returns the claims of a session's access token, except its id.
func accessClaims(a Administrator, s Session, c Company, now time.Time) token.Claims {
	expires := now.Add(accessTokenLifetime)
	if s.ExpiresAt.Before(expires) {
		expires = s.ExpiresAt
	}
	return token.Claims{
		Subject: a.ID.String(), Kind: token.KindAdministrator, Session: s.ID.String(), Company: c.ID,
		Zone: c.Timezone, Currency: c.Currency, CompanyVersion: c.Version, ClockOffset: c.ClockOffset, Scopes: a.Role.Scopes(), Generation: a.Generation,
		Staff:    a.Staff,
		IssuedAt: now.Truncate(time.Second), ExpiresAt: expires,
	}
}

// browser is the browser in which somebody signs in.
type browser struct {
	address, userAgent string
	devices            []string // tokens that it keeps, see device
}

// newToken returns an opaque token of 256 random bits and its hash.
func newToken() (raw string, hash []byte) {
	bits := make([]byte, sha256.Size)
	_, _ = rand.Read(bits) // never fails
	raw = base64.RawURLEncoding.EncodeToString(bits)
	return raw, hashOf(raw)
}
