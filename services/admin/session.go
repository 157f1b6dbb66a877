package admin

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/roles"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
	"reservation.dev/platform/zone"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// session is the signed-in administrator of a request.
type session struct {
	ID            string
	Administrator *authv1.Administrator
	Company       *authv1.Company
	Role          roles.Role
	Expires       time.Time
	Clock         clock
	// Mode is that of the browser. Company is the company in that mode, or the one in live mode on a page
	// that always shows live data.
	Mode mode
	// Notices are changes that others made to the administrator's account.
	Notices []*authv1.Notice
	// csrf are the secrets of this session's forms, by the mode of their page.
	csrf map[mode][]byte
	// test says that Company is in test mode.
	test bool
}

// May reports whether the administrator has a capability, for templates. A name that is not in the table is an error.
func (s *session) May(c roles.Capability) (bool, error) {
	if !roles.Owner.May(c) && !roles.Teacher.May(c) {
		return false, fmt.Errorf("there is no capability %q", c)
	}
	return s.Role.May(c), nil
}

// Home returns the path of the first page that the administrator can open.
func (s *session) Home() string {
	switch {
	case s.Role.May(roles.SeeSchedule):
		return home
	case s.Role.May(roles.OwnClasses):
		return ownClassesPath
	}
	return "/account"
}

// Testing reports whether the browser is in test mode.
func (s *session) Testing() bool { return s.Mode == testMode }

// TestData reports whether the page shows test data.
func (s *session) TestData() bool { return s.test }

// LastNotice returns the time of the latest notice, as the form that dismisses it sends it.
func (s *session) LastNotice() string {
	return s.Notices[len(s.Notices)-1].GetAt().AsTime().Format(time.RFC3339Nano)
}

// NeedsEmail reports whether a customer must have an e-mail address; nil is a new customer. A customer without an
// address can stay without one, even if the company does not allow it any more.
func (s *session) NeedsEmail(c *customerv1.Customer) bool {
	isWithout := c != nil && c.GetEmail() == ""
	return !isWithout && !s.Company.GetOptionalCustomerEmails()
}

// isToken reports whether a form's token is for this session's pages in a mode. It compares in constant time.
func (s *session) isToken(sent string, m mode) bool {
	raw, err := base64.RawURLEncoding.DecodeString(sent)
	if err != nil || len(raw) != 2*len(s.csrf[m]) {
		return false
	}
	pad, masked := raw[:len(raw)/2], raw[len(raw)/2:]
	subtle.XORBytes(masked, masked, pad)
	return hmac.Equal(s.csrf[m], masked)
}

// tokenOf returns a token for the forms of a page.
func tokenOf(sessionToken string, m mode) string { return masked(formSecret(sessionToken, m)) }

// masked hides a secret under random bytes, which are in front of it. It differs on each page, so the size of
// a compressed page does not reveal it.
func masked(secret []byte) string {
	token := make([]byte, 2*len(secret))
	_, _ = rand.Read(token[:len(secret)]) // never fails
	subtle.XORBytes(token[len(secret):], secret, token[:len(secret)])
	return base64.RawURLEncoding.EncodeToString(token)
}

// formSecret derives the secret of a session's forms on pages in a mode.
func formSecret(sessionToken string, m mode) []byte {
	if m == testMode {
		return derivedBytes(sessionToken, "reservation dashboard form in test mode")
	}
	return derivedBytes(sessionToken, "reservation dashboard form")
}

// derived derives a token for a purpose from a session's token, which it does not reveal.
func derived(sessionToken, purpose string) string {
	return base64.RawURLEncoding.EncodeToString(derivedBytes(sessionToken, purpose))
}

func derivedBytes(sessionToken, purpose string) []byte {
	mac := hmac.New(sha256.New, []byte(sessionToken))
	mac.Write([]byte(purpose))
	return mac.Sum(nil)
}

// sessionTokenLen is the length of a session's token.
const sessionTokenLen = 43

// authenticate sets the session of the request, if there is one. Each request calls auth, so an
// ended session opens no page.
func (r *request) authenticate() error {
	raw := r.cookie(sessionCookie)
	if len(raw) != sessionTokenLen {
		return nil
	}
	browser := r.mode(raw)
	identity, err := r.identity(raw, r.dataMode(browser))
	if err == nil && browser == testMode && !roles.Of(identity.GetAdministrator().GetRole()).May(roles.UseTestMode) {
		// The role has changed since the browser was put in test mode.
		browser = liveMode
		identity, err = r.identity(raw, liveMode)
	}
	if fault.Is(err, fault.Unauthenticated) {
		return nil
	}
	if err != nil {
		return err
	}
	return r.enter(raw, identity, browser)
}

// enter sets the session and the access token of the request.
func (r *request) enter(raw string, identity *authv1.Identity, browser mode) error {
	company, err := id.Parse[id.Company](identity.GetCompany().GetId())
	if err != nil {
		return err
	}
	loc, err := zone.Load(identity.GetCompany().GetTimezone())
	if err != nil {
		return err
	}
	now := r.web.now()
	r.session = &session{
		ID: identity.GetSession().GetId(), Administrator: identity.GetAdministrator(), Company: identity.GetCompany(),
		Role:    roles.Of(identity.GetAdministrator().GetRole()),
		Expires: identity.GetSession().GetExpiresAt().AsTime().Truncate(time.Second), Notices: identity.GetNotices(),
		Clock: clock{Zone: loc, now: now.Add(time.Duration(identity.GetCompany().GetClockOffsetSeconds()) * time.Second), real: now, texts: r.texts},
		Mode:  browser, test: company.IsTest(),
		csrf: map[mode][]byte{liveMode: formSecret(raw, liveMode), testMode: formSecret(raw, testMode)},
	}
	r.ctx = rpc.WithClaims(r.ctx, &token.Claims{Company: company, Raw: identity.GetAccessToken()})
	return nil
}

// begin starts a session in this browser. Its new identifier replaces the browser's cookie.
func (r *request) begin(raw string, identity *authv1.Identity) {
	r.setCookie(sessionCookie, raw, identity.GetSession().GetExpiresAt().AsTime().Truncate(time.Second))
}

// address returns the browser's IP address, which auth uses for throttling and lists of sessions.
func (r *request) address() string { return r.web.cfg.Proxies.ClientAddress(r.http) }

// longestUserAgent is the number of bytes of a User-Agent that auth stores.
const longestUserAgent = 300

// userAgent returns the browser's User-Agent header, cut to longestUserAgent.
func (r *request) userAgent() string {
	name := r.http.UserAgent()
	return strings.ToValidUTF8(name[:min(len(name), longestUserAgent)], "")
}
