package admin

import (
	"net/url"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/roles"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// signInPage is the first step of signing in.
type signInPage struct {
	Form *form
	Next string
}

func (signInPage) head() (*message, string) { return msg("settings.sign_in.title"), "" }

// codePage is the second step of signing in: a two-step code.
type codePage struct {
	Form *form
	Next string
}

func (codePage) head() (*message, string) { return msg("settings.code.title"), "" }

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
	email, password := f.required("email", msg("settings.sign_in.email_label")), f.Get("password")
	if password == "" {
		f.add("password", msg("refusals.form.required", "label", msg("settings.sign_in.password_label")))
	}
	if f.Failed() {
		return r.notAccepted("sign-in", page)
	}
	res, err := r.services.admins.SignIn(r.ctx, &authv1.SignInRequest{
		Email: email, Password: password, Address: r.address(), UserAgent: r.userAgent(), DeviceTokens: r.devices(),
	})
	switch e := fault.From(err); {
	case err == nil && res.GetTotpRequired():
		// The pending sign-in is in a cookie, so the next page does not need the password.
		r.setCookie(pendingCookie, res.GetPendingToken(), r.web.now().Add(pendingLifetime))
		return r.to("/sign-in/code?" + url.Values{"next": {page.Next}}.Encode())
	case err == nil:
		r.enterNew(res.GetSessionToken(), res.GetIdentity(), res.GetDeviceTokens())
		return r.to(page.Next)
	case e.Kind == fault.Unauthenticated:
		f.Summary = msg("settings.sign_in.wrong")
	case e.Kind == fault.RateLimited:
		f.Summary = msg("settings.sign_in.too_many", "wait", waiting(e))
	case !f.refuse(err):
		return err
	}
	return r.notAccepted("sign-in", page)
}

// pendingLifetime is how long the auth service waits for the code.
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
	code := f.required("code", msg("settings.code.code_label"))
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
		return r.sayFailed("/sign-in?"+url.Values{"next": {page.Next}}.Encode(), r.text("settings.code.expired"))
	case e.Reason == "INVALID_TOTP_CODE":
		f.add("code", msg("settings.code.wrong"))
	case e.Kind == fault.RateLimited:
		f.Summary = msg("settings.code.too_many", "wait", waiting(e))
	case !f.refuse(err):
		return err
	}
	return r.notAccepted("code", page)
}

// enterNew starts a session in this browser, and ends the browser's earlier one, which
// loses its cookie.
func (r *request) enterNew(raw string, identity *authv1.Identity, devices []string) {
	r.endPresent()
	if r.cookie(pendingCookie) != "" {
		r.forgetCookie(pendingCookie)
	}
	r.begin(raw, identity)
	r.keepDevices(devices)
}

// waiting says how long a throttled person has to wait.
func waiting(f *fault.Error) *message {
	seconds := int(f.RetryAfter.Seconds()) + 1
	if seconds > 90 {
		return msg("settings.wait.minutes", "count", (seconds+59)/60)
	}
	return msg("settings.wait.seconds", "count", seconds)
}

// endPresent ends the session of the browser's cookie.
func (r *request) endPresent() {
	if raw := r.cookie(sessionCookie); len(raw) == sessionTokenLen {
		// If this fails, the earlier session ends when it has been idle too long.
		_, _ = r.services.admins.SignOut(r.ctx, &authv1.SignOutRequest{SessionToken: raw})
	}
}

func (r *request) signOut() error {
	if r.session != nil {
		if err := r.checkForm(); err != nil {
			return err
		}
	}
	if raw := r.cookie(sessionCookie); len(raw) == sessionTokenLen {
		if _, err := r.services.admins.SignOut(r.ctx, &authv1.SignOutRequest{SessionToken: raw}); err != nil {
			return err
		}
	}
	r.forgetCookie(sessionCookie)
	r.w.Header().Set("Clear-Site-Data", `"cache"`)
	return r.back("/sign-in", r.text("settings.sign_in.signed_out"))
}

// invitationPage is the form on which an invited person becomes an administrator.
type invitationPage struct {
	Form       *form
	Invitation *authv1.Invitation
	Company    string
	Token      string
	Role       *message
}

func (p invitationPage) head() (*message, string) {
	return msg("settings.invitation.title", "company", p.Company), ""
}

func (r *request) findInvitation() (invitationPage, error) {
	p := invitationPage{Form: newForm(), Token: url.PathEscape(r.path("token"))}
	res, err := r.services.admins.GetInvitation(r.ctx, &authv1.GetInvitationRequest{Token: r.path("token")})
	if err != nil {
		return p, invitationFault(err)
	}
	p.Invitation, p.Company, p.Role = res.GetInvitation(), res.GetCompanyName(), roleName(res.GetInvitation().GetRole())
	return p, nil
}

// invitationFault returns err with the error page of an invitation that does not exist.
func invitationFault(err error) error {
	if fault.Is(err, fault.NotFound) {
		return pageFault(fault.NotFound, fault.ReasonNotFound, "no_invitation", "the invitation does not exist or was withdrawn")
	}
	return err
}

func (r *request) acceptInvitation() error {
	p, err := r.findInvitation()
	if err != nil {
		return err
	}
	p.Form = r.sent(nil)
	name := p.Form.required("name", msg("settings.invitation.name_label"))
	password := r.newPassword(p.Form)
	if p.Form.Failed() {
		return r.notAccepted("invitation", p)
	}
	res, err := r.services.admins.AcceptInvitation(r.ctx, &authv1.AcceptInvitationRequest{
		Token: r.path("token"), Name: name, Password: password, Address: r.address(), UserAgent: r.userAgent(), DeviceTokens: r.devices(),
	})
	if err != nil && fault.From(err).Reason == "EMAIL_ALREADY_EXISTS" {
		p.Form.Summary = msg("settings.invitation.email_taken")
		return r.notAccepted("invitation", p)
	}
	if err != nil {
		if p.Form.refuse(invitationFault(err)) {
			return r.notAccepted("invitation", p)
		}
		return err
	}
	r.enterNew(res.GetSessionToken(), res.GetIdentity(), res.GetDeviceTokens())
	return r.back(home, r.text("settings.invitation.welcome", "company", p.Company))
}

// newPassword returns the new password, which the form has twice.
func (r *request) newPassword(f *form) string {
	password := f.Get("password")
	switch {
	case len([]rune(password)) < 12:
		f.add("password", msg("settings.password.short"))
	case password != f.Get("repeat"):
		f.add("repeat", msg("settings.password.different"))
	}
	return password
}

// roleName returns a role's name.
func roleName(role authv1.AdministratorRole) *message {
	return msg("settings.role." + string(roles.Of(role)))
}
