package auth

import (
	"context"
	"errors"
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/roles"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/scopes"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// newSession adds a session of in.administrator, whose row is locked, and saves the administrator
// with it. It sets the other fields of in.
func (s *Server) newSession(ctx context.Context, tx *pg.Tx, in *signedIn, now time.Time, address, userAgent, by string) (raw string, err error) {
	a := &in.administrator
	if in.company, err = s.store.companyInTx(ctx, tx, a.Company); err != nil {
		return "", err
	}
	a.LastSignedInAt = &now
	in.session = Session{
		Company: a.Company, ID: id.Session(s.newID()), Administrator: a.ID, Address: address, UserAgent: userAgent,
		CreatedAt: now, LastUsedAt: now, ExpiresAt: now.Add(s.sessions.lifetime),
	}
	raw, in.session.TokenHash = newToken()
	return raw, errors.Join(
		s.store.updateAdministrator(ctx, tx, *a),
		s.store.insertSession(ctx, tx, in.session),
		s.store.audit(ctx, tx, a.Company, now, a.ID.String(), "session.create", in.session.ID.String(),
			Detail{Field: "by", After: by}, Detail{Field: "address", After: address}, Detail{Field: "user_agent", After: userAgent}))
}

// identity returns what the dashboard needs to know about a session, with an access token.
func (s *Server) identity(in signedIn) (*authv1.Identity, error) {
	claims := accessClaims(in.administrator, in.session, in.company, s.instant())
	claims.ID = s.newID().String()
	raw, err := s.keys.sign(claims)
	if err != nil {
		return nil, err
	}
	return identityMessage(in, claims, raw, s.sessions.idle), nil
}

// Authenticate implements AdministratorService.
func (s *Server) Authenticate(ctx context.Context, req *authv1.AuthenticateRequest) (*authv1.AuthenticateResponse, error) {
	now := s.instant()
	in, err := s.store.sessionByToken(ctx, hashOf(req.GetSessionToken()))
	if fault.Is(err, fault.NotFound) {
		return nil, sessionEnded()
	}
	if err != nil {
		return nil, err
	}
	if !in.session.live(now, s.sessions.idle) || in.administrator.DisabledAt != nil {
		return nil, sessionEnded()
	}
	if err := s.store.touchSession(ctx, in.session, now); err != nil {
		s.log.Warn("the last use of a session is not stored", "session", in.session.ID.String(), "error", err.Error())
	}
	if in.session.LastUsedAt.Before(now.Truncate(time.Minute)) {
		in.session.LastUsedAt = now.Truncate(time.Minute)
	}
	if req.GetTestMode() {
		if in.company, err = s.testCompanyOf(ctx, in); err != nil {
			return nil, err
		}
	}
	identity, err := s.identity(in)
	if err != nil {
		return nil, err
	}
	return &authv1.AuthenticateResponse{Identity: identity}, nil
}

// testCompanyOf returns the company in test mode of a signed-in administrator. Only owners create it.
func (s *Server) testCompanyOf(ctx context.Context, in signedIn) (Company, error) {
	if in.administrator.Role != roles.Owner {
		c, err := s.store.company(ctx, in.company.ID.Test())
		if fault.Is(err, fault.NotFound) {
			err = testMode("an owner must enable test mode first")
		}
		return c, err
	}
	return s.testCompany(ctx, in.company, in.administrator.ID.String())
}

// SignOut implements AdministratorService.
func (s *Server) SignOut(ctx context.Context, req *authv1.SignOutRequest) (*authv1.SignOutResponse, error) {
	in, err := s.store.sessionByToken(ctx, hashOf(req.GetSessionToken()))
	if fault.Is(err, fault.NotFound) {
		return &authv1.SignOutResponse{}, nil
	}
	if err == nil {
		err = s.endSession(ctx, in.session, actor{subject: in.administrator.ID.String()})
	}
	if err != nil {
		return nil, err
	}
	return &authv1.SignOutResponse{}, nil
}

// actor is the caller who ends a session, and the name that the notice shows.
type actor struct{ subject, name string }

// endSession ends a session and revokes the access tokens of its administrator, who is notified if
// somebody else ended it. It does nothing if the session has already ended.
func (s *Server) endSession(ctx context.Context, n Session, by actor) error {
	return s.store.Write(ctx, n.Company, func(ctx context.Context, tx *pg.Tx) error {
		a, err := s.store.lockAdministrator(ctx, tx, n.Company, n.Administrator)
		if err != nil {
			return err
		}
		was, err := s.store.deleteSession(ctx, tx, n.Company, n.ID)
		if err != nil || !was {
			return err
		}
		now := s.instant()
		a.revoke(now)
		if by.subject != a.ID.String() {
			a.notify(now, "session.end", by.name)
		}
		return errors.Join(
			s.store.updateAdministrator(ctx, tx, a),
			s.store.audit(ctx, tx, n.Company, now, by.subject, "session.end", n.ID.String(), Detail{Field: "administrator", After: a.Name}),
			s.outbox.Append(ctx, tx, revoked(a.ID.String(), a.Generation)))
	})
}

// ListSessions implements AdministratorService.
func (s *Server) ListSessions(ctx context.Context, req *authv1.ListSessionsRequest) (*authv1.ListSessionsResponse, error) {
	company, whose, err := s.sessionsOwner(ctx, req.GetAdministratorId())
	if err != nil {
		return nil, err
	}
	now := s.instant()
	list, err := s.store.sessions(ctx, company, whose, now, now.Add(-s.sessions.idle))
	if err != nil {
		return nil, err
	}
	resp := &authv1.ListSessionsResponse{}
	for _, n := range list {
		m := sessionMessage(n, s.sessions.idle)
		m.Current = m.GetId() == rpc.ClaimsFrom(ctx).Session
		resp.Sessions = append(resp.Sessions, m)
	}
	return resp, nil
}

// sessionsOwner returns the administrator that a request names, or the caller if it names none.
func (s *Server) sessionsOwner(ctx context.Context, reference string) (company id.Company, whose id.Administrator, err error) {
	if caller, err := callingAdministrator(ctx); err == nil && (reference == "" || reference == caller.administrator.String()) {
		return caller.company, caller.administrator, nil
	} else if reference == "" {
		return company, whose, err
	}
	if !rpc.ClaimsFrom(ctx).Has(scopes.AdministratorsRead) {
		return company, whose, fault.MissingScope(scopes.AdministratorsRead)
	}
	if company, whose, err = administratorOf(ctx, reference); err != nil {
		return company, whose, err
	}
	_, err = s.store.administrator(ctx, company, whose)
	return company, whose, err
}

// EndSession implements AdministratorService.
func (s *Server) EndSession(ctx context.Context, req *authv1.EndSessionRequest) (*authv1.EndSessionResponse, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return nil, err
	}
	session, err := check.ID[id.Session](req.GetId(), "session")
	if err != nil {
		return nil, err
	}
	n, err := s.store.session(ctx, company, session)
	if err != nil {
		return nil, err
	}
	claims := rpc.ClaimsFrom(ctx)
	if n.Administrator.String() != claims.Subject && !claims.Has(scopes.AdministratorsWrite) {
		// Sessions of other administrators are treated as if they did not exist.
		return nil, fault.Missing("session")
	}
	names, err := s.names(ctx, company, []string{claims.Subject})
	if err != nil {
		return nil, err
	}
	if err := s.endSession(ctx, n, actor{claims.Subject, names[claims.Subject]}); err != nil {
		return nil, err
	}
	return &authv1.EndSessionResponse{}, nil
}

// EndOtherSessions implements AdministratorService.
func (s *Server) EndOtherSessions(ctx context.Context, _ *authv1.EndOtherSessionsRequest) (*authv1.EndOtherSessionsResponse, error) {
	caller, err := callingAdministrator(ctx)
	if err != nil {
		return nil, err
	}
	var ended int64
	_, err = s.changeAdministrator(ctx, caller.company, caller.administrator, func(ctx context.Context, tx *pg.Tx, a *Administrator, now time.Time) error {
		if ended, err = s.store.deleteSessions(ctx, tx, now, a.Company, a.ID, caller.session); err != nil {
			return err
		}
		if ended == 0 {
			return errUnchanged
		}
		a.revoke(now)
		return s.store.audit(ctx, tx, a.Company, now, a.ID.String(), "session.end_others", a.ID.String(), sessionsEnded(ended))
	})
	if err != nil {
		return nil, err
	}
	return &authv1.EndOtherSessionsResponse{Ended: int32(ended)}, nil
}

// caller is an administrator who calls, and their session.
type caller struct {
	company       id.Company
	administrator id.Administrator
	session       id.Session
}

// callingAdministrator returns the administrator who calls; other callers are FORBIDDEN.
func callingAdministrator(ctx context.Context) (caller, error) {
	claims := rpc.ClaimsFrom(ctx)
	if claims.Kind != token.KindAdministrator {
		return caller{}, fault.New(fault.Forbidden, fault.ReasonForbidden, "only a signed-in administrator can do this")
	}
	administrator, err := id.Parse[id.Administrator](claims.Subject)
	if err != nil {
		return caller{}, err
	}
	session, err := id.Parse[id.Session](claims.Session)
	return caller{company: claims.Company, administrator: administrator, session: session}, err
}
