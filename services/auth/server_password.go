package auth

import (
	"context"
	"errors"
	"slices"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/pg"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// confirm checks the password of an administrator who is signed in, counting
// failures as SignIn does: a browser that was left open is no way to guess it.
func (s *Server) confirm(ctx context.Context, own own, password string) (Administrator, error) {
	a, err := s.store.administrator(ctx, own.company, own.administrator)
	if err != nil {
		return a, err
	}
	if err := s.attempt(ctx, pacedOwn(a.ID)); err != nil {
		return a, err
	}
	right, _, err := s.passwords.matches(ctx, password, a.PasswordHash)
	if err != nil {
		s.takeBack(ctx, pacedOwn(a.ID)) // it was not looked at
		return a, err
	}
	if !right {
		return a, wrongPassword()
	}
	s.forget(ctx, pacedOwn(a.ID))
	return a, nil
}

// UpdateProfile implements AdministratorService.
func (s *Server) UpdateProfile(ctx context.Context, req *authv1.UpdateProfileRequest) (*authv1.UpdateProfileResponse, error) {
	own, err := self(ctx)
	if err != nil {
		return nil, err
	}
	var check checks
	name := check.text("name", req.GetName(), 1, maxName)
	if err := check.err(); err != nil {
		return nil, err
	}
	a, err := s.changeAdministrator(ctx, own.company, own.administrator, func(ctx context.Context, tx *pg.Tx, a *Administrator, now time.Time) error {
		before := *a
		a.Name = name
		return s.updated(ctx, tx, before, a, now)
	})
	if err != nil {
		return nil, err
	}
	return &authv1.UpdateProfileResponse{Administrator: administratorMessage(a)}, nil
}

// DismissNotices implements AdministratorService.
func (s *Server) DismissNotices(ctx context.Context, req *authv1.DismissNoticesRequest) (*authv1.DismissNoticesResponse, error) {
	own, err := self(ctx)
	if err != nil {
		return nil, err
	}
	until := req.GetUntil().AsTime()
	_, err = s.changeAdministrator(ctx, own.company, own.administrator, func(_ context.Context, _ *pg.Tx, a *Administrator, _ time.Time) error {
		left := slices.DeleteFunc(slices.Clone(a.Notices), func(n Notice) bool { return !n.At.After(until) })
		if len(left) == len(a.Notices) {
			return errUnchanged
		}
		a.Notices = left
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &authv1.DismissNoticesResponse{}, nil
}

// ChangePassword implements AdministratorService.
func (s *Server) ChangePassword(ctx context.Context, req *authv1.ChangePasswordRequest) (*authv1.ChangePasswordResponse, error) {
	own, err := self(ctx)
	if err != nil {
		return nil, err
	}
	known, err := s.confirm(ctx, own, req.GetCurrentPassword())
	if err != nil {
		return nil, err
	}
	var check checks
	check.password("new_password", req.GetNewPassword(), known.Email)
	if req.GetNewPassword() == req.GetCurrentPassword() {
		check.add("new_password", "guessable", "must not be the present one")
	}
	if err := check.err(); err != nil {
		return nil, err
	}
	hash, err := s.passwords.hash(ctx, req.GetNewPassword())
	if err != nil {
		return nil, err
	}
	a, err := s.changeAdministrator(ctx, own.company, own.administrator, func(ctx context.Context, tx *pg.Tx, a *Administrator, now time.Time) error {
		if a.PasswordHash != known.PasswordHash {
			return wrongPassword() // changed meanwhile
		}
		a.newPassword(hash, now)
		if _, err := s.store.deleteResets(ctx, tx, a.Company, a.ID); err != nil {
			return err
		}
		ended, err := s.store.deleteSessions(ctx, tx, now, a.Company, a.ID, own.session)
		a.revoke(now)
		return errors.Join(err, s.store.audit(ctx, tx, a.Company, now, a.ID.String(), "administrator.change_password", a.ID.String(), sessionsEnded(ended)))
	})
	if err != nil {
		return nil, err
	}
	return &authv1.ChangePasswordResponse{DeviceTokens: s.keepDevices(a, req.GetDeviceTokens(), s.instant())}, nil
}

// SetupTotp implements AdministratorService.
func (s *Server) SetupTotp(ctx context.Context, req *authv1.SetupTotpRequest) (*authv1.SetupTotpResponse, error) {
	own, err := self(ctx)
	if err != nil {
		return nil, err
	}
	// Whoever finds a browser that was left open would keep its owner out.
	if !req.GetAgain() {
		var check checks
		if req.GetPassword() == "" {
			check.add("password", "required", "is required")
		}
		if err := check.err(); err != nil {
			return nil, err
		}
		if _, err := s.confirm(ctx, own, req.GetPassword()); err != nil {
			return nil, err
		}
	}
	company, err := s.store.company(ctx, own.company)
	if err != nil {
		return nil, err
	}
	resp := &authv1.SetupTotpResponse{}
	_, err = s.changeAdministrator(ctx, own.company, own.administrator, func(ctx context.Context, tx *pg.Tx, a *Administrator, now time.Time) error {
		if a.asksCode() {
			return totpEnabled()
		}
		if req.GetAgain() {
			return s.presentTotp(a, company.Name, resp)
		}
		resp.OtpauthUri, resp.Secret = newTotp(company.Name, a.Email)
		a.withoutTotp()
		a.TotpSecret = s.sealer.Seal([]byte(resp.GetSecret()), totpContext(a.ID))
		return s.store.audit(ctx, tx, a.Company, now, a.ID.String(), "administrator.setup_totp", a.ID.String())
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// presentTotp answers with the secret that waits to be confirmed, and changes nothing.
func (s *Server) presentTotp(a *Administrator, company string, resp *authv1.SetupTotpResponse) error {
	if a.TotpSecret == nil {
		return totpNotSetUp()
	}
	secret, err := s.sealer.Open(a.TotpSecret, totpContext(a.ID))
	if err != nil {
		return err
	}
	resp.Secret, resp.OtpauthUri = string(secret), totpURI(company, a.Email, string(secret))
	return errUnchanged
}

func totpNotSetUp() error {
	return fault.Refuse(ReasonTotpNotSetUp, "there is no secret yet; set one up first")
}

func totpEnabled() error {
	return fault.Refuse(ReasonTotpEnabled, "codes are asked for already; turn that off first")
}

// ConfirmTotp implements AdministratorService.
func (s *Server) ConfirmTotp(ctx context.Context, req *authv1.ConfirmTotpRequest) (*authv1.ConfirmTotpResponse, error) {
	own, err := self(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.attempt(ctx, pacedOwn(own.administrator)); err != nil {
		return nil, err
	}
	var codes []string
	_, err = s.changeAdministrator(ctx, own.company, own.administrator, func(ctx context.Context, tx *pg.Tx, a *Administrator, now time.Time) error {
		switch {
		case a.asksCode():
			return totpEnabled()
		case a.TotpSecret == nil:
			return totpNotSetUp()
		}
		by, err := s.takeCode(a, req.GetCode(), now)
		if err != nil {
			return err
		}
		if by == "" {
			return wrongCode()
		}
		a.TotpConfirmedAt = &now
		codes, a.RecoveryCodes = newRecovery()
		return s.store.audit(ctx, tx, a.Company, now, a.ID.String(), "administrator.enable_totp", a.ID.String())
	})
	if err != nil {
		return nil, err
	}
	s.forget(ctx, pacedOwn(own.administrator))
	return &authv1.ConfirmTotpResponse{RecoveryCodes: codes}, nil
}

// DisableTotp implements AdministratorService.
func (s *Server) DisableTotp(ctx context.Context, req *authv1.DisableTotpRequest) (*authv1.DisableTotpResponse, error) {
	own, err := self(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := s.confirm(ctx, own, req.GetPassword()); err != nil {
		return nil, err
	}
	_, err = s.changeAdministrator(ctx, own.company, own.administrator, func(ctx context.Context, tx *pg.Tx, a *Administrator, now time.Time) error {
		if a.TotpSecret == nil {
			return errUnchanged
		}
		a.withoutTotp()
		return s.store.audit(ctx, tx, a.Company, now, a.ID.String(), "administrator.disable_totp", a.ID.String())
	})
	if err != nil {
		return nil, err
	}
	return &authv1.DisableTotpResponse{}, nil
}

// RenewRecoveryCodes implements AdministratorService.
func (s *Server) RenewRecoveryCodes(ctx context.Context, req *authv1.RenewRecoveryCodesRequest) (*authv1.RenewRecoveryCodesResponse, error) {
	own, err := self(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := s.confirm(ctx, own, req.GetPassword()); err != nil {
		return nil, err
	}
	codes, hashes := newRecovery()
	_, err = s.changeAdministrator(ctx, own.company, own.administrator, func(ctx context.Context, tx *pg.Tx, a *Administrator, now time.Time) error {
		if !a.asksCode() {
			return totpNotSetUp()
		}
		a.RecoveryCodes = hashes
		return s.store.audit(ctx, tx, a.Company, now, a.ID.String(), "administrator.renew_recovery_codes", a.ID.String())
	})
	if err != nil {
		return nil, err
	}
	return &authv1.RenewRecoveryCodesResponse{RecoveryCodes: codes}, nil
}
