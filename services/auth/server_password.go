package auth

import (
	"context"
	"errors"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/pg"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// confirm checks the password of an administrator who is signed in, counting
// failures as SignIn does: a browser that was left open is no way to guess it.
func (s *Server) confirm(ctx context.Context, own own, password, address string) (Administrator, error) {
	a, err := s.store.administrator(ctx, own.company, own.administrator)
	if err != nil {
		return a, err
	}
	counted := pacedSignIn(a.Email, cut(address, maxAddress))
	if err := s.attempt(ctx, counted...); err != nil {
		return a, err
	}
	right, _, err := s.passwords.matches(ctx, password, a.PasswordHash)
	if err != nil {
		return a, err
	}
	if !right {
		return a, wrongPassword()
	}
	s.passed(ctx, counted[0], counted[1:]...)
	return a, nil
}

// ChangePassword implements AdministratorService.
func (s *Server) ChangePassword(ctx context.Context, req *authv1.ChangePasswordRequest) (*authv1.ChangePasswordResponse, error) {
	own, err := self(ctx)
	if err != nil {
		return nil, err
	}
	known, err := s.confirm(ctx, own, req.GetCurrentPassword(), req.GetAddress())
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
	_, err = s.changeAdministrator(ctx, own.company, own.administrator, func(ctx context.Context, tx *pg.Tx, a *Administrator, now time.Time) error {
		if a.PasswordHash != known.PasswordHash {
			return wrongPassword() // changed meanwhile
		}
		a.PasswordHash, a.PasswordChangedAt = hash, now
		ended, err := s.store.deleteSessions(ctx, tx, a.Company, a.ID, own.session)
		a.revoke(now)
		return errors.Join(err, s.store.audit(ctx, tx, a.Company, now, a.ID.String(), "administrator.change_password", a.ID.String(), sessionsEnded(ended)))
	})
	if err != nil {
		return nil, err
	}
	return &authv1.ChangePasswordResponse{}, nil
}

// SetupTotp implements AdministratorService.
func (s *Server) SetupTotp(ctx context.Context, _ *authv1.SetupTotpRequest) (*authv1.SetupTotpResponse, error) {
	own, err := self(ctx)
	if err != nil {
		return nil, err
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
		var err error
		if resp.OtpauthUri, resp.Secret, err = newTotp(company.Name, a.Email); err != nil {
			return err
		}
		a.withoutTotp()
		a.TotpSecret = s.sealer.Seal([]byte(resp.GetSecret()), totpContext(a.ID))
		return s.store.audit(ctx, tx, a.Company, now, a.ID.String(), "administrator.setup_totp", a.ID.String())
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
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
	if err := s.attempt(ctx, pacedCodes(own.administrator)); err != nil {
		return nil, err
	}
	var codes []string
	_, err = s.changeAdministrator(ctx, own.company, own.administrator, func(ctx context.Context, tx *pg.Tx, a *Administrator, now time.Time) error {
		switch {
		case a.asksCode():
			return totpEnabled()
		case a.TotpSecret == nil:
			return fault.Refuse(ReasonTotpNotSetUp, "there is no secret yet; set one up first")
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
	s.passed(ctx, pacedCodes(own.administrator))
	return &authv1.ConfirmTotpResponse{RecoveryCodes: codes}, nil
}

// DisableTotp implements AdministratorService.
func (s *Server) DisableTotp(ctx context.Context, req *authv1.DisableTotpRequest) (*authv1.DisableTotpResponse, error) {
	own, err := self(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := s.confirm(ctx, own, req.GetPassword(), req.GetAddress()); err != nil {
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
