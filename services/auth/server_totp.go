package auth

import (
	"context"
	"time"

	"reservation.dev/platform/pg"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// SetupTotp implements AdministratorService.
func (s *Server) SetupTotp(ctx context.Context, req *authv1.SetupTotpRequest) (*authv1.SetupTotpResponse, error) {
	caller, err := callingAdministrator(ctx)
	if err != nil {
		return nil, err
	}
	// Otherwise anybody at an unattended browser could lock its owner out.
	if !req.GetAgain() {
		var check checks
		check.required("password", req.GetPassword())
		if err := check.Err(); err != nil {
			return nil, err
		}
		if _, err := s.confirm(ctx, caller, req.GetPassword()); err != nil {
			return nil, err
		}
	}
	company, err := s.store.company(ctx, caller.company)
	if err != nil {
		return nil, err
	}
	resp := &authv1.SetupTotpResponse{}
	_, err = s.changeAdministrator(ctx, caller.company, caller.administrator, func(ctx context.Context, tx *pg.Tx, a *Administrator, now time.Time) error {
		if a.needsCode() {
			return totpEnabled()
		}
		if req.GetAgain() {
			return s.showPendingTotp(a, company.Name, resp)
		}
		resp.OtpauthUri, resp.Secret = newTotp(company.Name, a.Email)
		a.removeTotp()
		a.TotpSecret = s.sealer.Seal([]byte(resp.GetSecret()), totpContext(a.ID))
		return s.store.audit(ctx, tx, a.Company, now, a.ID.String(), "administrator.setup_totp", a.ID.String())
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// showPendingTotp returns the secret that waits to be confirmed, and changes nothing.
func (s *Server) showPendingTotp(a *Administrator, company string, resp *authv1.SetupTotpResponse) error {
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

// ConfirmTotp implements AdministratorService.
func (s *Server) ConfirmTotp(ctx context.Context, req *authv1.ConfirmTotpRequest) (*authv1.ConfirmTotpResponse, error) {
	caller, err := callingAdministrator(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.countAttempt(ctx, limitSignedIn(caller.administrator)); err != nil {
		return nil, err
	}
	var codes []string
	_, err = s.changeAdministrator(ctx, caller.company, caller.administrator, func(ctx context.Context, tx *pg.Tx, a *Administrator, now time.Time) error {
		switch {
		case a.needsCode():
			return totpEnabled()
		case a.TotpSecret == nil:
			return totpNotSetUp()
		}
		by, err := s.useCode(a, req.GetCode(), now)
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
	s.forgetFailures(ctx, limitSignedIn(caller.administrator))
	return &authv1.ConfirmTotpResponse{RecoveryCodes: codes}, nil
}

// DisableTotp implements AdministratorService.
func (s *Server) DisableTotp(ctx context.Context, req *authv1.DisableTotpRequest) (*authv1.DisableTotpResponse, error) {
	caller, err := callingAdministrator(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := s.confirm(ctx, caller, req.GetPassword()); err != nil {
		return nil, err
	}
	_, err = s.changeAdministrator(ctx, caller.company, caller.administrator, func(ctx context.Context, tx *pg.Tx, a *Administrator, now time.Time) error {
		if a.TotpSecret == nil {
			return errUnchanged
		}
		a.removeTotp()
		return s.store.audit(ctx, tx, a.Company, now, a.ID.String(), "administrator.disable_totp", a.ID.String())
	})
	if err != nil {
		return nil, err
	}
	return &authv1.DisableTotpResponse{}, nil
}

// RenewRecoveryCodes implements AdministratorService.
func (s *Server) RenewRecoveryCodes(ctx context.Context, req *authv1.RenewRecoveryCodesRequest) (*authv1.RenewRecoveryCodesResponse, error) {
	caller, err := callingAdministrator(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := s.confirm(ctx, caller, req.GetPassword()); err != nil {
		return nil, err
	}
	codes, hashes := newRecovery()
	_, err = s.changeAdministrator(ctx, caller.company, caller.administrator, func(ctx context.Context, tx *pg.Tx, a *Administrator, now time.Time) error {
		if !a.needsCode() {
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

// useCode uses up a TOTP or recovery code, and returns which kind it was; "": neither.
func (s *Server) useCode(a *Administrator, code string, now time.Time) (by string, err error) {
	secret, err := s.sealer.Open(a.TotpSecret, totpContext(a.ID))
	if err != nil {
		return "", err
	}
	step, err := totpStep(string(secret), code, now, a.TotpStep)
	if err != nil {
		return "", err
	}
	if step > 0 {
		a.TotpStep = step
		return "password and code", nil
	}
	if a.useRecoveryCode(code) {
		return "password and recovery code", nil
	}
	return "", nil
}
