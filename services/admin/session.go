package admin

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
	"reservation.dev/platform/zone"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// session is the signed-in administrator of a request.
type session struct {
	ID            string
	Administrator *authv1.Administrator
	Company       *authv1.Company
	Owner         bool
	Clock         clock
	// Notices are changes that others made to the administrator's account.
	Notices []*authv1.Notice
	// csrf is the token of this session's forms.
	csrf string
}

// LastNotice returns the time of the latest notice, as the form that dismisses it sends it.
func (s *session) LastNotice() string {
	return s.Notices[len(s.Notices)-1].GetAt().AsTime().Format(time.RFC3339Nano)
}

// isToken compares a form's token with the session's in constant time.
func (s *session) isToken(sent string) bool { return hmac.Equal([]byte(s.csrf), []byte(sent)) }

// tokenOf derives the token of a session's forms. It does not reveal the session's own token.
func tokenOf(sessionToken string) string {
	mac := hmac.New(sha256.New, []byte(sessionToken))
	mac.Write([]byte("reservation dashboard form"))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
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
	res, err := r.services.admins.Authenticate(r.ctx, &authv1.AuthenticateRequest{SessionToken: raw})
	if fault.Is(err, fault.Unauthenticated) {
		return nil
	}
	if err != nil {
		return err
	}
	return r.enter(raw, res.GetIdentity())
}

// enter sets the session and the access token of the request.
func (r *request) enter(raw string, identity *authv1.Identity) error {
	company, err := id.Parse[id.Company](identity.GetCompany().GetId())
	if err != nil {
		return err
	}
	loc, err := zone.Load(identity.GetCompany().GetTimezone())
	if err != nil {
		return err
	}
	r.session = &session{
		ID: identity.GetSession().GetId(), Administrator: identity.GetAdministrator(), Company: identity.GetCompany(),
		Owner: identity.GetAdministrator().GetRole() == authv1.AdministratorRole_ADMINISTRATOR_ROLE_OWNER,
		Clock: clock{Zone: loc, now: r.web.now(), texts: r.texts}, csrf: tokenOf(raw),
		Notices: identity.GetNotices(),
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
