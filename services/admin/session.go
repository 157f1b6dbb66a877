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

// session is the administrator who asks, for one request.
type session struct {
	ID            string
	Administrator *authv1.Administrator
	Company       *authv1.Company
	Owner         bool
	Clock         clock
	// Notices are what others have done to the administrator's account.
	Notices []*authv1.Notice
	// csrf proves that a form was made for this session.
	csrf string
}

// LastNotice is the moment of the latest notice, as the form sends it back.
func (s *session) LastNotice() string {
	return s.Notices[len(s.Notices)-1].GetAt().AsTime().Format(time.RFC3339Nano)
}

// isToken compares without telling how much was right.
func (s *session) isToken(sent string) bool { return hmac.Equal([]byte(s.csrf), []byte(sent)) }

// tokenOf derives the token of a session's forms. Who reads it in a page learns
// nothing of the session's own.
func tokenOf(sessionToken string) string {
	mac := hmac.New(sha256.New, []byte(sessionToken))
	mac.Write([]byte("reservation dashboard form"))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// sessionTokenLen is the length of what auth gives out.
const sessionTokenLen = 43

// authenticate finds out who asks, if anybody: each request asks auth, so that a
// session that was ended opens nothing.
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

// enter makes the request one of the identity.
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

// begin starts a session in this browser: under a new identifier, whatever
// cookie it came with.
func (r *request) begin(raw string, identity *authv1.Identity) {
	r.setCookie(sessionCookie, raw, identity.GetSession().GetExpiresAt().AsTime().Truncate(time.Second))
}

// address returns where the browser is, as auth throttles and lists it.
func (r *request) address() string { return r.web.cfg.Proxies.ClientAddress(r.http) }

// longestUserAgent is as much of a browser's name as auth keeps, in bytes.
const longestUserAgent = 300

// userAgent returns the name that the browser gives itself.
func (r *request) userAgent() string {
	name := r.http.UserAgent()
	return strings.ToValidUTF8(name[:min(len(name), longestUserAgent)], "")
}
