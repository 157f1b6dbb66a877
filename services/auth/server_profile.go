package auth

import (
	"context"
	"errors"
	"slices"
	"time"

	"reservation.dev/platform/pg"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// confirm checks the password of a signed-in administrator. It counts failures as SignIn does, so
// that nobody can guess the password in an unattended browser.
func (s *Server) confirm(ctx context.Context, caller caller, password string) (Administrator, error) {
	a, err := s.store.administrator(ctx, caller.company, caller.administrator)
	if err != nil {
		return a, err
	}
	if err := s.countAttempt(ctx, limitSignedIn(a.ID)); err != nil {
		return a, err
	}
	right, _, err := s.passwords.matches(ctx, password, a.PasswordHash)
	if err != nil {
		s.uncountAttempt(ctx, limitSignedIn(a.ID)) // it was not checked
		return a, err
	}
	if !right {
		return a, wrongPassword()
	}
	s.forgetFailures(ctx, limitSignedIn(a.ID))
	return a, nil
}

// UpdateProfile implements AdministratorService.
func (s *Server) UpdateProfile(ctx context.Context, req *authv1.UpdateProfileRequest) (*authv1.UpdateProfileResponse, error) {
	caller, err := callingAdministrator(ctx)
	if err != nil {
		return nil, err
	}
	var check checks
	name := check.Line("name", req.GetName(), 1, maxName)
	if err := check.Err(); err != nil {
		return nil, err
	}
	a, err := s.changeAdministrator(ctx, caller.company, caller.administrator, func(ctx context.Context, tx *pg.Tx, a *Administrator, now time.Time) error {
		before := *a
		a.Name = name
		return s.afterUpdate(ctx, tx, before, a, now)
	})
	if err != nil {
		return nil, err
	}
	return &authv1.UpdateProfileResponse{Administrator: administratorMessage(a)}, nil
}

// DismissNotices implements AdministratorService.
func (s *Server) DismissNotices(ctx context.Context, req *authv1.DismissNoticesRequest) (*authv1.DismissNoticesResponse, error) {
	caller, err := callingAdministrator(ctx)
	if err != nil {
		return nil, err
	}
	until := req.GetUntil().AsTime()
	_, err = s.changeAdministrator(ctx, caller.company, caller.administrator, func(_ context.Context, _ *pg.Tx, a *Administrator, _ time.Time) error {
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
	caller, err := callingAdministrator(ctx)
	if err != nil {
		return nil, err
	}
	known, err := s.confirm(ctx, caller, req.GetCurrentPassword())
	if err != nil {
		return nil, err
	}
	var check checks
	check.password("new_password", req.GetNewPassword(), known.Email)
	if req.GetNewPassword() == req.GetCurrentPassword() {
		check.Add("new_password", "guessable", "must differ from the current password")
	}
	if err := check.Err(); err != nil {
		return nil, err
	}
	hash, err := s.passwords.hash(ctx, req.GetNewPassword())
	if err != nil {
		return nil, err
	}
	a, err := s.changeAdministrator(ctx, caller.company, caller.administrator, func(ctx context.Context, tx *pg.Tx, a *Administrator, now time.Time) error {
		if a.PasswordHash != known.PasswordHash {
			return wrongPassword() // it was changed in between
		}
		a.newPassword(hash, now)
		if _, err := s.store.deleteResets(ctx, tx, a.Company, a.ID); err != nil {
			return err
		}
		ended, err := s.store.deleteSessions(ctx, tx, now, a.Company, a.ID, caller.session)
		a.revoke(now)
		return errors.Join(err, s.store.audit(ctx, tx, a.Company, now, a.ID.String(), "administrator.change_password", a.ID.String(), sessionsEnded(ended)))
	})
	if err != nil {
		return nil, err
	}
	return &authv1.ChangePasswordResponse{DeviceTokens: s.keepDevices(a, req.GetDeviceTokens())}, nil
}
