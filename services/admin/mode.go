package admin

import (
	"context"
	"crypto/hmac"
	"errors"
	"net/http"
	"strings"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// mode says whether a browser shows live data or test data. A cookie has it, so all tabs of a
// browser are in one mode. The address of a page does not have it.
type mode string

const (
	liveMode mode = "live"
	testMode mode = "test"
)

// other returns the other mode.
func (m mode) other() mode {
	if m == testMode {
		return liveMode
	}
	return testMode
}

// dataMode returns the mode of the data that the page shows.
func (r *request) dataMode(m mode) mode {
	if r.alwaysLive {
		return liveMode
	}
	return m
}

// markOf derives the value of the cookie that puts a session in test mode. Another session is in
// live mode, even in the same browser.
func markOf(sessionToken string) string {
	return derived(sessionToken, "reservation dashboard test mode")
}

// mode returns the mode in which the browser is with a session.
func (r *request) mode(sessionToken string) mode {
	if hmac.Equal([]byte(markOf(sessionToken)), []byte(r.cookie(modeCookie))) {
		return testMode
	}
	return liveMode
}

// identity returns the administrator of a session, with an access token for the data of a mode. An
// earlier release of auth, which has no test mode, returns a token for live data: identity refuses it.
func (r *request) identity(sessionToken string, m mode) (*authv1.Identity, error) {
	res, err := r.services.admins.Authenticate(r.ctx, &authv1.AuthenticateRequest{SessionToken: sessionToken, TestMode: m == testMode})
	if err != nil {
		return nil, err
	}
	company, err := id.Parse[id.Company](res.GetIdentity().GetCompany().GetId())
	if err == nil && company.IsTest() != (m == testMode) {
		err = fault.Away(errors.New("auth returned an access token of the other mode"))
	}
	return res.GetIdentity(), err
}

// liveContext returns the context of calls for live data, from a page that may show test data.
func (r *request) liveContext() (context.Context, error) {
	if !r.session.TestData() {
		return r.ctx, nil
	}
	identity, err := r.identity(r.cookie(sessionCookie), liveMode)
	if err != nil {
		return nil, err
	}
	claims := *rpc.ClaimsFrom(r.ctx)
	claims.Company, claims.Raw = claims.Company.Live(), identity.GetAccessToken()
	return rpc.WithClaims(r.ctx, &claims), nil
}

// modeFaults refuse a form that was opened in the other mode, by the mode in which the browser is now.
var modeFaults = map[mode]*fault.Error{
	liveMode: pageFault(fault.Conflict, "OTHER_MODE", "opened_in_test_mode", "the form was opened in test mode"),
	testMode: pageFault(fault.Conflict, "OTHER_MODE", "opened_in_live_mode", "the form was opened in live mode"),
}

// checkForm checks that the form is on a page of this session that was opened in the present mode. A
// form that changes live data in both modes can be sent in both.
func (r *request) checkForm() error {
	sent := r.http.PostForm.Get(csrfField)
	switch {
	case r.session.isToken(sent, r.session.Mode):
		return nil
	case !r.session.isToken(sent, r.session.Mode.other()):
		return errForgery
	case r.alwaysLive:
		return nil
	}
	return modeFaults[r.session.Mode]
}

// modeHeader is set in requests of htmx from pages in test mode.
const modeHeader = "Dashboard-Mode"

// reloads makes htmx reload the page if it was opened in the other mode, because a part of a page
// must not show data of the other mode. It reports whether it did.
func (r *request) reloads() bool {
	opened := liveMode
	if r.http.Header.Get(modeHeader) == string(testMode) {
		opened = testMode
	}
	if !r.live() || opened == r.session.Mode {
		return false
	}
	r.done = true
	r.w.Header().Set("Hx-Refresh", "true")
	r.w.WriteHeader(http.StatusOK)
	return true
}

// place returns the path of the nearest page that exists in both modes: this page, or the list that
// leads to it.
func (r *request) place() string {
	_, path, _ := strings.Cut(r.http.Pattern, " ")
	path, _, _ = strings.Cut(path, "/{")
	if r.web.places[path] {
		return path
	}
	return home
}

// placesOf returns the paths of the pages whose address has no identifier.
func placesOf(all []route) map[string]bool {
	places := map[string]bool{}
	for _, route := range all {
		path, ok := strings.CutPrefix(route.pattern, "GET ")
		places[path] = ok && route.capability != everybody && !strings.Contains(path, "{")
	}
	return places
}

// switchMode puts the browser in the mode that the form asks for. For an owner, auth creates the company
// in test mode if it does not exist.
func (r *request) switchMode() error {
	raw, back := r.cookie(sessionCookie), local(r.value("back"), home)
	if r.value("mode") != string(testMode) {
		r.forgetCookie(modeCookie)
		return r.back(back, r.text("shared.mode.is_live"))
	}
	if _, err := r.identity(raw, testMode); err != nil {
		return r.refused(back, err)
	}
	r.setCookie(modeCookie, markOf(raw), r.session.Expires)
	return r.back(back, r.text("shared.mode.is_test"))
}
