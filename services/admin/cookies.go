package admin

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"
)

// The names of the cookies, without the prefix that they have over TLS.
const (
	sessionCookie = "session"
	flashCookie   = "flash"
	// pendingCookie waits for a code.
	pendingCookie = "sign-in"
	// deviceCookie is by what auth knows the browser again, see its device.go. It
	// signs nobody in.
	deviceCookie = "device"
)

// cookieName has the prefix by which browsers refuse the cookie to other hosts
// of the domain; they want it over TLS only.
func (web *web) cookieName(name string) string {
	if web.secure {
		return "__Host-" + name
	}
	return name
}

func (r *request) setCookie(name, value string, expires time.Time) {
	http.SetCookie(r.w, &http.Cookie{
		Name: r.web.cookieName(name), Value: value, Path: "/", Expires: expires,
		Secure: r.web.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

func (r *request) forgetCookie(name string) {
	http.SetCookie(r.w, &http.Cookie{
		Name: r.web.cookieName(name), Path: "/", MaxAge: -1, Secure: r.web.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// longestCookie is the longest that a browser keeps, in bytes. No service takes a
// longer token.
const longestCookie = 4096

func (r *request) cookie(name string) string {
	c, err := r.http.Cookie(r.web.cookieName(name))
	if err != nil || len(c.Value) > longestCookie {
		return ""
	}
	return c.Value
}

// At most mostDevices tokens of at most longestDevice bytes are sent to auth, which
// takes no others.
const (
	mostDevices   = 8
	longestDevice = 500
)

// deviceKept is how long a browser keeps what it is known by.
const deviceKept = 180 * 24 * time.Hour

// devices are the tokens of the people who have signed in in this browser.
func (r *request) devices() []string {
	value := r.cookie(deviceCookie)
	if value == "" {
		return nil
	}
	tokens := strings.SplitN(value, ".", mostDevices+1)[:min(strings.Count(value, ".")+1, mostDevices)]
	return slices.DeleteFunc(tokens, func(token string) bool { return len(token) > longestDevice })
}

// keepDevices keeps what auth has answered with; nothing leaves what there is.
func (r *request) keepDevices(tokens []string) {
	if len(tokens) > 0 {
		r.setCookie(deviceCookie, strings.Join(tokens, "."), r.web.now().Add(deviceKept))
	}
}

// notice is what the last action did, said on the page after it.
type notice struct {
	// Kind is "done" or "failed".
	Kind string `json:"k"`
	Text string `json:"t"`
}

// maxNotice keeps the cookie small.
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

// takeFlash returns the message of the last action, once.
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
