package token

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/scopes"
)

// Admin is the scope of the credentials that operate the platform. It includes every other scope.
const Admin = "platform:admin"

// Audience is the aud claim of every token.
const Audience = "reservation"

// The kinds of holders of a token.
const (
	// KindClient is an API client of Interface A.
	KindClient = "client"
	// KindKey is an API key of Interface B.
	KindKey = "key"
	// KindService is an internal caller over gRPC.
	KindService = "service"
	// KindAdministrator is a person in the dashboard.
	KindAdministrator = "administrator"
	// KindPublishable is a publishable key of web pages.
	KindPublishable = "publishable"
)

// Claims are the claims of a verified token. They are shared between requests and must not be
// changed.
type Claims struct {
	// Subject is the identifier of the credential or administrator: m2m_…, key_…, svc_…, pub_… or admin_….
	Subject string
	// Kind is one of the kinds above.
	Kind string
	// Session is the session of an administrator: sess_…; "" for other kinds.
	Session string
	// Staff is the staff member to whose dates the token of a teacher is confined; zero for all others.
	Staff id.StaffMember
	// Company is the tenant; zero for a platform credential that names a company in each call.
	Company id.Company
	// Zone is the company's IANA zone; Currency is its ISO 4217 code.
	Zone     string
	Currency string
	// CompanyVersion is the version of the company that Zone and Currency are from; 0: an earlier
	// release issued the token. A service that has a newer copy of the company uses its copy.
	CompanyVersion int64
	// ClockOffset is by how many seconds the test clock of the company is ahead; 0 in live mode.
	ClockOffset int64
	Scopes      []string
	// RateLimit is the number of requests that the credential can make in any 60 seconds; 0: the
	// gateway's default.
	RateLimit int
	// Networks are the only networks from which the token can be used at an edge.
	Networks Networks
	// Generation is the generation of the credential at the time of issue; see Verifier.Revoke.
	Generation int64
	IssuedAt   time.Time
	ExpiresAt  time.Time
	// ID is the jti claim.
	ID string
	// Raw is the token itself, to be forwarded to other services.
	Raw string
}

// Has reports whether the token grants scope.
func (c *Claims) Has(scope string) bool {
	for _, s := range c.Scopes {
		if s == scope || s == Admin {
			return true
		}
	}
	return false
}

// IsAdmin reports whether the token belongs to the platform itself.
func (c *Claims) IsAdmin() bool { return slices.Contains(c.Scopes, Admin) }

// IsPlatformOnly reports whether the token grants only scopes of the platform other than Admin. It can call
// only the methods that need them.
func (c *Claims) IsPlatformOnly() bool { return scopes.ArePlatform(c.Scopes) }

// wire has the claims in the form of the token.
type wire struct {
	jwt.RegisteredClaims
	Kind       string `json:"typ"`
	Session    string `json:"sid,omitempty"`
	Staff      string `json:"stf,omitempty"`
	Company    string `json:"cid,omitempty"`
	Zone       string `json:"tz,omitempty"`
	Currency   string `json:"cur,omitempty"`
	CompanyVer int64  `json:"cv,omitempty"`
	Clock      int64  `json:"clk,omitempty"`
	Scope      string `json:"scope"`
	RateLimit  int    `json:"rl,omitempty"`
	// A token without networks has no claim for them, so it costs nothing.
	Networks   Networks `json:"net,omitempty"`
	Generation int64    `json:"gen"`
}

// claims checks everything that the signature does not prove.
func (w *wire) claims(issuer string) (*Claims, error) {
	switch {
	case w.Issuer != issuer:
		return nil, fmt.Errorf("issuer %q", w.Issuer)
	case !slices.Contains(w.Audience, Audience):
		return nil, fmt.Errorf("audience %q", w.Audience)
	case w.RegisteredClaims.ExpiresAt == nil:
		return nil, errors.New("no expiry")
	case w.RegisteredClaims.Subject == "":
		return nil, errors.New("no subject")
	case !slices.Contains([]string{KindClient, KindKey, KindService, KindAdministrator, KindPublishable}, w.Kind):
		return nil, fmt.Errorf("kind %q", w.Kind)
	case w.RateLimit < 0:
		return nil, fmt.Errorf("rate limit %d", w.RateLimit)
	}
	c := &Claims{
		Subject: w.RegisteredClaims.Subject, Kind: w.Kind, Session: w.Session, Zone: w.Zone, Currency: w.Currency,
		CompanyVersion: w.CompanyVer, ClockOffset: w.Clock,
		Scopes: strings.Fields(w.Scope), RateLimit: w.RateLimit, Networks: w.Networks, Generation: w.Generation,
		ExpiresAt: w.RegisteredClaims.ExpiresAt.Time, ID: w.RegisteredClaims.ID,
	}
	if at := w.RegisteredClaims.IssuedAt; at != nil {
		c.IssuedAt = at.Time
	}
	if w.Staff != "" {
		staff, err := id.Parse[id.StaffMember](w.Staff)
		if err != nil {
			return nil, fmt.Errorf("staff member: %w", err)
		}
		c.Staff = staff
	}
	if w.Company == "" {
		if !c.IsAdmin() && !c.IsPlatformOnly() {
			return nil, errors.New("no company")
		}
		return c, nil
	}
	company, err := id.Parse[id.Company](w.Company)
	if err != nil {
		return nil, fmt.Errorf("company: %w", err)
	}
	c.Company = company
	return c, nil
}

// Sign returns c as a token of the given issuer, signed with key, whose key id is kid. It does not
// read c.Raw, and truncates times to seconds.
func Sign(key ed25519.PrivateKey, kid, issuer string, c Claims) (string, error) {
	w := &wire{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: issuer, Subject: c.Subject, Audience: jwt.ClaimStrings{Audience}, ID: c.ID,
			IssuedAt: jwt.NewNumericDate(c.IssuedAt), ExpiresAt: jwt.NewNumericDate(c.ExpiresAt),
		},
		Kind: c.Kind, Session: c.Session, Staff: c.Staff.String(), Company: c.Company.String(), Zone: c.Zone, Currency: c.Currency,
		CompanyVer: c.CompanyVersion, Clock: c.ClockOffset,
		Scope: strings.Join(c.Scopes, " "), RateLimit: c.RateLimit, Networks: c.Networks, Generation: c.Generation,
	}
	t := jwt.NewWithClaims(jwt.SigningMethodEdDSA, w)
	t.Header["kid"] = kid
	raw, err := t.SignedString(key)
	if err != nil {
		return "", fmt.Errorf("sign token: %w", err)
	}
	return raw, nil
}
