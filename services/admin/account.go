package admin

import (
	"fmt"
	"strings"

	"github.com/boombuler/barcode/qr"

	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// accountPage is the administrator's own account.
type accountPage struct {
	Password *form
	Totp     *form
	Sessions []*authv1.Session
}

func (accountPage) head() (string, string) { return "Account", "account" }

func (v *visit) accountPage() (accountPage, error) {
	res, err := v.web.services.admins.ListSessions(v.ctx, &authv1.ListSessionsRequest{})
	return accountPage{Password: newForm(), Totp: newForm(), Sessions: res.GetSessions()}, err
}

func (v *visit) account() error {
	page, err := v.accountPage()
	if err != nil {
		return err
	}
	return v.render("account", page)
}

func (v *visit) changePassword() error {
	f := v.sent()
	current := f.Get("current")
	if current == "" {
		f.add("current", "Your present password is needed.")
	}
	password := v.newPassword(f)
	if !f.Failed() {
		_, err := v.web.services.admins.ChangePassword(v.ctx, &authv1.ChangePasswordRequest{CurrentPassword: current, NewPassword: password, Address: v.address()})
		if err == nil {
			return v.back("/account", "The password is changed. Your other sessions have ended.")
		}
		if !v.wrongPassword(f, "current", err) && !f.refuse(err, map[string]string{"new_password": "password", "current_password": "current"}) {
			return err
		}
	}
	page, err := v.accountPage()
	if err != nil {
		return err
	}
	page.Password = f
	return v.again("account", page)
}

// wrongPassword puts the refusal of a password on the form.
func (v *visit) wrongPassword(f *form, field string, err error) bool {
	e := fault.From(err)
	switch {
	case e.Reason == fault.ReasonInvalidCredentials:
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
	URI    string
	Code   qrCode
	// Recovery are the codes, shown this once; empty before.
	Recovery []string
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
	res, err := v.web.services.admins.SetupTotp(v.ctx, &authv1.SetupTotpRequest{})
	if err != nil {
		return v.refused("/account", err)
	}
	return v.showTotp(res.GetOtpauthUri(), res.GetSecret(), newForm())
}

func (v *visit) showTotp(uri, secret string, f *form) error {
	code, err := qrOf(uri)
	if err != nil || !strings.HasPrefix(uri, "otpauth://") {
		return v.back("/account", "Begin again: the code could not be shown.")
	}
	page := totpPage{Form: f, Secret: secret, URI: uri, Code: code}
	if f.Failed() {
		return v.again("totp", page)
	}
	return v.render("totp", page)
}

func (v *visit) confirmTotp() error {
	f := v.sent()
	code := f.required("code", "The code")
	if f.Failed() {
		return v.showTotp(f.Get("uri"), f.Get("secret"), f)
	}
	res, err := v.web.services.admins.ConfirmTotp(v.ctx, &authv1.ConfirmTotpRequest{Code: strings.ReplaceAll(code, " ", "")})
	if e := fault.From(err); err != nil && e.Reason == "INVALID_TOTP_CODE" {
		f.add("code", "This code is not right. Check the time of your phone, and type the code that is shown now.")
		return v.showTotp(f.Get("uri"), f.Get("secret"), f)
	}
	if err != nil {
		return v.refused("/account", err)
	}
	return v.render("totp", totpPage{Recovery: res.GetRecoveryCodes()})
}

func (v *visit) disableTotp() error {
	f := v.sent()
	_, err := v.web.services.admins.DisableTotp(v.ctx, &authv1.DisableTotpRequest{Password: f.Get("totp-password"), Address: v.address()})
	if err == nil {
		return v.back("/account", "Two-step sign-in is off.")
	}
	if !v.wrongPassword(f, "totp-password", err) && !f.refuse(err, map[string]string{"password": "totp-password"}) {
		return err
	}
	page, err := v.accountPage()
	if err != nil {
		return err
	}
	page.Totp = f
	return v.again("account", page)
}

func (v *visit) endSession() error {
	back := local(v.value("back"), "/account")
	if _, err := v.web.services.admins.EndSession(v.ctx, &authv1.EndSessionRequest{Id: v.r.PathValue("id")}); err != nil {
		return v.refused(back, err)
	}
	return v.back(back, "The session has ended.")
}

func (v *visit) endOtherSessions() error {
	res, err := v.web.services.admins.EndOtherSessions(v.ctx, &authv1.EndOtherSessionsRequest{})
	if err != nil {
		return v.refused("/account", err)
	}
	return v.back("/account", plural(res.GetEnded(), "other session has", "other sessions have")+" ended.")
}
