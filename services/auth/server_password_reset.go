package auth

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// Owners create links with which another administrator resets their password. Every link is in the
// audit log and the account's holder is notified, so nobody can take over an account unseen.

// CreatePasswordReset implements AdministratorService.
func (s *Server) CreatePasswordReset(ctx context.Context, req *authv1.CreatePasswordResetRequest) (*authv1.CreatePasswordResetResponse, error) {
	company, administrator, by, err := s.anotherAdministrator(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	resp := &authv1.CreatePasswordResetResponse{}
	return idem.Write(ctx, s.store, company, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		a, err := s.changeAdministratorInTx(ctx, tx, company, administrator, func(ctx context.Context, tx *pg.Tx, a *Administrator, now time.Time) error {
			r, raw, err := newPasswordReset(*a, rpc.Caller(ctx), now)
			if err != nil {
				return err
			}
			if _, err := s.store.deleteResets(ctx, tx, company, a.ID); err != nil {
				return err
			}
			a.notify(now, "administrator.create_reset_link", by)
			resp.ExpiresAt = timestamppb.New(r.ExpiresAt)
			tx.AfterCommit(func() { resp.Token = raw }) // not in the stored response
			return errors.Join(
				s.store.insertReset(ctx, tx, r),
				s.store.audit(ctx, tx, company, now, r.MadeBy, "administrator.create_reset_link", a.ID.String(), Detail{Field: "name", After: a.Name}))
		})
		resp.Administrator = administratorMessage(a)
		return err
	})
}

// RevokePasswordReset implements AdministratorService.
func (s *Server) RevokePasswordReset(ctx context.Context, req *authv1.RevokePasswordResetRequest) (*authv1.RevokePasswordResetResponse, error) {
	company, administrator, err := administratorOf(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	_, err = s.changeAdministrator(ctx, company, administrator, func(ctx context.Context, tx *pg.Tx, a *Administrator, now time.Time) error {
		was, err := s.store.deleteResets(ctx, tx, company, a.ID)
		if err != nil {
			return err
		}
		if !was {
			return errUnchanged
		}
		return s.store.audit(ctx, tx, company, now, rpc.Caller(ctx), "administrator.revoke_reset_link", a.ID.String(), Detail{Field: "name", After: a.Name})
	})
	if err != nil {
		return nil, err
	}
	return &authv1.RevokePasswordResetResponse{}, nil
}

// reset returns a link that can be used, and the administrator whose password it resets.
func (s *Server) reset(ctx context.Context, raw string) (passwordReset, Administrator, error) {
	r, err := s.store.resetByToken(ctx, hashOf(raw))
	if err != nil {
		return r, Administrator{}, err
	}
	if err := r.checkOpen(s.instant()); err != nil {
		return r, Administrator{}, err
	}
	a, err := s.store.administrator(ctx, r.Company, r.Administrator)
	if err == nil && a.DisabledAt != nil {
		err = fault.Missing("link")
	}
	if err != nil {
		return r, a, err
	}
	return r, a, s.stillOwner(ctx, r.Company, r.MadeBy, "link")
}

// stillOwner refuses a link whose creator could not create it now. The links of an administrator
// are withdrawn when they lose their rights, except a link created at the same time.
func (s *Server) stillOwner(ctx context.Context, company id.Company, madeBy, link string) error {
	maker, err := id.Parse[id.Administrator](madeBy)
	if err != nil {
		return nil // the operator, or an authorized program
	}
	m, err := s.store.administrator(ctx, company, maker)
	if err == nil && !m.isOwner() {
		err = fault.Missing(link)
	}
	return err
}

// GetPasswordReset implements AdministratorService.
func (s *Server) GetPasswordReset(ctx context.Context, req *authv1.GetPasswordResetRequest) (*authv1.GetPasswordResetResponse, error) {
	r, a, err := s.reset(ctx, req.GetToken())
	if err != nil {
		return nil, err
	}
	company, err := s.store.company(ctx, r.Company)
	if err != nil {
		return nil, err
	}
	return &authv1.GetPasswordResetResponse{Email: a.Email, CompanyName: company.Name, ExpiresAt: timestamppb.New(r.ExpiresAt)}, nil
}

// UsePasswordReset implements AdministratorService.
func (s *Server) UsePasswordReset(ctx context.Context, req *authv1.UsePasswordResetRequest) (*authv1.UsePasswordResetResponse, error) {
	known, whose, err := s.reset(ctx, req.GetToken())
	if err != nil {
		return nil, err
	}
	var check checks
	check.password("password", req.GetPassword(), whose.Email)
	if err := check.Err(); err != nil {
		return nil, err
	}
	hash, err := s.passwords.hash(ctx, req.GetPassword())
	if err != nil {
		return nil, err
	}
	a, err := s.changeAdministrator(ctx, known.Company, known.Administrator, func(ctx context.Context, tx *pg.Tx, a *Administrator, now time.Time) error {
		// Locked after the administrator, in the same order as on creation. A link that was
		// withdrawn or used in between does nothing.
		r, err := s.store.lockReset(ctx, tx, known)
		if err != nil {
			return err
		}
		if err := r.checkOpen(now); err != nil {
			return err
		}
		if a.DisabledAt != nil {
			return fault.Missing("link")
		}
		r.UsedAt = &now
		a.newPassword(hash, now)
		ended, err := s.store.deleteSessions(ctx, tx, now, a.Company, a.ID, id.Session{})
		a.revoke(now)
		return errors.Join(err,
			s.store.useReset(ctx, tx, r),
			s.store.audit(ctx, tx, a.Company, now, a.ID.String(), "administrator.use_reset_link", a.ID.String(),
				Detail{Field: "made_by", After: r.MadeBy}, Detail{Field: "address", After: printable(req.GetAddress(), maxAddress)}, sessionsEnded(ended)))
	})
	if err != nil {
		return nil, err
	}
	return &authv1.UsePasswordResetResponse{DeviceTokens: s.keepDevices(a, req.GetDeviceTokens())}, nil
}
