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

// request is one request of a browser: who sends it, and how it is answered.
type request struct {
	// texts are the messages in the language of the browser.
	*texts
	web      *web
	services services
	w        http.ResponseWriter
	http     *http.Request
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
func (r *request) admit(who access) error {
	if r.http.Method == http.MethodPost {
		if err := r.http.ParseForm(); err != nil {
			return pageFault(fault.TooLarge, fault.ReasonPayloadTooLarge, "unreadable", "the form is too long or damaged").Because(err)
		}
	}
	if err := r.authenticate(); err != nil {
		return err
	}
	if who == everybody {
		return nil
	}
	if r.session == nil {
		r.toSignIn()
		return nil
	}
	if r.http.Method == http.MethodPost && !r.session.isToken(r.http.PostForm.Get(csrfField)) {
		return errForgery
	}
	if who == owner && !r.session.Owner {
		return errOwnersOnly
	}
	return nil
}

// toSignIn sends to the sign-in page, and from there back.
func (r *request) toSignIn() {
	target := "/sign-in"
	if r.http.Method == http.MethodGet && r.http.URL.Path != "/" && !r.live() {
		target += "?next=" + url.QueryEscape(r.http.URL.RequestURI())
	}
	if r.cookie(sessionCookie) != "" {
		r.forgetCookie(sessionCookie)
		r.flash("failed", "Your session has ended. Sign in again.")
	}
	r.redirect(target)
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
func (r *request) redirect(path string) {
	r.record()
	r.done = true
	if r.live() {
		r.w.Header().Set("HX-Redirect", path)
		r.w.WriteHeader(http.StatusOK)
		return
	}
	r.w.Header().Set("Location", path)
	r.w.WriteHeader(http.StatusSeeOther)
}

// to redirects to another page.
func (r *request) to(path string) error {
	r.redirect(path)
	return nil
}

// back ends an action: the message is said on the page that comes next.
func (r *request) back(path, message string) error {
	r.flash("done", message)
	return r.to(path)
}

// sayFailed ends an action that is not possible: why is said on the page that comes
// next.
func (r *request) sayFailed(path, message string) error {
	r.flash("failed", message)
	return r.to(path)
}

// refused ends an action that was refused for a reason the person can do
// something about; other errors are returned.
func (r *request) refused(path string, err error) error {
	if f := fault.From(err); isRefusal(f) {
		return r.sayFailed(path, r.text(sentence(f)))
	}
	return err
}

// path returns a value of the path.
func (r *request) path(name string) string { return r.http.PathValue(name) }

// live tells whether htmx asks, which puts the answer into the page that is there.
func (r *request) live() bool { return r.http.Header.Get("Hx-Request") != "" }

// query returns a parameter of the address.
func (r *request) query(name string) string { return strings.TrimSpace(r.http.URL.Query().Get(name)) }

// value returns a field of the form, without space around it.
func (r *request) value(name string) string { return strings.TrimSpace(r.http.PostForm.Get(name)) }

// fail answers with a page that says what went wrong and what to do.
func (r *request) fail(err error) {
	f := fault.From(err)
	if rec, ok := r.w.(*recorder); ok {
		rec.failed = f
	}
	if f.Kind == fault.Unauthenticated && r.session != nil {
		// The session was ended, or the administrator disabled, a moment ago.
		r.session = nil
		r.toSignIn()
		return
	}
	if r.live() {
		// A live part stays as it is; the next full page says why.
		r.w.WriteHeader(statusOf(f))
		return
	}
	if err := r.renderStatus(statusOf(f), "error", troubleOf(f, rpc.RequestID(r.http.Context()))); err != nil {
		http.Error(r.w, "internal error", http.StatusInternalServerError)
	}
}

// frame is what the layout of every page is made from.
type frame struct {
	Title   *message
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
	head() (title *message, section string)
}

// render answers with a page.
func (r *request) render(name string, data titled) error {
	return r.renderStatus(http.StatusOK, name, data)
}

// show returns the handler of a page that is read and rendered.
func show[P titled](name string, read func(r *request) (P, error)) func(r *request) error {
	return func(r *request) error {
		page, err := read(r)
		if err != nil {
			return err
		}
		return r.render(name, page)
	}
}

// again answers with a form that was not accepted, by the error of submit. Another error
// than errNotAccepted is one of the page, and returned.
func (r *request) again(err error, name string, data titled) error {
	if !errors.Is(err, errNotAccepted) {
		return err
	}
	return r.notAccepted(name, data)
}

// notAccepted answers with a form that was not accepted.
func (r *request) notAccepted(name string, data titled) error {
	return r.renderStatus(http.StatusUnprocessableEntity, name, data)
}

func (r *request) renderStatus(code int, name string, data titled) error {
	f := r.frame(data)
	f.Title, f.Section = data.head()
	f.Flash, f.Self = r.takeFlash(), home
	if r.http.Method == http.MethodGet {
		f.Self = r.http.URL.RequestURI()
	}
	return r.send(code, name, "layout", f)
}

// fragment answers with a part of a page, for those who have JavaScript.
func (r *request) fragment(name, block string, data titled) error {
	return r.send(http.StatusOK, name, block, r.frame(data))
}

// frame returns what every part of a page is made from.
func (r *request) frame(data titled) *frame {
	f := &frame{Session: r.session, Key: r.web.newKey(), Now: r.web.now(), Page: data}
	if r.session != nil {
		f.CSRF = r.session.csrf
	}
	return f
}

// send renders as a whole before the first byte is sent: a template that fails
// midway becomes an error page, not half of one.
func (r *request) send(code int, name, block string, f *frame) error {
	var b bytes.Buffer
	if err := r.web.pages.execute(&b, r.texts, name, block, f); err != nil {
		return err
	}
	r.answer(code, "text/html; charset=utf-8", b.Bytes())
	return nil
}

// answer ends the request, whose change is in the audit log before.
func (r *request) answer(code int, mediaType string, body []byte) {
	r.record()
	r.done = true
	r.w.Header().Set("Content-Type", mediaType)
	r.w.WriteHeader(code)
	_, _ = r.w.Write(body)
}
