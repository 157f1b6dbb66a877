package auth

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// This file has what the RPCs of all kinds of credentials share. The stored response of an
// idempotency key has no secret, so a replay returns none. A caller who has lost a secret rotates
// it.

// credentialAnswer is where a response has the credential and its secret.
type credentialAnswer struct {
	credential func(Credential)
	secret     *string
}

// createCredential creates a credential of a company; zero: of the platform.
func createCredential[R proto.Message](
	ctx context.Context, s *Server, k credentialKind, company id.Company, fields credentialFields, req proto.Message, resp R, answer credentialAnswer,
) (R, error) {
	fields, err := fields.checkedForNew(k)
	if err != nil {
		var none R
		return none, err
	}
	return idem.Write(ctx, s.store, company, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		c, secret := newCredential(k, company, inModeOf(company, s.newID()), fields, s.instant())
		answer.credential(c)
		tx.AfterCommit(func() { *answer.secret = secret })
		return s.addCredential(ctx, tx, k, c)
	})
}

func (s *Server) addCredential(ctx context.Context, tx *pg.Tx, k credentialKind, c Credential) error {
	// The company of a token exists. A company in the metadata of a platform credential's call may
	// not.
	if !c.Company.IsZero() {
		if _, err := s.store.lockCompany(ctx, tx, c.Company); err != nil {
			return err
		}
	}
	if err := s.mayGrant(ctx, tx, Credential{}, c); err != nil {
		return err
	}
	return errors.Join(
		s.store.insertCredential(ctx, tx, c),
		s.store.audit(ctx, tx, c.Company, c.CreatedAt, rpc.Caller(ctx), k.thing+".create", c.Subject(), withoutEmpty(c.facts())...))
}

// getCredential returns a credential of the caller's company.
func (s *Server) getCredential(ctx context.Context, k credentialKind, subject string) (Credential, error) {
	company, credential, err := credentialOf(ctx, k, subject)
	if err != nil {
		return Credential{}, err
	}
	return s.store.credential(ctx, company, credential, k.name)
}

// credentialOf returns the company of the call and the identifier of the credential that a request
// names.
func credentialOf(ctx context.Context, k credentialKind, subject string) (company id.Company, credential id.UUID, err error) {
	if company, err = companyOf(ctx, k); err != nil {
		return company, credential, err
	}
	if credential, err = k.parse(subject); err != nil {
		return company, credential, fault.Missing("credential")
	}
	return company, credential, nil
}

// companyOf returns the company whose credentials a request is about. If a service credential of
// the platform calls for no company, it is the platform.
func companyOf(ctx context.Context, k credentialKind) (id.Company, error) {
	if k.name == kindService && isPlatform(ctx) {
		return id.Company{}, nil
	}
	return rpc.Tenant(ctx)
}

// listCredentials returns a page of the credentials of the caller's company.
func (s *Server) listCredentials(ctx context.Context, k credentialKind, req page.Request) (list []Credential, next string, err error) {
	company, err := companyOf(ctx, k)
	if err != nil {
		return nil, "", err
	}
	return listPage(req, byID("id"),
		func(p page.Page) ([]Credential, error) { return s.store.credentials(ctx, company, k.name, p) },
		func(c *Credential) page.Cursor { return page.Cursor{ID: c.ID} })
}

// credentialRequest is a request about one credential.
type credentialRequest interface {
	proto.Message
	GetId() string
}

// rotateCredential replaces the secret of a credential.
func rotateCredential[R proto.Message](ctx context.Context, s *Server, k credentialKind, req rotationRequest, resp R, answer credentialAnswer) (R, error) {
	rotation, err := rotationOf(req)
	if err != nil {
		var none R
		return none, err
	}
	return writeCredential(ctx, s, k, req, resp, func(ctx context.Context, tx *pg.Tx, company id.Company, credential id.UUID) error {
		c, err := s.changeInTx(ctx, tx, company, credential, k, "rotate", func(c *Credential, now time.Time) (bool, error) {
			secret, err := c.rotate(rotation, now)
			tx.AfterCommit(func() { *answer.secret = secret })
			return true, err
		})
		answer.credential(c)
		return err
	})
}

// changeCredential applies decide to a credential; decide reports whether it changed anything.
func changeCredential[R proto.Message](
	ctx context.Context, s *Server, k credentialKind, verb string, req credentialRequest, resp R,
	decide func(c *Credential, now time.Time) bool, answer func(Credential),
) (R, error) {
	return writeCredential(ctx, s, k, req, resp, func(ctx context.Context, tx *pg.Tx, company id.Company, credential id.UUID) error {
		c, err := s.changeInTx(ctx, tx, company, credential, k, verb, func(c *Credential, now time.Time) (bool, error) {
			return decide(c, now), nil
		})
		answer(c)
		return err
	})
}

// updateCredential applies the fields of a request.
func updateCredential[R proto.Message](
	ctx context.Context, s *Server, k credentialKind, fields credentialFields, req credentialRequest, resp R, answer func(Credential),
) (R, error) {
	var none R
	if _, _, err := credentialOf(ctx, k, req.GetId()); err != nil {
		return none, err
	}
	fields, err := fields.checkedForChange(k)
	if err != nil {
		return none, err
	}
	return changeCredential(ctx, s, k, "update", req, resp, func(c *Credential, now time.Time) bool {
		c.update(fields, now)
		return true
	}, answer)
}

// givenNetworks returns the networks of a change; nil: not set.
func givenNetworks(n *authv1.AllowedNetworks) *[]string {
	if n == nil {
		return nil
	}
	return &n.Values
}

// writeCredential runs fn in a transaction on the credential that a request names, once per
// idempotency key.
func writeCredential[R proto.Message](
	ctx context.Context, s *Server, k credentialKind, req credentialRequest, resp R,
	fn func(ctx context.Context, tx *pg.Tx, company id.Company, credential id.UUID) error,
) (R, error) {
	company, credential, err := credentialOf(ctx, k, req.GetId())
	if err != nil {
		var none R
		return none, err
	}
	return idem.Write(ctx, s.store, company, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		return fn(ctx, tx, company, credential)
	})
}

// changeInTx locks a credential, applies decide, saves the credential, and publishes a raised
// generation. It also removes a previous secret that has expired.
func (s *Server) changeInTx(
	ctx context.Context, tx *pg.Tx, company id.Company, credential id.UUID, k credentialKind, verb string,
	decide func(c *Credential, now time.Time) (changed bool, err error),
) (Credential, error) {
	c, err := s.store.lockCredential(ctx, tx, company, credential, k.name)
	if err != nil {
		return c, err
	}
	now := s.instant()
	c.forgetEnded(now)
	before := c
	if changed, err := decide(&c, now); err != nil || !changed {
		return c, err
	}
	if err := s.mayGrant(ctx, tx, before, c); err != nil {
		return before, err
	}
	c.Version++
	err = errors.Join(
		s.store.updateCredential(ctx, tx, c),
		s.store.audit(ctx, tx, company, now, rpc.Caller(ctx), k.thing+"."+verb, c.Subject(), c.changes(before)...))
	if err == nil && c.Generation != before.Generation {
		err = s.outbox.Append(ctx, tx, revoked(c.Subject(), c.Generation))
	}
	return c, err
}

// mayGrant refuses a change of a credential that grants more than the caller has: a scope, a higher
// rate limit or a later expiry. before is the zero Credential for a new one. Changes that the
// service makes on its own are not limited.
func (s *Server) mayGrant(ctx context.Context, tx *pg.Tx, before, after Credential) error {
	claims := rpc.ClaimsFrom(ctx)
	if claims == nil {
		return nil
	}
	g := grantor{claims: claims, isLimited: !claims.IsAdmin() && claims.Kind != token.KindAdministrator}
	if g.isLimited {
		own, err := s.store.callersCredential(ctx, tx, claims)
		if err != nil {
			return err
		}
		g.expiresAt = own.ExpiresAt
	}
	return g.allows(before, after)
}
