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

func (resetPage) head() (*message, string) { return literal("New password"), "" }

// resetFault says what is wrong with a link.
func resetFault(err error) error {
	if err == nil {
		return nil
	}
	switch f := fault.From(err); {
	case f.Kind == fault.NotFound:
		return pageFault(fault.NotFound, fault.ReasonNotFound, "no_reset", "the reset link does not exist or was withdrawn")
	case f.Reason == "RESET_EXPIRED":
		return fault.Refuse(f.Reason, "This link has expired: it is valid for an hour. Ask an owner of your company for a new one.")
	case f.Reason == "RESET_USED":
		return fault.Refuse(f.Reason, "This link has been used. Sign in with the password that was chosen with it; if that was not you, tell an owner of your company at once.")
	}
	return err
}

func (r *request) findReset() (resetPage, error) {
	p := resetPage{Form: newForm(), Token: url.PathEscape(r.path("token"))}
	res, err := r.services.admins.GetPasswordReset(r.ctx, &authv1.GetPasswordResetRequest{Token: r.path("token")})
	p.Email, p.Company = res.GetEmail(), res.GetCompanyName()
	return p, resetFault(err)
}

func (r *request) resetPassword() error {
	p, err := r.findReset()
	if err != nil {
		return err
	}
	p.Form = r.sent(nil)
	password := r.newPassword(p.Form)
	if p.Form.Failed() {
		return r.notAccepted("reset", p)
	}
	res, err := r.services.admins.UsePasswordReset(r.ctx, &authv1.UsePasswordResetRequest{
		Token: r.path("token"), Password: password, Address: r.address(), DeviceTokens: r.devices(),
	})
	if err != nil {
		if p.Form.refuse(resetFault(err)) {
			return r.notAccepted("reset", p)
		}
		return err
	}
	r.keepDevices(res.GetDeviceTokens())
	return r.back("/sign-in", "The password is changed, and every session has ended. Sign in with the new password.")
}
