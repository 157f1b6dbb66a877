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

func (accountPage) head() (string, string) { return "Account", "account" }

func (v *visit) accountPage() (accountPage, error) {
	res, err := v.services.admins.ListSessions(v.ctx, &authv1.ListSessionsRequest{})
	return accountPage{
		Profile: newForm("name", v.session.Administrator.GetName()), Password: newForm(), Totp: newForm(), Setup: newForm(), Codes: newForm(), Sessions: res.GetSessions(),
	}, err
}

func (v *visit) account() error {
	page, err := v.accountPage()
	if err != nil {
		return err
	}
	return v.render("account", page)
}

// accountAgain shows the account with a form that was not accepted.
func (v *visit) accountAgain(put func(*accountPage)) error {
	page, err := v.accountPage()
	if err != nil {
		return err
	}
	put(&page)
	return v.notAccepted("account", page)
}

func (v *visit) updateProfile() error {
	f := v.sent(nil)
	name := f.required("name", "Your name")
	if !f.Failed() {
		_, err := v.services.admins.UpdateProfile(v.ctx, &authv1.UpdateProfileRequest{Name: name})
		if err == nil {
			return v.back("/account", "Saved.")
		}
		if !f.refuse(err) {
			return err
		}
	}
	return v.accountAgain(func(p *accountPage) { p.Profile = f })
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
func (v *visit) dismissNotices() error {
	back := local(v.value("back"), home)
	until, err := time.Parse(time.RFC3339Nano, v.value("until"))
	if err != nil {
		return v.to(back)
	}
	if _, err := v.services.admins.DismissNotices(v.ctx, &authv1.DismissNoticesRequest{Until: timestamppb.New(until)}); err != nil {
		return err
	}
	return v.to(back)
}

func (v *visit) changePassword() error {
	f := v.sent(map[string]string{"new_password": "password", "current_password": "current"})
	current := f.Get("current")
	if current == "" {
		f.add("current", "Your present password is needed.")
	}
	password := v.newPassword(f)
	if !f.Failed() {
		res, err := v.services.admins.ChangePassword(v.ctx, &authv1.ChangePasswordRequest{
			CurrentPassword: current, NewPassword: password, DeviceTokens: v.devices(),
		})
		if err == nil {
			v.keepDevices(res.GetDeviceTokens())
			return v.back("/account", "The password is changed. Your other sessions have ended.")
		}
		if !v.wrongPassword(f, "current", err) && !f.refuse(err) {
			return err
		}
	}
	return v.accountAgain(func(p *accountPage) { p.Password = f })
}

// wrongPassword puts the refusal of a password on the form.
func (v *visit) wrongPassword(f *form, field string, err error) bool {
	e := fault.From(err)
	switch {
	case e.Reason == "WRONG_PASSWORD":
		f.add(field, "This is not your present password.")
	case e.Kind == fault.RateLimited:
		f.Summary = "There were too many attempts. Wait " + waiting(e) + " and try again."
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

func (totpPage) head() (string, string) { return "Two-step sign-in", "account" }

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

func (v *visit) setupTotp() error {
	f := v.sent(nil)
	if f.required("setup-password", "Your password"); f.Failed() {
		return v.accountAgain(func(p *accountPage) { p.Setup = f })
	}
	res, err := v.services.admins.SetupTotp(v.ctx, &authv1.SetupTotpRequest{Password: f.Get("setup-password")})
	switch {
	case err == nil:
		return v.showTotp(newForm(), res)
	case v.wrongPassword(f, "setup-password", err):
		return v.accountAgain(func(p *accountPage) { p.Setup = f })
	}
	return v.refusedTotp(err)
}

// totpAgain shows the secret that waits to be confirmed, with a code that was not
// accepted.
func (v *visit) totpAgain(f *form) error {
	res, err := v.services.admins.SetupTotp(v.ctx, &authv1.SetupTotpRequest{Again: true})
	if err != nil {
		return v.refusedTotp(err)
	}
	return v.showTotp(f, res)
}

func (v *visit) showTotp(f *form, res *authv1.SetupTotpResponse) error {
	code, err := qrOf(res.GetOtpauthUri())
	if err != nil {
		return err
	}
	page := totpPage{Form: f, Secret: res.GetSecret(), Code: code}
	if f.Failed() {
		return v.notAccepted("totp", page)
	}
	return v.render("totp", page)
}

// refusedTotp goes back to the account. A form that was sent twice has turned it on
// the first time, and its recovery codes were in an answer that nobody may have seen.
func (v *visit) refusedTotp(err error) error {
	if fault.From(err).Reason == "TOTP_ALREADY_ENABLED" {
		return v.sayFailed("/account", "Two-step sign-in is on already. If you have not kept the recovery codes, make new ones here.")
	}
	return v.refused("/account", err)
}

func (v *visit) confirmTotp() error {
	f := v.sent(nil)
	code := f.required("code", "The code")
	if f.Failed() {
		return v.totpAgain(f)
	}
	res, err := v.services.admins.ConfirmTotp(v.ctx, &authv1.ConfirmTotpRequest{Code: strings.ReplaceAll(code, " ", "")})
	if err == nil {
		return v.render("totp", totpPage{Recovery: res.GetRecoveryCodes()})
	}
	switch e := fault.From(err); {
	case e.Reason == "INVALID_TOTP_CODE":
		f.add("code", "This code is not right. Check the time of your phone, and type the code that is shown now.")
	case e.Kind == fault.RateLimited:
		f.Summary = "There were too many wrong codes. Wait " + waiting(e) + " and try again."
	default:
		return v.refusedTotp(err)
	}
	return v.totpAgain(f)
}

func (v *visit) disableTotp() error {
	f := v.sent(map[string]string{"password": "totp-password"})
	_, err := v.services.admins.DisableTotp(v.ctx, &authv1.DisableTotpRequest{Password: f.Get("totp-password")})
	if err == nil {
		return v.back("/account", "Two-step sign-in is off.")
	}
	if !v.wrongPassword(f, "totp-password", err) && !f.refuse(err) {
		return err
	}
	return v.accountAgain(func(p *accountPage) { p.Totp = f })
}

// renewRecoveryCodes replaces the recovery codes, and shows them this once.
func (v *visit) renewRecoveryCodes() error {
	f := v.sent(nil)
	res, err := v.services.admins.RenewRecoveryCodes(v.ctx, &authv1.RenewRecoveryCodesRequest{Password: f.Get("codes-password")})
	if err == nil {
		return v.render("totp", totpPage{Recovery: res.GetRecoveryCodes(), Renewed: true})
	}
	if !v.wrongPassword(f, "codes-password", err) && !f.refuse(err) {
		return err
	}
	return v.accountAgain(func(p *accountPage) { p.Codes = f })
}

func (v *visit) endSession() error {
	back := local(v.value("back"), "/account")
	if _, err := v.services.admins.EndSession(v.ctx, &authv1.EndSessionRequest{Id: v.r.PathValue("id")}); err != nil {
		return v.refused(back, err)
	}
	return v.back(back, "The session has ended.")
}

func (v *visit) endOtherSessions() error {
	res, err := v.services.admins.EndOtherSessions(v.ctx, &authv1.EndOtherSessionsRequest{})
	if err != nil {
		return v.refused("/account", err)
	}
	return v.back("/account", plural(res.GetEnded(), "other session has", "other sessions have")+" ended.")
}
