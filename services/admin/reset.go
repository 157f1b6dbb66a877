package admin

import (
	"net/url"

	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// resetPage is the form on which the holder of a reset link chooses a new password.
type resetPage struct {
	Form           *form
	Email, Company string
	Token          string
}

func (resetPage) head() (*message, string) { return msg("settings.reset.title"), "" }

// resetFault returns err with the error page of a reset link that does not exist.
func resetFault(err error) error {
	if fault.Is(err, fault.NotFound) {
		return pageFault(fault.NotFound, fault.ReasonNotFound, "no_reset", "the reset link does not exist or was withdrawn")
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
	return r.back("/sign-in", r.text("settings.reset.done"))
}
