package auth

import (
	"context"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/pg"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// SignIn implements AdministratorService. It counts the attempt before it checks the password, and
// takes the same steps whether or not the administrator exists.
func (s *Server) SignIn(ctx context.Context, req *authv1.SignInRequest) (*authv1.SignInResponse, error) {
	var check checks
	check.required("email", req.GetEmail())
	check.required("password", req.GetPassword())
	if err := check.Err(); err != nil {
		return nil, err
	}
	known, err := s.store.administratorByEmail(ctx, emailKey(req.GetEmail()))
	if err != nil && !fault.Is(err, fault.NotFound) {
		return nil, err
	}
	from := browser{address: printable(req.GetAddress(), maxAddress), userAgent: printable(req.GetUserAgent(), maxUserAgent), devices: req.GetDeviceTokens()}
	limits := passwordLimits(req.GetEmail(), from, s.knownDevice(known, from))
	if err := s.countAttempt(ctx, limits...); err != nil {
		return nil, err
	}
	hash, err := s.checkPassword(ctx, known, req.GetPassword())
	if err != nil {
		if !fault.Is(err, fault.Unauthenticated) {
			s.uncountAttempt(ctx, limits...) // it was not checked
		}
		return nil, err
	}
	if known.needsCode() {
		s.uncountAttempt(ctx, limits...)
		return s.startPending(ctx, known, hash, from, req.GetTotpCode())
	}
	raw, in, err := s.signIn(ctx, known, hash, from)
	if err != nil {
		return nil, err
	}
	s.correctFailures(ctx, limits[:1], limits[1:])
	identity, err := s.identity(in)
	if err != nil {
		return nil, err
	}
	return &authv1.SignInResponse{
		SessionToken: raw, Identity: identity, DeviceTokens: s.keepDevices(in.administrator, from.devices),
	}, nil
}

// checkPassword reports whether the password is the administrator's; known can be the zero value.
// The returned hash, if not empty, should replace the stored one.
func (s *Server) checkPassword(ctx context.Context, known Administrator, password string) (hash string, err error) {
	right, weaker, err := s.passwords.matches(ctx, password, known.PasswordHash)
	switch {
	case err != nil:
		return "", err
	case !right || known.DisabledAt != nil:
		return "", wrongSignIn()
	case weaker:
		return s.passwords.hash(ctx, password)
	}
	return "", nil
}

// lockUnchanged locks an administrator who has not changed since the password was checked, and
// replaces the stored hash if hash is not "".
func (s *Server) lockUnchanged(ctx context.Context, tx *pg.Tx, known Administrator, hash string) (Administrator, error) {
	a, err := s.store.lockAdministrator(ctx, tx, known.Company, known.ID)
	if err != nil {
		return a, err
	}
	if a.DisabledAt != nil || a.PasswordHash != known.PasswordHash || a.needsCode() != known.needsCode() {
		return a, wrongSignIn()
	}
	if hash != "" {
		a.PasswordHash = hash
	}
	return a, nil
}

// signIn creates the session of an administrator who needs no code.
func (s *Server) signIn(ctx context.Context, known Administrator, hash string, from browser) (raw string, in signedIn, err error) {
	err = s.store.Write(ctx, known.Company, func(ctx context.Context, tx *pg.Tx) error {
		if in.administrator, err = s.lockUnchanged(ctx, tx, known, hash); err != nil {
			return err
		}
		raw, err = s.newSession(ctx, tx, &in, s.instant(), from.address, from.userAgent, "password")
		return err
	})
	return raw, in, err
}

// startPending stores that the password was right. It uses the code if the caller has already given
// one.
func (s *Server) startPending(ctx context.Context, known Administrator, hash string, from browser, code string) (*authv1.SignInResponse, error) {
	raw, tokenHash := newToken()
	err := s.store.Write(ctx, known.Company, func(ctx context.Context, tx *pg.Tx) error {
		a, err := s.lockUnchanged(ctx, tx, known, hash)
		if err != nil {
			return err
		}
		if hash != "" {
			if err := s.store.updateAdministrator(ctx, tx, a); err != nil {
				return err
			}
		}
		now := s.instant()
		return s.store.insertPending(ctx, tx, pendingSignIn{
			Company: a.Company, TokenHash: tokenHash, Administrator: a.ID, Address: from.address, CreatedAt: now, ExpiresAt: now.Add(pendingLifetime),
		})
	})
	if err != nil {
		return nil, err
	}
	if code == "" {
		return &authv1.SignInResponse{TotpRequired: true, PendingToken: raw}, nil
	}
	done, err := s.finishSignIn(ctx, raw, code, from)
	if err != nil {
		return nil, err
	}
	return &authv1.SignInResponse{SessionToken: done.GetSessionToken(), Identity: done.GetIdentity(), DeviceTokens: done.GetDeviceTokens()}, nil
}

// FinishSignIn implements AdministratorService.
func (s *Server) FinishSignIn(ctx context.Context, req *authv1.FinishSignInRequest) (*authv1.FinishSignInResponse, error) {
	var check checks
	check.required("totp_code", req.GetTotpCode())
	if err := check.Err(); err != nil {
		return nil, err
	}
	return s.finishSignIn(ctx, req.GetPendingToken(), req.GetTotpCode(), browser{
		address: printable(req.GetAddress(), maxAddress), userAgent: printable(req.GetUserAgent(), maxUserAgent), devices: req.GetDeviceTokens(),
	})
}

func (s *Server) finishSignIn(ctx context.Context, raw, code string, from browser) (*authv1.FinishSignInResponse, error) {
	pending, err := s.store.pendingByToken(ctx, hashOf(raw))
	if err != nil {
		return nil, expiredWhereMissing(err)
	}
	known, err := s.store.administrator(ctx, pending.Company, pending.Administrator)
	if err != nil {
		return nil, expiredWhereMissing(err)
	}
	if !pending.live(known, s.instant()) {
		return nil, signInExpired()
	}
	device := s.knownDevice(known, from)
	limit := codeLimit(known.ID, device)
	if err := s.countAttempt(ctx, limit); err != nil {
		return nil, err
	}
	session, in, refused, err := s.finishPending(ctx, pending, code, from)
	if err != nil {
		s.uncountAttempt(ctx, limit) // the code was not checked
		return nil, err
	}
	if refused != nil {
		return nil, refused
	}
	s.forgetFailures(ctx, limit, passwordLimits(known.Email, from, device)[0])
	identity, err := s.identity(in)
	if err != nil {
		return nil, err
	}
	return &authv1.FinishSignInResponse{
		SessionToken: session, Identity: identity, DeviceTokens: s.keepDevices(in.administrator, from.devices),
	}, nil
}

// finishPending turns a pending sign-in into a session if the code is right. It counts a wrong
// code; refused is the fault for the caller.
func (s *Server) finishPending(ctx context.Context, pending pendingSignIn, code string, from browser) (raw string, in signedIn, refused, err error) {
	err = s.store.Write(ctx, pending.Company, func(ctx context.Context, tx *pg.Tx) error {
		refused = nil
		a, err := s.store.lockAdministrator(ctx, tx, pending.Company, pending.Administrator)
		if err != nil {
			return expiredWhereMissing(err)
		}
		p, err := s.store.lockPending(ctx, tx, pending)
		if err != nil {
			return expiredWhereMissing(err)
		}
		now := s.instant()
		if !p.live(a, now) {
			return signInExpired()
		}
		by, err := s.useCode(&a, code, now)
		if err != nil {
			return err
		}
		if by == "" {
			refused = wrongCode()
			if p.Failures++; p.Failures >= pendingFailures {
				refused = signInExpired()
			}
			if err := s.store.failPending(ctx, tx, p); err != nil {
				return err
			}
			// The password was right: the owner should see that somebody knows it.
			return s.store.audit(ctx, tx, a.Company, now, a.ID.String(), "session.refuse", a.ID.String(),
				Detail{Field: "reason", After: "wrong code"}, Detail{Field: "address", After: from.address})
		}
		if err := s.store.deletePending(ctx, tx, p); err != nil {
			return err
		}
		in.administrator = a
		raw, err = s.newSession(ctx, tx, &in, now, from.address, from.userAgent, by)
		return err
	})
	return raw, in, refused, err
}

// expiredWhereMissing returns the same fault for a missing sign-in as for an expired one.
func expiredWhereMissing(err error) error {
	if fault.Is(err, fault.NotFound) {
		return signInExpired()
	}
	return err
}

// knownDevice returns the browser if the administrator has signed in with it before, otherwise nil.
func (s *Server) knownDevice(a Administrator, from browser) *device {
	return knownDevice(s.sealer, a, from.devices, s.instant())
}

// keepDevices returns the tokens that a browser keeps after a has signed in.
func (s *Server) keepDevices(a Administrator, tokens []string) []string {
	return keepDevices(s.sealer, a, tokens, s.instant())
}
