package admin

import (
	"net/url"
	"time"

	"reservation.dev/platform/enum"
	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// signInPage is where a session begins.
type signInPage struct {
	Form *form
	Next string
}

func (signInPage) head() (*message, string) { return literal("Sign in"), "" }

// codePage asks for a code, once the password was right.
type codePage struct {
	Form *form
	Next string
}

func (codePage) head() (*message, string) { return literal("Code"), "" }

// home is the page after signing in.
const home = "/"

func (r *request) signInForm() error {
	next := local(r.query("next"), home)
	if r.session != nil {
		return r.to(next)
	}
	return r.render("sign-in", signInPage{Form: newForm(), Next: next})
}

func (r *request) signIn() error {
	f := r.sent(nil)
	page := signInPage{Form: f, Next: local(f.text("next"), home)}
	email, password := f.required("email", literal("your e-mail address")), f.Get("password")
	if password == "" {
		f.add("password", literal("Your password is needed."))
	}
	if f.Failed() {
		return r.notAccepted("sign-in", page)
	}
	res, err := r.services.admins.SignIn(r.ctx, &authv1.SignInRequest{
		Email: email, Password: password, Address: r.address(), UserAgent: r.userAgent(), DeviceTokens: r.devices(),
	})
	switch e := fault.From(err); {
	case err == nil && res.GetTotpRequired():
		// What goes on is in a cookie, not in the page: the password is not needed again.
		r.setCookie(pendingCookie, res.GetPendingToken(), r.web.now().Add(pendingLifetime))
		return r.to("/sign-in/code?" + url.Values{"next": {page.Next}}.Encode())
	case err == nil:
		r.enterNew(res.GetSessionToken(), res.GetIdentity(), res.GetDeviceTokens())
		return r.to(page.Next)
	case e.Kind == fault.Unauthenticated:
		f.Summary = literal("E-mail address and password do not fit together.")
	case e.Kind == fault.RateLimited:
		f.Summary = literal("There were too many attempts from this network. Wait " + waiting(e) + " and try again, or use a browser in which you have signed in before.")
	case !f.refuse(err):
		return err
	}
	return r.notAccepted("sign-in", page)
}

// pendingLifetime is how long auth waits for the code.
const pendingLifetime = 5 * time.Minute

func (r *request) codeForm() error {
	next := local(r.query("next"), home)
	if r.session != nil {
		return r.to(next)
	}
	if r.cookie(pendingCookie) == "" {
		return r.to("/sign-in?" + url.Values{"next": {next}}.Encode())
	}
	return r.render("code", codePage{Form: newForm(), Next: next})
}

func (r *request) sendCode() error {
	f := r.sent(map[string]string{"totp_code": "code"})
	page := codePage{Form: f, Next: local(f.text("next"), home)}
	code := f.required("code", literal("the code"))
	if f.Failed() {
		return r.notAccepted("code", page)
	}
	res, err := r.services.admins.FinishSignIn(r.ctx, &authv1.FinishSignInRequest{
		PendingToken: r.cookie(pendingCookie), TotpCode: code, Address: r.address(), UserAgent: r.userAgent(), DeviceTokens: r.devices(),
	})
	switch e := fault.From(err); {
	case err == nil:
		r.enterNew(res.GetSessionToken(), res.GetIdentity(), res.GetDeviceTokens())
		return r.to(page.Next)
	case e.Kind == fault.Unauthenticated:
		r.forgetCookie(pendingCookie)
		return r.sayFailed("/sign-in?"+url.Values{"next": {page.Next}}.Encode(), "The time for the code is over, or there were too many wrong ones. Begin again with your password.")
	case e.Reason == "INVALID_TOTP_CODE":
		f.add("code", literal("This code is not right, or was used before. Wait for the next one."))
	case e.Kind == fault.RateLimited:
		f.Summary = literal("There were too many wrong codes. Wait " + waiting(e) + " and try again.")
	case !f.refuse(err):
		return err
	}
	return r.notAccepted("code", page)
}

// enterNew begins a session in this browser. Another one in it ends: it would be
// left without a cookie.
func (r *request) enterNew(raw string, identity *authv1.Identity, devices []string) {
	r.endPresent()
	if r.cookie(pendingCookie) != "" {
		r.forgetCookie(pendingCookie)
	}
	r.begin(raw, identity)
	r.keepDevices(devices)
}

// waiting says how long a throttled person has to wait.
func waiting(f *fault.Error) string {
	seconds := int(f.RetryAfter.Seconds()) + 1
	if seconds > 90 {
		return plural((seconds+59)/60, "minute", "minutes")
	}
	return plural(seconds, "second", "seconds")
}

// endPresent ends the session of the cookie that the browser has sent.
func (r *request) endPresent() {
	if raw := r.cookie(sessionCookie); len(raw) == sessionTokenLen {
		// The new session is what counts; the old one idles out if this fails.
		_, _ = r.services.admins.SignOut(r.ctx, &authv1.SignOutRequest{SessionToken: raw})
	}
}

func (r *request) signOut() error {
	if r.session != nil && !r.session.isToken(r.http.PostForm.Get(csrfField)) {
		return errForgery
	}
	if raw := r.cookie(sessionCookie); len(raw) == sessionTokenLen {
		if _, err := r.services.admins.SignOut(r.ctx, &authv1.SignOutRequest{SessionToken: raw}); err != nil {
			return err
		}
	}
	r.forgetCookie(sessionCookie)
	r.w.Header().Set("Clear-Site-Data", `"cache"`)
	return r.back("/sign-in", "You are signed out.")
}

// invitationPage is where an invited person becomes an administrator.
type invitationPage struct {
	Form       *form
	Invitation *authv1.Invitation
	Company    string
	Token      string
	Role       string
}

func (p invitationPage) head() (*message, string) { return literal("Join " + p.Company), "" }

func (r *request) findInvitation() (invitationPage, error) {
	p := invitationPage{Form: newForm(), Token: url.PathEscape(r.path("token"))}
	res, err := r.services.admins.GetInvitation(r.ctx, &authv1.GetInvitationRequest{Token: r.path("token")})
	if err != nil {
		return p, invitationFault(err)
	}
	p.Invitation, p.Company, p.Role = res.GetInvitation(), res.GetCompanyName(), roleName(res.GetInvitation().GetRole())
	return p, nil
}

// emailTaken is said to somebody who has an account already, maybe elsewhere.
const emailTaken = "There is an account with this e-mail address already, here or at another company, and an address has one. " +
	"Sign in with it, or ask for an invitation to another address."

// invitationFault says what is wrong with a link.
func invitationFault(err error) error {
	switch f := fault.From(err); {
	case f.Kind == fault.NotFound:
		return pageFault(fault.NotFound, fault.ReasonNotFound, "no_invitation", "the invitation does not exist or was withdrawn")
	case f.Reason == "INVITATION_EXPIRED":
		return fault.Refuse(f.Reason, "This invitation has expired. Ask whoever invited you for a new link.")
	case f.Reason == "INVITATION_ACCEPTED":
		return fault.Refuse(f.Reason, "This invitation has been used. Sign in with the password that you chose.")
	}
	return err
}

func (r *request) acceptInvitation() error {
	p, err := r.findInvitation()
	if err != nil {
		return err
	}
	p.Form = r.sent(nil)
	name := p.Form.required("name", literal("your name"))
	password := r.newPassword(p.Form)
	if p.Form.Failed() {
		return r.notAccepted("invitation", p)
	}
	res, err := r.services.admins.AcceptInvitation(r.ctx, &authv1.AcceptInvitationRequest{
		Token: r.path("token"), Name: name, Password: password, Address: r.address(), UserAgent: r.userAgent(), DeviceTokens: r.devices(),
	})
	if err != nil && fault.From(err).Reason == "EMAIL_ALREADY_EXISTS" {
		p.Form.Summary = literal(emailTaken)
		return r.notAccepted("invitation", p)
	}
	if err != nil {
		if p.Form.refuse(invitationFault(err)) {
			return r.notAccepted("invitation", p)
		}
		return err
	}
	r.enterNew(res.GetSessionToken(), res.GetIdentity(), res.GetDeviceTokens())
	return r.back(home, "Welcome to "+p.Company+".")
}

// newPassword returns the password that was chosen, typed twice.
func (r *request) newPassword(f *form) string {
	password := f.Get("password")
	switch {
	case len([]rune(password)) < 12:
		f.add("password", literal("The password needs at least 12 characters."))
	case password != f.Get("repeat"):
		f.add("repeat", literal("The two passwords are not the same."))
	}
	return password
}

// roleName says what a role is called.
func roleName(role authv1.AdministratorRole) string { return upperFirst(enum.Name(role)) }
