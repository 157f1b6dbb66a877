package admin

import (
	"net/url"
	"time"

	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// signInPage is where a session begins.
type signInPage struct {
	Form *form
	Next string
}

func (signInPage) head() (string, string) { return "Sign in", "" }

// codePage asks for a code, once the password was right.
type codePage struct {
	Form *form
	Next string
}

func (codePage) head() (string, string) { return "Code", "" }

// home is the page after signing in.
const home = "/"

func (v *visit) signInForm() error {
	next := local(v.query("next"), home)
	if v.session != nil {
		return v.to(next)
	}
	return v.render("sign-in", signInPage{Form: newForm(), Next: next})
}

func (v *visit) signIn() error {
	f := v.sent(nil)
	page := signInPage{Form: f, Next: local(f.text("next"), home)}
	email, password := f.required("email", "Your e-mail address"), f.Get("password")
	if password == "" {
		f.add("password", "Your password is needed.")
	}
	if f.Failed() {
		return v.notAccepted("sign-in", page)
	}
	res, err := v.services.admins.SignIn(v.ctx, &authv1.SignInRequest{
		Email: email, Password: password, Address: v.address(), UserAgent: v.userAgent(), DeviceTokens: v.devices(),
	})
	switch e := fault.From(err); {
	case err == nil && res.GetTotpRequired():
		// What goes on is in a cookie, not in the page: the password is not needed again.
		v.setCookie(pendingCookie, res.GetPendingToken(), v.web.now().Add(pendingLifetime))
		return v.to("/sign-in/code?" + url.Values{"next": {page.Next}}.Encode())
	case err == nil:
		v.enterNew(res.GetSessionToken(), res.GetIdentity(), res.GetDeviceTokens())
		return v.to(page.Next)
	case e.Kind == fault.Unauthenticated:
		f.Summary = "E-mail address and password do not fit together."
	case e.Kind == fault.RateLimited:
		f.Summary = "There were too many attempts from this network. Wait " + waiting(e) + " and try again, or use a browser in which you have signed in before."
	case !f.refuse(err):
		return err
	}
	return v.notAccepted("sign-in", page)
}

// pendingLifetime is how long auth waits for the code.
const pendingLifetime = 5 * time.Minute

func (v *visit) codeForm() error {
	next := local(v.query("next"), home)
	if v.session != nil {
		return v.to(next)
	}
	if v.cookie(pendingCookie) == "" {
		return v.to("/sign-in?" + url.Values{"next": {next}}.Encode())
	}
	return v.render("code", codePage{Form: newForm(), Next: next})
}

func (v *visit) sendCode() error {
	f := v.sent(map[string]string{"totp_code": "code"})
	page := codePage{Form: f, Next: local(f.text("next"), home)}
	code := f.required("code", "The code")
	if f.Failed() {
		return v.notAccepted("code", page)
	}
	res, err := v.services.admins.FinishSignIn(v.ctx, &authv1.FinishSignInRequest{
		PendingToken: v.cookie(pendingCookie), TotpCode: code, Address: v.address(), UserAgent: v.userAgent(), DeviceTokens: v.devices(),
	})
	switch e := fault.From(err); {
	case err == nil:
		v.enterNew(res.GetSessionToken(), res.GetIdentity(), res.GetDeviceTokens())
		return v.to(page.Next)
	case e.Kind == fault.Unauthenticated:
		v.forgetCookie(pendingCookie)
		return v.sayFailed("/sign-in?"+url.Values{"next": {page.Next}}.Encode(), "The time for the code is over, or there were too many wrong ones. Begin again with your password.")
	case e.Reason == "INVALID_TOTP_CODE":
		f.add("code", "This code is not right, or was used before. Wait for the next one.")
	case e.Kind == fault.RateLimited:
		f.Summary = "There were too many wrong codes. Wait " + waiting(e) + " and try again."
	case !f.refuse(err):
		return err
	}
	return v.notAccepted("code", page)
}

// enterNew begins a session in this browser. Another one in it ends: it would be
// left without a cookie.
func (v *visit) enterNew(raw string, identity *authv1.Identity, devices []string) {
	v.endPresent()
	if v.cookie(pendingCookie) != "" {
		v.forgetCookie(pendingCookie)
	}
	v.begin(raw, identity)
	v.keepDevices(devices)
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
func (v *visit) endPresent() {
	if raw := v.cookie(sessionCookie); len(raw) == sessionTokenLen {
		// The new session is what counts; the old one idles out if this fails.
		_, _ = v.services.admins.SignOut(v.ctx, &authv1.SignOutRequest{SessionToken: raw})
	}
}

func (v *visit) signOut() error {
	if v.session != nil && !v.session.isToken(v.r.PostForm.Get(csrfField)) {
		return errForgery
	}
	if raw := v.cookie(sessionCookie); len(raw) == sessionTokenLen {
		if _, err := v.services.admins.SignOut(v.ctx, &authv1.SignOutRequest{SessionToken: raw}); err != nil {
			return err
		}
	}
	v.forgetCookie(sessionCookie)
	v.w.Header().Set("Clear-Site-Data", `"cache"`)
	return v.back("/sign-in", "You are signed out.")
}

// invitationPage is where an invited person becomes an administrator.
type invitationPage struct {
	Form       *form
	Invitation *authv1.Invitation
	Company    string
	Token      string
	Role       string
}

func (p invitationPage) head() (string, string) { return "Join " + p.Company, "" }

func (v *visit) findInvitation() (invitationPage, error) {
	p := invitationPage{Form: newForm(), Token: url.PathEscape(v.r.PathValue("token"))}
	res, err := v.services.admins.GetInvitation(v.ctx, &authv1.GetInvitationRequest{Token: v.r.PathValue("token")})
	if err != nil {
		return p, invitationFault(err)
	}
	p.Invitation, p.Company, p.Role = res.GetInvitation(), res.GetCompanyName(), roleName(res.GetInvitation().GetRole())
	return p, nil
}

// noInvitation is said of a link that leads nowhere.
const noInvitation = "This invitation does not exist or was withdrawn. Ask whoever invited you for a new link."

// emailTaken is said to somebody who has an account already, maybe elsewhere.
const emailTaken = "There is an account with this e-mail address already, here or at another company, and an address has one. " +
	"Sign in with it, or ask for an invitation to another address."

// invitationFault says what is wrong with a link.
func invitationFault(err error) error {
	switch f := fault.From(err); {
	case f.Kind == fault.NotFound:
		return fault.New(fault.NotFound, fault.ReasonNotFound, noInvitation)
	case f.Reason == "INVITATION_EXPIRED":
		return fault.Refuse(f.Reason, "This invitation has expired. Ask whoever invited you for a new link.")
	case f.Reason == "INVITATION_ACCEPTED":
		return fault.Refuse(f.Reason, "This invitation has been used. Sign in with the password that you chose.")
	}
	return err
}

func (v *visit) invitation() error {
	p, err := v.findInvitation()
	if err != nil {
		return err
	}
	return v.render("invitation", p)
}

func (v *visit) acceptInvitation() error {
	p, err := v.findInvitation()
	if err != nil {
		return err
	}
	p.Form = v.sent(nil)
	name := p.Form.required("name", "Your name")
	password := v.newPassword(p.Form)
	if p.Form.Failed() {
		return v.notAccepted("invitation", p)
	}
	res, err := v.services.admins.AcceptInvitation(v.ctx, &authv1.AcceptInvitationRequest{
		Token: v.r.PathValue("token"), Name: name, Password: password, Address: v.address(), UserAgent: v.userAgent(), DeviceTokens: v.devices(),
	})
	if err != nil && fault.From(err).Reason == "EMAIL_ALREADY_EXISTS" {
		p.Form.Summary = emailTaken
		return v.notAccepted("invitation", p)
	}
	if err != nil {
		if p.Form.refuse(invitationFault(err)) {
			return v.notAccepted("invitation", p)
		}
		return err
	}
	v.enterNew(res.GetSessionToken(), res.GetIdentity(), res.GetDeviceTokens())
	return v.back(home, "Welcome to "+p.Company+".")
}

// newPassword returns the password that was chosen, typed twice.
func (v *visit) newPassword(f *form) string {
	password := f.Get("password")
	switch {
	case len([]rune(password)) < 12:
		f.add("password", "The password needs at least 12 characters.")
	case password != f.Get("repeat"):
		f.add("repeat", "The two passwords are not the same.")
	}
	return password
}

// roleName says what a role is called.
func roleName(r authv1.AdministratorRole) string {
	if r == authv1.AdministratorRole_ADMINISTRATOR_ROLE_OWNER {
		return "Owner"
	}
	return "Staff"
}
