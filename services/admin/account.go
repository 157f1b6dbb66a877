package admin

import (
	"fmt"
	"strings"
	"time"

	"github.com/boombuler/barcode/qr"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// accountPage is the administrator's own account.
type accountPage struct {
	Profile  *form
	Password *form
	Totp     *form
	Setup    *form
	Codes    *form
	Sessions []*authv1.Session
}

func (accountPage) head() (*message, string) { return literal("Account"), "account" }

func (r *request) accountPage() (accountPage, error) {
	res, err := r.services.admins.ListSessions(r.ctx, &authv1.ListSessionsRequest{})
	return accountPage{
		Profile: newForm("name", r.session.Administrator.GetName()), Password: newForm(), Totp: newForm(), Setup: newForm(), Codes: newForm(), Sessions: res.GetSessions(),
	}, err
}

// accountAgain shows the account with a form that was not accepted.
func (r *request) accountAgain(put func(*accountPage)) error {
	page, err := r.accountPage()
	if err != nil {
		return err
	}
	put(&page)
	return r.notAccepted("account", page)
}

func (r *request) updateProfile() error {
	f := r.sent(nil)
	name := f.required("name", literal("your name"))
	if !f.Failed() {
		_, err := r.services.admins.UpdateProfile(r.ctx, &authv1.UpdateProfileRequest{Name: name})
		if err == nil {
			return r.back("/account", "Saved.")
		}
		if !f.refuse(err) {
			return err
		}
	}
	return r.accountAgain(func(p *accountPage) { p.Profile = f })
}

// noticeText says what somebody else has done to the administrator's account.
func noticeText(n *authv1.Notice) string {
	who := n.GetByName()
	if who == "" {
		who = "Whoever runs the platform"
	}
	switch n.GetAction() {
	case "administrator.disable_totp":
		return who + " has turned off your two-step sign-in."
	case "administrator.end_sessions", "session.end":
		return who + " has ended sessions of yours."
	case "administrator.update":
		return who + " has changed your name or your role."
	case "administrator.create_reset_link":
		return who + " has made a link with which your password can be replaced."
	case "administrator.reset_password":
		return who + " has replaced your password."
	}
	return who + " has changed your account."
}

// dismissNotices drops what has been read, up to the latest that the page showed.
func (r *request) dismissNotices() error {
	back := local(r.value("back"), home)
	until, err := time.Parse(time.RFC3339Nano, r.value("until"))
	if err != nil {
		return r.to(back)
	}
	if _, err := r.services.admins.DismissNotices(r.ctx, &authv1.DismissNoticesRequest{Until: timestamppb.New(until)}); err != nil {
		return err
	}
	return r.to(back)
}

func (r *request) changePassword() error {
	f := r.sent(map[string]string{"new_password": "password", "current_password": "current"})
	current := f.Get("current")
	if current == "" {
		f.add("current", literal("Your present password is needed."))
	}
	password := r.newPassword(f)
	if !f.Failed() {
		res, err := r.services.admins.ChangePassword(r.ctx, &authv1.ChangePasswordRequest{
			CurrentPassword: current, NewPassword: password, DeviceTokens: r.devices(),
		})
		if err == nil {
			r.keepDevices(res.GetDeviceTokens())
			return r.back("/account", "The password is changed. Your other sessions have ended.")
		}
		if !r.wrongPassword(f, "current", err) && !f.refuse(err) {
			return err
		}
	}
	return r.accountAgain(func(p *accountPage) { p.Password = f })
}

// wrongPassword puts the refusal of a password on the form.
func (r *request) wrongPassword(f *form, field string, err error) bool {
	e := fault.From(err)
	switch {
	case e.Reason == "WRONG_PASSWORD":
		f.add(field, literal("This is not your present password."))
	case e.Kind == fault.RateLimited:
		f.Summary = literal("There were too many attempts. Wait " + waiting(e) + " and try again.")
	default:
		return false
	}
	return true
}

// totpPage sets the second factor up.
type totpPage struct {
	Form   *form
	Secret string
	Code   qrCode
	// Recovery are the codes, shown this once; empty before.
	Recovery []string
	// Renewed says that there were others before.
	Renewed bool
}

func (totpPage) head() (*message, string) { return literal("Two-step sign-in"), "account" }

// qrCode is a QR code as the path of an SVG, one unit for a module.
type qrCode struct {
	Size int
	Path string
}

func qrOf(text string) (qrCode, error) {
	code, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return qrCode{}, fmt.Errorf("QR code: %w", err)
	}
	var b strings.Builder
	size := code.Bounds().Dx()
	for y := range size {
		for x := range size {
			if r, _, _, _ := code.At(x, y).RGBA(); r == 0 {
				fmt.Fprintf(&b, "M%d %dh1v1h-1z", x, y)
			}
		}
	}
	return qrCode{size, b.String()}, nil
}

func (r *request) setupTotp() error {
	f := r.sent(nil)
	if f.required("setup-password", literal("your password")); f.Failed() {
		return r.accountAgain(func(p *accountPage) { p.Setup = f })
	}
	res, err := r.services.admins.SetupTotp(r.ctx, &authv1.SetupTotpRequest{Password: f.Get("setup-password")})
	switch {
	case err == nil:
		return r.showTotp(newForm(), res)
	case r.wrongPassword(f, "setup-password", err):
		return r.accountAgain(func(p *accountPage) { p.Setup = f })
	}
	return r.refusedTotp(err)
}

// totpAgain shows the secret that waits to be confirmed, with a code that was not
// accepted.
func (r *request) totpAgain(f *form) error {
	res, err := r.services.admins.SetupTotp(r.ctx, &authv1.SetupTotpRequest{Again: true})
	if err != nil {
		return r.refusedTotp(err)
	}
	return r.showTotp(f, res)
}

func (r *request) showTotp(f *form, res *authv1.SetupTotpResponse) error {
	code, err := qrOf(res.GetOtpauthUri())
	if err != nil {
		return err
	}
	page := totpPage{Form: f, Secret: res.GetSecret(), Code: code}
	if f.Failed() {
		return r.notAccepted("totp", page)
	}
	return r.render("totp", page)
}

// refusedTotp goes back to the account. A form that was sent twice has turned it on
// the first time, and its recovery codes were in an answer that nobody may have seen.
func (r *request) refusedTotp(err error) error {
	if fault.From(err).Reason == "TOTP_ALREADY_ENABLED" {
		return r.sayFailed("/account", "Two-step sign-in is on already. If you have not kept the recovery codes, make new ones here.")
	}
	return r.refused("/account", err)
}

func (r *request) confirmTotp() error {
	f := r.sent(nil)
	code := f.required("code", literal("the code"))
	if f.Failed() {
		return r.totpAgain(f)
	}
	res, err := r.services.admins.ConfirmTotp(r.ctx, &authv1.ConfirmTotpRequest{Code: strings.ReplaceAll(code, " ", "")})
	if err == nil {
		return r.render("totp", totpPage{Recovery: res.GetRecoveryCodes()})
	}
	switch e := fault.From(err); {
	case e.Reason == "INVALID_TOTP_CODE":
		f.add("code", literal("This code is not right. Check the time of your phone, and type the code that is shown now."))
	case e.Kind == fault.RateLimited:
		f.Summary = literal("There were too many wrong codes. Wait " + waiting(e) + " and try again.")
	default:
		return r.refusedTotp(err)
	}
	return r.totpAgain(f)
}

func (r *request) disableTotp() error {
	f := r.sent(map[string]string{"password": "totp-password"})
	_, err := r.services.admins.DisableTotp(r.ctx, &authv1.DisableTotpRequest{Password: f.Get("totp-password")})
	if err == nil {
		return r.back("/account", "Two-step sign-in is off.")
	}
	if !r.wrongPassword(f, "totp-password", err) && !f.refuse(err) {
		return err
	}
	return r.accountAgain(func(p *accountPage) { p.Totp = f })
}

// renewRecoveryCodes replaces the recovery codes, and shows them this once.
func (r *request) renewRecoveryCodes() error {
	f := r.sent(nil)
	res, err := r.services.admins.RenewRecoveryCodes(r.ctx, &authv1.RenewRecoveryCodesRequest{Password: f.Get("codes-password")})
	if err == nil {
		return r.render("totp", totpPage{Recovery: res.GetRecoveryCodes(), Renewed: true})
	}
	if !r.wrongPassword(f, "codes-password", err) && !f.refuse(err) {
		return err
	}
	return r.accountAgain(func(p *accountPage) { p.Codes = f })
}

func (r *request) endSession() error {
	back := local(r.value("back"), "/account")
	if _, err := r.services.admins.EndSession(r.ctx, &authv1.EndSessionRequest{Id: r.path("id")}); err != nil {
		return r.refused(back, err)
	}
	return r.back(back, "The session has ended.")
}

func (r *request) endOtherSessions() error {
	res, err := r.services.admins.EndOtherSessions(r.ctx, &authv1.EndOtherSessionsRequest{})
	if err != nil {
		return r.refused("/account", err)
	}
	return r.back("/account", plural(res.GetEnded(), "other session has", "other sessions have")+" ended.")
}
