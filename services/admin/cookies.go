package admin

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"
)

// The names of the cookies, without the prefix that cookieName adds over TLS.
const (
	sessionCookie = "session"
	flashCookie   = "flash"
	// pendingCookie is a sign-in that waits for its two-step code.
	pendingCookie = "sign-in"
	// deviceCookie lets auth recognise the browser, see its device.go. It signs nobody in.
	deviceCookie = "device"
	// modeCookie puts the session in test mode.
	modeCookie = "test-mode"
)

// cookieName returns the name of a cookie. Over TLS, a prefix makes browsers refuse the cookie
// from other hosts of the domain.
func (web *web) cookieName(name string) string {
	if web.secure {
		return "__Host-" + name
	}
	return name
}

// setCookie sets a cookie. Browsers prefer its MaxAge to its time of expiry, so a wrong clock on their
// computer does not matter.
func (r *request) setCookie(name, value string, expires time.Time) {
	http.SetCookie(r.w, &http.Cookie{
		Name: r.web.cookieName(name), Value: value, Path: "/", Expires: expires, MaxAge: max(1, int(expires.Sub(r.web.now()).Seconds())),
		Secure: r.web.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

func (r *request) forgetCookie(name string) {
	http.SetCookie(r.w, &http.Cookie{
		Name: r.web.cookieName(name), Path: "/", MaxAge: -1, Secure: r.web.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// longestCookie is the longest cookie that browsers keep, in bytes. No service accepts a longer
// token.
const longestCookie = 4096

func (r *request) cookie(name string) string {
	c, err := r.http.Cookie(r.web.cookieName(name))
	if err != nil || len(c.Value) > longestCookie {
		return ""
	}
	return c.Value
}

// auth accepts at most mostDevices device tokens of at most longestDevice bytes each.
const (
	mostDevices   = 8
	longestDevice = 500
)

// deviceKept is how long a browser keeps its device tokens.
const deviceKept = 180 * 24 * time.Hour

// devices returns the device tokens of the administrators who have signed in with this browser.
func (r *request) devices() []string {
	value := r.cookie(deviceCookie)
	if value == "" {
		return nil
	}
	tokens := strings.SplitN(value, ".", mostDevices+1)[:min(strings.Count(value, ".")+1, mostDevices)]
	return slices.DeleteFunc(tokens, func(token string) bool { return len(token) > longestDevice })
}

// keepDevices sets the device tokens that auth returned; without any, the cookie stays.
func (r *request) keepDevices(tokens []string) {
	if len(tokens) > 0 {
		r.setCookie(deviceCookie, strings.Join(tokens, "."), r.web.now().Add(deviceKept))
	}
}

// notice is the message about the last action, shown on the page after it.
type notice struct {
	// Kind is "done" or "failed".
	Kind string `json:"k"`
	Text string `json:"t"`
}

// maxNotice is the longest message in a cookie, in characters.
const maxNotice = 600

// flash keeps a message for the next page.
func (r *request) flash(kind, text string) {
	if runes := []rune(text); len(runes) > maxNotice {
		text = string(runes[:maxNotice]) + "…"
	}
	raw, err := json.Marshal(notice{Kind: kind, Text: text})
	if err != nil {
		return // strings always marshal
	}
	r.setCookie(flashCookie, base64.RawURLEncoding.EncodeToString(raw), r.web.now().Add(time.Minute))
}

// takeFlash returns the message of the last action and removes it; nil if there is none.
func (r *request) takeFlash() *notice {
	value := r.cookie(flashCookie)
	if value == "" {
		return nil
	}
	r.forgetCookie(flashCookie)
	raw, err := base64.RawURLEncoding.DecodeString(value)
	var n notice
	if err != nil || json.Unmarshal(raw, &n) != nil || (n.Kind != "done" && n.Kind != "failed") {
		return nil
	}
	return &n
}
