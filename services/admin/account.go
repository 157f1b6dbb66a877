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
	Role     *message
	Profile  *form
	Language *form
	Password *form
	Totp     *form
	Setup    *form
	Codes    *form
	Sessions []*authv1.Session
	// Languages are the choices of the language form.
	Languages []option
}

func (accountPage) head() (*message, string) { return msg("settings.account.title"), "account" }

func (r *request) accountPage() (accountPage, error) {
	res, err := r.services.admins.ListSessions(r.ctx, &authv1.ListSessionsRequest{})
	return accountPage{
		Role: roleName(r.session.Administrator.GetRole()), Profile: newForm("name", r.session.Administrator.GetName()), Language: r.languageForm(), Languages: r.languageOptions(), Password: newForm(), Totp: newForm(), Setup: newForm(), Codes: newForm(), Sessions: res.GetSessions(),
	}, err
}

// accountAgain shows the account page with a form that was not accepted.
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
	name := f.required("name", msg("settings.account.name_label"))
	if !f.Failed() {
		_, err := r.services.admins.UpdateProfile(r.ctx, &authv1.UpdateProfileRequest{Name: name})
		if err == nil {
			return r.back("/account", r.text("settings.account.saved"))
		}
		if !f.refuse(err) {
			return err
		}
	}
	return r.accountAgain(func(p *accountPage) { p.Profile = f })
}

// noticeText says what another person has changed in the administrator's account.
func noticeText(n *authv1.Notice) *message {
	name := literal(n.GetByName())
	if n.GetByName() == "" {
		name = msg("settings.notice.operator")
	}
	switch n.GetAction() {
	case "administrator.disable_totp":
		return msg("settings.notice.totp_disabled", "who", name)
	case "administrator.end_sessions", "session.end":
		return msg("settings.notice.sessions_ended", "who", name)
	case "administrator.update":
		return msg("settings.notice.updated", "who", name)
	case "administrator.create_reset_link":
		return msg("settings.notice.reset_link", "who", name)
	case "administrator.reset_password":
		return msg("settings.notice.password_reset", "who", name)
	}
	return msg("settings.notice.changed", "who", name)
}

// dismissNotices deletes the notices that the page showed, up to the latest one.
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
		f.add("current", msg("refusals.form.required", "label", msg("settings.account.current_label")))
	}
	password := r.newPassword(f)
	if !f.Failed() {
		res, err := r.services.admins.ChangePassword(r.ctx, &authv1.ChangePasswordRequest{
			CurrentPassword: current, NewPassword: password, DeviceTokens: r.devices(),
		})
		if err == nil {
			r.keepDevices(res.GetDeviceTokens())
			return r.back("/account", r.text("settings.account.password_changed"))
		}
		if !r.wrongPassword(f, "current", err) && !f.refuse(err) {
			return err
		}
	}
	return r.accountAgain(func(p *accountPage) { p.Password = f })
}

// wrongPassword shows the refusal of the current password on the form. It reports whether err is
// such a refusal.
func (r *request) wrongPassword(f *form, field string, err error) bool {
	e := fault.From(err)
	switch {
	case e.Reason == "WRONG_PASSWORD":
		f.add(field, msg("settings.account.wrong_password"))
	case e.Kind == fault.RateLimited:
		f.Summary = msg("settings.account.too_many", "wait", waiting(e))
	default:
		return false
	}
	return true
}

// totpPage sets up two-step sign-in, or shows new recovery codes.
type totpPage struct {
	Form   *form
	Secret string
	Code   qrCode
	// Recovery has the recovery codes, the only time that they are shown; empty before that.
	Recovery []string
	// Renewed is true if the codes replace earlier ones.
	Renewed bool
}

func (totpPage) head() (*message, string) { return msg("settings.totp.title"), "account" }

// qrCode is a QR code as the path of an SVG, with one unit for each module.
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
	if f.required("setup-password", msg("settings.totp.password_label")); f.Failed() {
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

// totpAgain shows the unconfirmed secret again, with a code that was not accepted.
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

// refusedTotp returns to the account page. If the form was sent twice, the first response turned
// two-step sign-in on and had the recovery codes, which the administrator may not have seen.
func (r *request) refusedTotp(err error) error {
	if fault.From(err).Reason == "TOTP_ALREADY_ENABLED" {
		return r.sayFailed("/account", r.text("settings.totp.already_on"))
	}
	return r.refused("/account", err)
}

func (r *request) confirmTotp() error {
	f := r.sent(nil)
	code := f.required("code", msg("settings.totp.code_label"))
	if f.Failed() {
		return r.totpAgain(f)
	}
	res, err := r.services.admins.ConfirmTotp(r.ctx, &authv1.ConfirmTotpRequest{Code: strings.ReplaceAll(code, " ", "")})
	if err == nil {
		return r.render("totp", totpPage{Recovery: res.GetRecoveryCodes()})
	}
	switch e := fault.From(err); {
	case e.Reason == "INVALID_TOTP_CODE":
		f.add("code", msg("settings.totp.wrong_code"))
	case e.Kind == fault.RateLimited:
		f.Summary = msg("settings.code.too_many", "wait", waiting(e))
	default:
		return r.refusedTotp(err)
	}
	return r.totpAgain(f)
}

func (r *request) disableTotp() error {
	f := r.sent(map[string]string{"password": "totp-password"})
	_, err := r.services.admins.DisableTotp(r.ctx, &authv1.DisableTotpRequest{Password: f.Get("totp-password")})
	if err == nil {
		return r.back("/account", r.text("settings.totp.disabled"))
	}
	if !r.wrongPassword(f, "totp-password", err) && !f.refuse(err) {
		return err
	}
	return r.accountAgain(func(p *accountPage) { p.Totp = f })
}

// renewRecoveryCodes replaces the recovery codes and shows the new ones, the only time that they
// are shown.
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
	return r.back(back, r.text("settings.account.session_ended"))
}

func (r *request) endOtherSessions() error {
	res, err := r.services.admins.EndOtherSessions(r.ctx, &authv1.EndOtherSessionsRequest{})
	if err != nil {
		return r.refused("/account", err)
	}
	return r.back("/account", r.text("settings.account.others_ended", "count", res.GetEnded()))
}
