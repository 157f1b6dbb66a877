package admin

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/rpc"
)

// visit is one request for one page.
type visit struct {
	web      *web
	services services
	w        http.ResponseWriter
	r        *http.Request
	// ctx carries the administrator's access token, once there is one.
	ctx context.Context
	// session is who asks; nil on pages that need nobody.
	session *session
	// audited is the audit entry of the route, change what goes into it.
	audited audited
	change  change
	// done says that the answer has been given.
	done bool
}

// keyField and csrfField are the hidden fields of every form.
const (
	keyField  = "_key"
	csrfField = "_csrf"
)

// admit lets a request to its page, or answers it.
func (v *visit) admit(who access) error {
	if v.r.Method == http.MethodPost {
		if err := v.r.ParseForm(); err != nil {
			return fault.New(fault.TooLarge, fault.ReasonPayloadTooLarge, "The form could not be read: it is too long, or damaged.").Because(err)
		}
	}
	if err := v.authenticate(); err != nil {
		return err
	}
	if who == everybody {
		return nil
	}
	if v.session == nil {
		v.toSignIn()
		return nil
	}
	if v.r.Method == http.MethodPost && !v.session.isToken(v.r.PostForm.Get(csrfField)) {
		return errForgery
	}
	if who == owner && !v.session.Owner {
		return errOwnersOnly
	}
	return nil
}

// toSignIn sends to the sign-in page, and from there back.
func (v *visit) toSignIn() {
	target := "/sign-in"
	if v.r.Method == http.MethodGet && v.r.URL.Path != "/" && v.r.Header.Get("Hx-Request") == "" {
		target += "?next=" + url.QueryEscape(v.r.URL.RequestURI())
	}
	if v.cookie(sessionCookie) != "" {
		v.forgetCookie(sessionCookie)
		v.flash("failed", "Your session has ended. Sign in again.")
	}
	v.redirect(target)
}

// local returns a path of this site, or fallback: what a request names as the
// place to go on must not lead away from here.
func local(path, fallback string) string {
	u, err := url.Parse(path)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(path, "/") ||
		strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n\t") {
		return fallback
	}
	return u.RequestURI()
}

// redirect ends the request at another page, which is got.
func (v *visit) redirect(path string) {
	v.record()
	v.done = true
	if v.r.Header.Get("Hx-Request") != "" {
		v.w.Header().Set("HX-Redirect", path)
		v.w.WriteHeader(http.StatusOK)
		return
	}
	v.w.Header().Set("Location", path)
	v.w.WriteHeader(http.StatusSeeOther)
}

// to redirects to another page.
func (v *visit) to(path string) error {
	v.redirect(path)
	return nil
}

// back ends an action: the message is said on the page that comes next.
func (v *visit) back(path, message string) error {
	v.flash("done", message)
	return v.to(path)
}

// sayFailed ends an action that is not possible: why is said on the page that comes
// next.
func (v *visit) sayFailed(path, message string) error {
	v.flash("failed", message)
	return v.to(path)
}

// refused ends an action that was refused for a reason the person can do
// something about; other errors are returned.
func (v *visit) refused(path string, err error) error {
	if f := fault.From(err); isRefusal(f) {
		return v.sayFailed(path, sentence(f))
	}
	return err
}

// query returns a parameter of the address.
func (v *visit) query(name string) string { return strings.TrimSpace(v.r.URL.Query().Get(name)) }

// value returns a field of the form, without space around it.
func (v *visit) value(name string) string { return strings.TrimSpace(v.r.PostForm.Get(name)) }

// fail answers with a page that says what went wrong and what to do.
func (v *visit) fail(err error) {
	f := fault.From(err)
	if rec, ok := v.w.(*recorder); ok {
		rec.failed = f
	}
	if f.Kind == fault.Unauthenticated && v.session != nil {
		// The session was ended, or the administrator disabled, a moment ago.
		v.session = nil
		v.toSignIn()
		return
	}
	if v.r.Header.Get("Hx-Request") != "" {
		// A live part stays as it is; the next full page says why.
		v.w.WriteHeader(statusOf(f))
		return
	}
	if err := v.renderStatus(statusOf(f), "error", troubleOf(f, rpc.RequestID(v.r.Context()))); err != nil {
		http.Error(v.w, "internal error", http.StatusInternalServerError)
	}
}

// frame is what the layout of every page is made from.
type frame struct {
	Title   string
	Section string
	Session *session
	CSRF    string
	// Key makes a form that is sent twice be done once.
	Key   string
	Flash *notice
	Now   time.Time
	// Self is the address of a page that was got, to come back to.
	Self string
	Page any
}

// titled is the data of a page: its title, and the section that it is in.
type titled interface {
	head() (title, section string)
}

// render answers with a page.
func (v *visit) render(name string, data titled) error {
	return v.renderStatus(http.StatusOK, name, data)
}

// again answers with a form that was not accepted, by the error of submit. Another error
// than errNotAccepted is one of the page, and returned.
func (v *visit) again(err error, name string, data titled) error {
	if !errors.Is(err, errNotAccepted) {
		return err
	}
	return v.notAccepted(name, data)
}

// notAccepted answers with a form that was not accepted.
func (v *visit) notAccepted(name string, data titled) error {
	return v.renderStatus(http.StatusUnprocessableEntity, name, data)
}

func (v *visit) renderStatus(code int, name string, data titled) error {
	f := v.frame(data)
	f.Title, f.Section = data.head()
	f.Flash, f.Self = v.takeFlash(), home
	if v.r.Method == http.MethodGet {
		f.Self = v.r.URL.RequestURI()
	}
	return v.send(code, name, "layout", f)
}

// fragment answers with a part of a page, for those who have JavaScript.
func (v *visit) fragment(name, block string, data titled) error {
	return v.send(http.StatusOK, name, block, v.frame(data))
}

// frame returns what every part of a page is made from.
func (v *visit) frame(data titled) *frame {
	f := &frame{Session: v.session, Key: v.web.newKey(), Now: v.web.now(), Page: data}
	if v.session != nil {
		f.CSRF = v.session.csrf
	}
	return f
}

// send renders as a whole before the first byte is sent: a template that fails
// midway becomes an error page, not half of one.
func (v *visit) send(code int, name, block string, f *frame) error {
	var b bytes.Buffer
	if err := v.web.pages.execute(&b, name, block, f); err != nil {
		return err
	}
	v.answer(code, "text/html; charset=utf-8", b.Bytes())
	return nil
}

// answer ends the request, whose change is in the audit log before.
func (v *visit) answer(code int, mediaType string, body []byte) {
	v.record()
	v.done = true
	v.w.Header().Set("Content-Type", mediaType)
	v.w.WriteHeader(code)
	_, _ = v.w.Write(body)
}
