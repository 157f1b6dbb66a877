package auth

import (
	"context"
	"errors"
	"slices"
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// InviteAdministrator implements AdministratorService.
func (s *Server) InviteAdministrator(ctx context.Context, req *authv1.InviteAdministratorRequest) (*authv1.InviteAdministratorResponse, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return nil, err
	}
	var check checks
	i := Invitation{Company: company, Email: check.Email("email", req.GetEmail()), duty: check.duty(req.GetRole(), req.GetStaffId()), InvitedBy: rpc.Caller(ctx)}
	if err := check.Err(); err != nil {
		return nil, err
	}
	// Checks only this company: people with an account in another company learn it when they
	// accept, and nobody else does.
	if a, err := s.store.administratorByEmail(ctx, emailKey(i.Email)); err == nil && a.Company == company {
		return nil, adminEmailExists()
	} else if err != nil && !fault.Is(err, fault.NotFound) {
		return nil, err
	}
	resp := &authv1.InviteAdministratorResponse{}
	_, err = idem.Write(ctx, s.store, company, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		raw, err := s.invite(ctx, tx, &i)
		resp.Invitation = invitationMessage(i, "")
		tx.AfterCommit(func() { resp.Token = raw }) // not in the stored response
		return err
	})
	if err != nil {
		return nil, err
	}
	names, err := s.names(ctx, company, []string{i.InvitedBy})
	if err != nil {
		return nil, err
	}
	resp.Invitation.InvitedByName = names[i.InvitedBy]
	return resp, nil
}

// invite stores an invitation, which replaces an open one for the same address, and returns its
// token.
func (s *Server) invite(ctx context.Context, tx *pg.Tx, i *Invitation) (raw string, err error) {
	// Concurrent invitations of one address are serialized.
	if _, err := s.store.lockLiveCompany(ctx, tx, i.Company); err != nil {
		return "", err
	}
	now := s.instant()
	i.ID, i.CreatedAt, i.ExpiresAt = id.Invitation(s.newID()), now, now.Add(invitationLifetime)
	raw, i.TokenHash = newToken()
	if i.narrow() != nil {
		i.TokenHash = narrowHash(raw)
	}
	former, err := s.store.lockOpenInvitation(ctx, tx, i.Company, emailKey(i.Email))
	switch {
	case err == nil:
		err = s.revokeInvitation(ctx, tx, former, now)
	case fault.Is(err, fault.NotFound):
		err = nil
	}
	if err != nil {
		return "", err
	}
	return raw, errors.Join(
		s.store.insertInvitation(ctx, tx, *i),
		s.store.audit(ctx, tx, i.Company, now, i.InvitedBy, "invitation.create", i.ID.String(), i.facts()...))
}

func (s *Server) revokeInvitation(ctx context.Context, tx *pg.Tx, i Invitation, now time.Time) error {
	i.RevokedAt = &now
	return errors.Join(
		s.store.endInvitation(ctx, tx, i),
		s.store.audit(ctx, tx, i.Company, now, rpc.Caller(ctx), "invitation.revoke", i.ID.String(), i.facts()...))
}

// ListInvitations implements AdministratorService.
func (s *Server) ListInvitations(ctx context.Context, _ *authv1.ListInvitationsRequest) (*authv1.ListInvitationsResponse, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return nil, err
	}
	list, err := s.store.invitations(ctx, company)
	if err != nil {
		return nil, err
	}
	inviters := make([]string, len(list))
	for i, n := range list {
		inviters[i] = n.InvitedBy
	}
	slices.Sort(inviters)
	names, err := s.names(ctx, company, slices.Compact(inviters))
	if err != nil {
		return nil, err
	}
	resp := &authv1.ListInvitationsResponse{}
	for _, i := range list {
		resp.Invitations = append(resp.Invitations, invitationMessage(i, names[i.InvitedBy]))
	}
	return resp, nil
}

// RevokeInvitation implements AdministratorService.
func (s *Server) RevokeInvitation(ctx context.Context, req *authv1.RevokeInvitationRequest) (*authv1.RevokeInvitationResponse, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return nil, err
	}
	invitation, err := check.ID[id.Invitation](req.GetId(), "invitation")
	if err != nil {
		return nil, err
	}
	err = s.store.Write(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		i, err := s.store.lockInvitation(ctx, tx, company, invitation)
		if err != nil {
			return err
		}
		now := s.instant()
		if err := i.checkOpen(now); err != nil && fault.From(err).Reason != ReasonInvitationExpired {
			return err
		}
		return s.revokeInvitation(ctx, tx, i, now)
	})
	if err != nil {
		return nil, err
	}
	return &authv1.RevokeInvitationResponse{}, nil
}

// invitation returns the invitation with a token if it can be accepted.
func (s *Server) invitation(ctx context.Context, raw string) (Invitation, error) {
	i, err := s.store.invitationByToken(ctx, hashOf(raw), narrowHash(raw))
	if err != nil {
		return i, err
	}
	if err := i.checkOpen(s.instant()); err != nil {
		return i, err
	}
	return i, s.stillOwner(ctx, i.Company, i.InvitedBy, "invitation")
}

// GetInvitation implements AdministratorService.
func (s *Server) GetInvitation(ctx context.Context, req *authv1.GetInvitationRequest) (*authv1.GetInvitationResponse, error) {
	i, err := s.invitation(ctx, req.GetToken())
	if err != nil {
		return nil, err
	}
	company, err := s.store.company(ctx, i.Company)
	if err != nil {
		return nil, err
	}
	names, err := s.names(ctx, i.Company, []string{i.InvitedBy})
	if err != nil {
		return nil, err
	}
	return &authv1.GetInvitationResponse{Invitation: invitationMessage(i, names[i.InvitedBy]), CompanyName: company.Name}, nil
}

// AcceptInvitation implements AdministratorService.
func (s *Server) AcceptInvitation(ctx context.Context, req *authv1.AcceptInvitationRequest) (*authv1.AcceptInvitationResponse, error) {
	known, err := s.invitation(ctx, req.GetToken())
	if err != nil {
		return nil, err
	}
	var check checks
	a := Administrator{Company: known.Company, Email: known.Email, duty: known.duty, Name: check.Line("name", req.GetName(), 1, maxName)}
	check.password("password", req.GetPassword(), known.Email)
	if err := check.Err(); err != nil {
		return nil, err
	}
	if a.PasswordHash, err = s.passwords.hash(ctx, req.GetPassword()); err != nil {
		return nil, err
	}
	var raw string
	var in signedIn
	err = s.store.Write(ctx, known.Company, func(ctx context.Context, tx *pg.Tx) error {
		i, err := s.store.lockInvitation(ctx, tx, known.Company, known.ID)
		if err != nil {
			return err
		}
		now := s.instant()
		if err := i.checkOpen(now); err != nil {
			return err
		}
		if err := s.addAdministrator(ctx, tx, &a, ""); err != nil {
			return err
		}
		i.AcceptedAt = &now
		in.administrator = a
		raw, err = s.newSession(ctx, tx, &in, now, printable(req.GetAddress(), maxAddress), printable(req.GetUserAgent(), maxUserAgent), "invitation")
		return errors.Join(err,
			s.store.endInvitation(ctx, tx, i),
			s.store.audit(ctx, tx, i.Company, now, a.ID.String(), "invitation.accept", i.ID.String(), i.facts()...))
	})
	if err != nil {
		return nil, err
	}
	identity, err := s.identity(in)
	if err != nil {
		return nil, err
	}
	return &authv1.AcceptInvitationResponse{
		SessionToken: raw, Identity: identity, DeviceTokens: s.keepDevices(in.administrator, req.GetDeviceTokens()),
	}, nil
}
