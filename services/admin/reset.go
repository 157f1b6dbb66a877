package admin

import (
	"net/url"

	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// resetPage is where somebody who has a link chooses a new password.
type resetPage struct {
	Form           *form
	Email, Company string
	Token          string
}

func (resetPage) head() (string, string) { return "New password", "" }

// noReset is said of a link that leads nowhere.
const noReset = "This link does not exist or was withdrawn. Ask an owner of your company for a new one."

// resetFault says what is wrong with a link.
func resetFault(err error) error {
	if err == nil {
		return nil
	}
	switch f := fault.From(err); {
	case f.Kind == fault.NotFound:
		return fault.New(fault.NotFound, fault.ReasonNotFound, noReset)
	case f.Reason == "RESET_EXPIRED":
		return fault.Refuse(f.Reason, "This link has expired: it is valid for an hour. Ask an owner of your company for a new one.")
	case f.Reason == "RESET_USED":
		return fault.Refuse(f.Reason, "This link has been used. Sign in with the password that was chosen with it; if that was not you, tell an owner of your company at once.")
	}
	return err
}

func (v *visit) findReset() (resetPage, error) {
	p := resetPage{Form: newForm(), Token: url.PathEscape(v.r.PathValue("token"))}
	res, err := v.services.admins.GetPasswordReset(v.ctx, &authv1.GetPasswordResetRequest{Token: v.r.PathValue("token")})
	p.Email, p.Company = res.GetEmail(), res.GetCompanyName()
	return p, resetFault(err)
}

func (v *visit) resetForm() error {
	p, err := v.findReset()
	if err != nil {
		return err
	}
	return v.render("reset", p)
}

func (v *visit) resetPassword() error {
	p, err := v.findReset()
	if err != nil {
		return err
	}
	p.Form = v.sent(nil)
	password := v.newPassword(p.Form)
	if p.Form.Failed() {
		return v.notAccepted("reset", p)
	}
	res, err := v.services.admins.UsePasswordReset(v.ctx, &authv1.UsePasswordResetRequest{
		Token: v.r.PathValue("token"), Password: password, Address: v.address(), DeviceTokens: v.devices(),
	})
	if err != nil {
		if p.Form.refuse(resetFault(err)) {
			return v.notAccepted("reset", p)
		}
		return err
	}
	v.keepDevices(res.GetDeviceTokens())
	return v.back("/sign-in", "The password is changed, and every session has ended. Sign in with the new password.")
}
