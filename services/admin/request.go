package admin

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/roles"
	"reservation.dev/platform/rpc"
)

// request is one request of a browser.
type request struct {
	// texts are the messages in the language of the browser.
	*texts
	web      *web
	services services
	w        http.ResponseWriter
	http     *http.Request
	// ctx carries the administrator's access token, once there is one.
	ctx context.Context
	// session is that of the signed-in administrator; nil if nobody is signed in.
	session *session
	// alwaysLive says that the page uses live data in test mode too.
	alwaysLive bool
	// audited is the audit entry that the route declares, change the facts of this request.
	audited audited
	change  change
	// plain says that the address of a large page is plain, and zipped that the page is compressed; see compress.go.
	plain, zipped bool
	// done says that the response was sent.
	done bool
}

// keyField and csrfField are the hidden fields of every form.
const (
	keyField  = "_key"
	csrfField = "_csrf"
)

// admit checks that the request may open its page: the session, the CSRF token, the mode and the role's capability.
// It redirects to the sign-in page if nobody is signed in.
func (r *request) admit(required roles.Capability) error {
	if r.http.Method == http.MethodPost {
		if err := r.http.ParseForm(); err != nil {
			return pageFault(fault.TooLarge, fault.ReasonPayloadTooLarge, "unreadable", "the form is too long or damaged").Because(err)
		}
	}
	if err := r.authenticate(); err != nil {
		return err
	}
	if required == everybody {
		return nil
	}
	if r.session == nil {
		r.toSignIn()
		return nil
	}
	if r.http.Method == http.MethodPost {
		if err := r.checkForm(); err != nil {
			return err
		}
	}
	if r.reloads() {
		return nil
	}
	if !r.session.Role.May(required) {
		return r.refuseRole()
	}
	return nil
}

// refuseRole refuses a page that the role of the administrator cannot open. Of the home page, it leads to the first
// page that they can open.
func (r *request) refuseRole() error {
	if r.http.Method == http.MethodGet && r.http.URL.Path == home {
		return r.to(r.session.Home())
	}
	return errOtherRole
}

// toSignIn redirects to the sign-in page, which leads back to this page.
func (r *request) toSignIn() {
	target := "/sign-in"
	if r.http.Method == http.MethodGet && r.http.URL.Path != "/" && !r.live() {
		target += "?next=" + url.QueryEscape(r.http.URL.RequestURI())
	}
	if r.cookie(sessionCookie) != "" {
		r.forgetCookie(sessionCookie)
		r.flash("failed", r.text("refusals.session_ended"))
	}
	r.redirect(target)
}

// local returns path if it is a path of this site; otherwise fallback. A request must not
// redirect to another site.
func local(path, fallback string) string {
	u, err := url.Parse(path)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(path, "/") ||
		strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n\t") {
		return fallback
	}
	return u.RequestURI()
}

// redirect responds with a redirection to a page, which the browser gets.
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

// to redirects to a page and returns nil.
func (r *request) to(path string) error {
	r.redirect(path)
	return nil
}

// back redirects to a page and shows a message there, after a completed action.
func (r *request) back(path, message string) error {
	r.flash("done", message)
	return r.to(path)
}

// sayFailed redirects to a page and shows a message there, after an action that failed.
func (r *request) sayFailed(path, message string) error {
	r.flash("failed", message)
	return r.to(path)
}

// refused redirects to a page and shows the refusal there; it returns any other error.
func (r *request) refused(path string, err error) error {
	if f := fault.From(err); isRefusal(f) {
		return r.sayFailed(path, r.text(sentence(f)))
	}
	return err
}

// path returns a wildcard of the route's path.
func (r *request) path(name string) string { return r.http.PathValue(name) }

// live reports whether htmx sent the request, to replace a part of the page.
func (r *request) live() bool { return r.http.Header.Get("Hx-Request") != "" }

// logTexts returns the texts in which the audit log stores words, regardless of the language of the page.
func (r *request) logTexts() *texts { return r.web.pages.catalogue.texts[0] }

// logClock returns the session's clock for what the audit log stores.
func (r *request) logClock() clock {
	c := r.session.Clock
	c.texts = r.logTexts()
	return c
}

// query returns a query parameter, without surrounding space.
func (r *request) query(name string) string { return strings.TrimSpace(r.http.URL.Query().Get(name)) }

// value returns a field of the submitted form, without surrounding space.
func (r *request) value(name string) string { return strings.TrimSpace(r.http.PostForm.Get(name)) }

// fail responds with an error page.
func (r *request) fail(err error) {
	f := fault.From(err)
	if rec, ok := r.w.(*recorder); ok {
		rec.failed = f
	}
	if f.Kind == fault.Unauthenticated && r.session != nil {
		// The session has just been ended, or the administrator disabled.
		r.session = nil
		r.toSignIn()
		return
	}
	if r.live() {
		// The part of the page stays as it is; the next full page shows the error.
		r.w.WriteHeader(statusOf(f))
		return
	}
	if err := r.renderStatus(statusOf(f), "error", troubleOf(f, rpc.RequestID(r.http.Context()))); err != nil {
		http.Error(r.w, "internal error", http.StatusInternalServerError)
	}
}

// frame is the data of the layout.
type frame struct {
	Title   *message
	Section string
	Session *session
	CSRF    string
	// Key identifies the forms of this page, so that a form sent twice is carried out once.
	Key   string
	Flash *notice
	// Self is the path to return to: that of this page after a GET, or else the home page.
	Self string
	// Place is the page to go to after switching to the other mode.
	Place string
	Page  any
}

// titled is the data of a page, with its title and its section of the menu.
type titled interface {
	head() (title *message, section string)
}

// render responds with a page.
func (r *request) render(name string, data titled) error {
	return r.renderStatus(http.StatusOK, name, data)
}

// show returns a handler that reads a page's data and renders it.
func show[P titled](name string, read func(r *request) (P, error)) func(r *request) error {
	return func(r *request) error {
		page, err := read(r)
		if err != nil {
			return err
		}
		return r.render(name, page)
	}
}

// again responds with a form that submit did not accept; it returns any other error than
// errNotAccepted.
func (r *request) again(err error, name string, data titled) error {
	if !errors.Is(err, errNotAccepted) {
		return err
	}
	return r.notAccepted(name, data)
}

// notAccepted responds with the page of a form that has errors, with status 422.
func (r *request) notAccepted(name string, data titled) error {
	return r.renderStatus(http.StatusUnprocessableEntity, name, data)
}

func (r *request) renderStatus(code int, name string, data titled) error {
	f := r.frame(data)
	f.Title, f.Section = data.head()
	f.Flash, f.Self, f.Place = r.takeFlash(), home, r.place()
	if r.http.Method == http.MethodGet {
		f.Self = r.http.URL.RequestURI()
	}
	return r.send(code, name, "layout", f)
}

// fragment responds with a block of a page, for htmx.
func (r *request) fragment(name, block string, data titled) error {
	return r.send(http.StatusOK, name, block, r.frame(data))
}

// frame returns the data of the layout and of blocks.
func (r *request) frame(data titled) *frame {
	f := &frame{Session: r.session, Key: r.web.newKey(), Page: data}
	if r.session != nil {
		f.CSRF = masked(r.session.csrf[r.session.Mode])
	}
	return f
}

// send renders a page completely before it sends the first byte, so that a template that fails
// becomes an error page and not a truncated one.
func (r *request) send(code int, name, block string, f *frame) error {
	var b bytes.Buffer
	if err := r.web.pages.execute(&b, r.texts, name, block, f); err != nil {
		return err
	}
	r.answer(code, "text/html; charset=utf-8", b.Bytes())
	return nil
}

// answer sends the response, after recording the request's change in the audit log.
func (r *request) answer(code int, mediaType string, body []byte) {
	r.record()
	r.done = true
	r.w.Header().Set("Content-Type", mediaType)
	if r.zipped && code == http.StatusOK {
		r.w.Header().Set("Content-Encoding", "gzip")
		body = zip(body)
	}
	r.w.WriteHeader(code)
	_, _ = r.w.Write(body)
}

// zip compresses the body of a response.
func zip(body []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed) // the level is valid
	_, _ = w.Write(body)                            // writing to a buffer cannot fail
	_ = w.Close()
	return b.Bytes()
}
