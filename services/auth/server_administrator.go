package auth

import (
	"context"
	"errors"
	"strconv"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// CreateAdministrator implements AdministratorService.
func (s *Server) CreateAdministrator(ctx context.Context, req *authv1.CreateAdministratorRequest) (*authv1.CreateAdministratorResponse, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return nil, err
	}
	var check checks
	a := Administrator{Company: company, Email: check.Email("email", req.GetEmail()), Name: check.Line("name", req.GetName(), 0, maxName)}
	role := req.GetRole()
	if role == authv1.AdministratorRole_ADMINISTRATOR_ROLE_UNSPECIFIED {
		role = authv1.AdministratorRole_ADMINISTRATOR_ROLE_OWNER
	}
	a.duty = check.duty(role, req.GetStaffId())
	if a.Name == "" {
		a.Name = a.Email
	}
	password, generated := check.passwordOrNew(req.GetPassword(), a.Email)
	if err := check.Err(); err != nil {
		return nil, err
	}
	if a.PasswordHash, err = s.passwords.hash(ctx, password); err != nil {
		return nil, err
	}
	err = s.store.Write(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		if _, err := s.store.lockLiveCompany(ctx, tx, company); err != nil {
			return err
		}
		return s.addAdministrator(ctx, tx, &a, rpc.Caller(ctx))
	})
	if err != nil {
		return nil, err
	}
	return &authv1.CreateAdministratorResponse{Administrator: administratorMessage(a), GeneratedPassword: generated}, nil
}

// addAdministrator stores a new administrator with a password.
func (s *Server) addAdministrator(ctx context.Context, tx *pg.Tx, a *Administrator, actor string) error {
	now := s.instant()
	a.ID, a.Generation, a.Version = id.Administrator(s.newID()), 1, 1
	a.CreatedAt, a.UpdatedAt, a.PasswordChangedAt = now, now, now
	if actor == "" {
		actor = a.ID.String() // accepted an invitation
	}
	if err := s.store.insertAdministrator(ctx, tx, *a); err != nil {
		return err
	}
	return s.store.audit(ctx, tx, a.Company, now, actor, "administrator.create", a.ID.String(), given(a.facts())...)
}

// ResetAdministratorPassword implements AdministratorService.
func (s *Server) ResetAdministratorPassword(ctx context.Context, req *authv1.ResetAdministratorPasswordRequest) (*authv1.ResetAdministratorPasswordResponse, error) {
	known, err := s.findAdministrator(ctx, req.GetAdministrator())
	if err != nil {
		return nil, err
	}
	var check checks
	password, generated := check.passwordOrNew(req.GetPassword(), known.Email)
	if err := check.Err(); err != nil {
		return nil, err
	}
	hash, err := s.passwords.hash(ctx, password)
	if err != nil {
		return nil, err
	}
	a, err := s.changeAdministrator(ctx, known.Company, known.ID, func(ctx context.Context, tx *pg.Tx, a *Administrator, now time.Time) error {
		a.newPassword(hash, now)
		a.notify(now, "administrator.reset_password", "")
		if _, err := s.store.deleteResets(ctx, tx, a.Company, a.ID); err != nil {
			return err
		}
		details := []Detail{{Field: "name", After: a.Name}}
		if req.GetDisableTotp() && a.TotpSecret != nil {
			a.removeTotp()
			details = append(details, Detail{Field: "totp", Before: "on", After: "off"})
		}
		ended, err := s.store.deleteSessions(ctx, tx, now, a.Company, a.ID, id.Session{})
		a.revoke(now)
		return errors.Join(err, s.store.audit(ctx, tx, a.Company, now, rpc.Caller(ctx), "administrator.reset_password", a.ID.String(),
			append(details, sessionsEnded(ended))...))
	})
	if err != nil {
		return nil, err
	}
	return &authv1.ResetAdministratorPasswordResponse{Administrator: administratorMessage(a), GeneratedPassword: generated}, nil
}

// findAdministrator finds an administrator by identifier or e-mail address. An operator can name no
// company; if a company is named, the administrator must belong to it.
func (s *Server) findAdministrator(ctx context.Context, reference string) (Administrator, error) {
	if administrator, err := id.Parse[id.Administrator](reference); err == nil {
		company, err := rpc.Tenant(ctx)
		if err != nil {
			return Administrator{}, err
		}
		return s.store.administrator(ctx, company, administrator)
	}
	a, err := s.store.administratorByEmail(ctx, emailKey(reference))
	if company := rpc.Company(ctx); err == nil && !company.IsZero() && company != a.Company {
		return Administrator{}, fault.Missing("administrator")
	}
	return a, err
}

func sessionsEnded(n int64) Detail {
	return Detail{Field: "sessions_ended", After: strconv.FormatInt(n, 10)}
}

// errUnchanged is returned by a change that has changed nothing.
var errUnchanged = errors.New("nothing to change")

// changeAdministrator locks the administrator, applies change, saves, and publishes a raised
// generation, all in one commit. change writes the audit log, or returns errUnchanged.
func (s *Server) changeAdministrator(
	ctx context.Context, company id.Company, administrator id.Administrator,
	change func(ctx context.Context, tx *pg.Tx, a *Administrator, now time.Time) error,
) (a Administrator, err error) {
	err = s.store.Write(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		a, err = s.changeAdministratorInTx(ctx, tx, company, administrator, change)
		return err
	})
	return a, err
}

func (s *Server) changeAdministratorInTx(
	ctx context.Context, tx *pg.Tx, company id.Company, administrator id.Administrator,
	change func(ctx context.Context, tx *pg.Tx, a *Administrator, now time.Time) error,
) (Administrator, error) {
	a, err := s.store.lockAdministrator(ctx, tx, company, administrator)
	if err != nil {
		return a, err
	}
	generation, now := a.Generation, s.instant()
	if err := change(ctx, tx, &a, now); err != nil {
		if errors.Is(err, errUnchanged) {
			err = nil
		}
		return a, err
	}
	a.Version++
	a.UpdatedAt = now
	if err := s.store.updateAdministrator(ctx, tx, a); err != nil || a.Generation == generation {
		return a, err
	}
	return a, s.outbox.Append(ctx, tx, revoked(a.ID.String(), a.Generation))
}

// ListAdministrators implements AdministratorService.
func (s *Server) ListAdministrators(ctx context.Context, req *authv1.ListAdministratorsRequest) (*authv1.ListAdministratorsResponse, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return nil, err
	}
	list, next, err := listPage(page.Of(req), byID("id"),
		func(p page.Page) ([]Administrator, error) { return s.store.administrators(ctx, company, p) },
		func(a *Administrator) page.Cursor { return page.Cursor{ID: a.ID.UUID()} })
	if err != nil {
		return nil, err
	}
	resp := &authv1.ListAdministratorsResponse{NextPageToken: next}
	for _, a := range list {
		resp.Administrators = append(resp.Administrators, administratorMessage(a))
	}
	return resp, nil
}

// UpdateAdministrator implements AdministratorService.
func (s *Server) UpdateAdministrator(ctx context.Context, req *authv1.UpdateAdministratorRequest) (*authv1.UpdateAdministratorResponse, error) {
	company, administrator, err := administratorOf(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	fields, err := s.administratorFieldsOf(ctx, company, administrator, req)
	if err != nil {
		return nil, err
	}
	caller := rpc.Caller(ctx)
	names, err := s.names(ctx, company, []string{caller})
	if err != nil {
		return nil, err
	}
	resp := &authv1.UpdateAdministratorResponse{}
	return idem.Write(ctx, s.store, company, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		// Owners are removed one after the other, so that one remains.
		if _, err := s.store.lockCompany(ctx, tx, company); err != nil {
			return err
		}
		a, err := s.changeAdministratorInTx(ctx, tx, company, administrator, func(ctx context.Context, tx *pg.Tx, a *Administrator, now time.Time) error {
			before := *a
			a.update(fields, now)
			if (a.Name != before.Name || a.duty != before.duty) && a.ID.String() != caller {
				a.notify(now, "administrator.update", names[caller])
			}
			return s.afterUpdate(ctx, tx, before, a, now)
		})
		resp.Administrator = administratorMessage(a)
		return err
	})
}

// administratorFieldsOf checks the fields that a request changes. A request with a staff member and no role is
// about the role that the administrator has.
func (s *Server) administratorFieldsOf(
	ctx context.Context, company id.Company, administrator id.Administrator, req *authv1.UpdateAdministratorRequest,
) (administratorFields, error) {
	var check checks
	fields := administratorFields{disabled: req.Disabled}
	if req.Name != nil {
		fields.name = new(check.Line("name", req.GetName(), 1, maxName))
	}
	if req.Role != nil || req.StaffId != nil {
		known, err := s.store.administrator(ctx, company, administrator)
		if err != nil {
			return fields, err
		}
		fields.duty = new(check.newDuty(known.duty, req))
	}
	return fields, check.Err()
}

// afterUpdate handles the consequences of an update: it keeps the last owner, revokes tokens after
// a change of the role or the staff member, ends the sessions of a disabled administrator, and writes the audit log.
func (s *Server) afterUpdate(ctx context.Context, tx *pg.Tx, before Administrator, a *Administrator, now time.Time) error {
	if before.isOwner() && !a.isOwner() {
		if err := s.endOwnership(ctx, tx, *a, now); err != nil {
			return err
		}
	}
	if a.duty != before.duty {
		a.revoke(now)
	}
	actor, target := rpc.Caller(ctx), a.ID.String()
	var faults []error
	if details := differences(before.facts(), a.facts()); len(details) > 0 {
		faults = append(faults, s.store.audit(ctx, tx, a.Company, now, actor, "administrator.update", target, details...))
	}
	named := Detail{Field: "name", After: a.Name}
	switch {
	case before.DisabledAt == nil && a.DisabledAt != nil:
		ended, err := s.store.deleteSessions(ctx, tx, now, a.Company, a.ID, id.Session{})
		_, resets := s.store.deleteResets(ctx, tx, a.Company, a.ID)
		a.revoke(now)
		faults = append(faults, err, resets, s.store.audit(ctx, tx, a.Company, now, actor, "administrator.disable", target, named, sessionsEnded(ended)))
	case before.DisabledAt != nil && a.DisabledAt == nil:
		faults = append(faults, s.store.audit(ctx, tx, a.Company, now, actor, "administrator.enable", target, named))
	}
	if len(faults) == 0 {
		return errUnchanged
	}
	return errors.Join(faults...)
}

// administratorOf returns the caller's company and the administrator that a request names.
func administratorOf(ctx context.Context, text string) (id.Company, id.Administrator, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return company, id.Administrator{}, err
	}
	administrator, err := check.ID[id.Administrator](text, "administrator")
	return company, administrator, err
}

// GetAdministrator implements AdministratorService.
func (s *Server) GetAdministrator(ctx context.Context, req *authv1.GetAdministratorRequest) (*authv1.GetAdministratorResponse, error) {
	company, administrator, err := administratorOf(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	a, err := s.store.administrator(ctx, company, administrator)
	if err != nil {
		return nil, err
	}
	resp := &authv1.GetAdministratorResponse{Administrator: administratorMessage(a)}
	reset, err := s.store.openReset(ctx, company, administrator, s.instant())
	switch {
	case err == nil:
		resp.PasswordResetExpiresAt = timestamppb.New(reset.ExpiresAt)
	case !fault.Is(err, fault.NotFound):
		return nil, err
	}
	return resp, nil
}

// anotherAdministrator returns the administrator that a request names, who must not be the caller,
// and the caller's name.
func (s *Server) anotherAdministrator(ctx context.Context, reference string) (company id.Company, administrator id.Administrator, by string, err error) {
	if company, administrator, err = administratorOf(ctx, reference); err != nil {
		return company, administrator, "", err
	}
	caller := rpc.Caller(ctx)
	if administrator.String() == caller {
		return company, administrator, "", ownAccount()
	}
	names, err := s.names(ctx, company, []string{caller})
	return company, administrator, names[caller], err
}

// DisableAdministratorTotp implements AdministratorService.
func (s *Server) DisableAdministratorTotp(ctx context.Context, req *authv1.DisableAdministratorTotpRequest) (*authv1.DisableAdministratorTotpResponse, error) {
	company, administrator, by, err := s.anotherAdministrator(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	a, err := s.changeAdministrator(ctx, company, administrator, func(ctx context.Context, tx *pg.Tx, a *Administrator, now time.Time) error {
		if a.TotpSecret == nil {
			return errUnchanged
		}
		a.removeTotp()
		a.notify(now, "administrator.disable_totp", by)
		return s.store.audit(ctx, tx, a.Company, now, rpc.Caller(ctx), "administrator.disable_totp", a.ID.String(), Detail{Field: "name", After: a.Name})
	})
	if err != nil {
		return nil, err
	}
	return &authv1.DisableAdministratorTotpResponse{Administrator: administratorMessage(a)}, nil
}

// EndAdministratorSessions implements AdministratorService.
func (s *Server) EndAdministratorSessions(ctx context.Context, req *authv1.EndAdministratorSessionsRequest) (*authv1.EndAdministratorSessionsResponse, error) {
	company, administrator, by, err := s.anotherAdministrator(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	var ended int64
	_, err = s.changeAdministrator(ctx, company, administrator, func(ctx context.Context, tx *pg.Tx, a *Administrator, now time.Time) error {
		if ended, err = s.store.deleteSessions(ctx, tx, now, a.Company, a.ID, id.Session{}); err != nil {
			return err
		}
		if ended == 0 {
			return errUnchanged
		}
		a.revoke(now)
		a.notify(now, "administrator.end_sessions", by)
		return s.store.audit(ctx, tx, a.Company, now, rpc.Caller(ctx), "administrator.end_sessions", a.ID.String(),
			Detail{Field: "name", After: a.Name}, sessionsEnded(ended))
	})
	if err != nil {
		return nil, err
	}
	return &authv1.EndAdministratorSessionsResponse{Ended: int32(ended)}, nil
}

// endOwnership refuses to remove the last owner, and withdraws the links that the former owner has
// created for others.
func (s *Server) endOwnership(ctx context.Context, tx *pg.Tx, a Administrator, now time.Time) error {
	has, err := s.store.hasOtherOwner(ctx, tx, a)
	if err != nil {
		return err
	}
	if !has {
		return fault.Refuse(ReasonLastOwner, "the company's last owner cannot be disabled or given another role")
	}
	return s.withdrawLinks(ctx, tx, a, now)
}

// withdrawLinks withdraws the links that a former owner has created for others. Otherwise they
// could return by an invitation that they created.
func (s *Server) withdrawLinks(ctx context.Context, tx *pg.Tx, a Administrator, now time.Time) error {
	if err := s.store.deleteResetsBy(ctx, tx, a.Company, a.ID); err != nil {
		return err
	}
	revoked, err := s.store.revokeInvitationsBy(ctx, tx, a.Company, a.ID, now)
	if err != nil {
		return err
	}
	for _, i := range revoked {
		if err := s.store.audit(ctx, tx, i.Company, now, rpc.Caller(ctx), "invitation.revoke", i.ID.String(), i.facts()...); err != nil {
			return err
		}
	}
	return nil
}
