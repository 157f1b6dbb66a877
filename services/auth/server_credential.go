package auth

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
)

// The answers that carry a secret are not kept for idempotency keys: a secret is
// in no row. A caller who lost such an answer rotates.

// shown runs do, which fills resp and makes a secret, once per idempotency key. To
// a repetition the secret is "": it is in no answer that is kept.
func (s *Server) shown(
	ctx context.Context, company id.Company, req, resp proto.Message, do func(ctx context.Context, tx *pg.Tx) (secret string, err error),
) (secret string, err error) {
	err = s.store.inTx(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		secret = "" // of a run that did not commit
		return idem.Do(ctx, tx, req, resp, func() (err error) {
			secret, err = do(ctx, tx)
			return err
		})
	})
	return secret, err
}

// createCredential gives a credential its identifier and secret, and stores it.
func (s *Server) createCredential(ctx context.Context, tx *pg.Tx, c *Credential, action string) (secret string, err error) {
	now := s.instant()
	c.ID, c.Generation, c.Version, c.CreatedAt, c.RotatedAt = s.newID(), 1, 1, now, now
	secret, c.SecretHash = newSecret()
	// The company of a token is one that exists; that of a platform credential's
	// metadata may not be.
	if !c.Company.IsZero() {
		if _, err := s.store.lockCompany(ctx, tx, c.Company); err != nil {
			return "", err
		}
	}
	if err := s.mayGrant(ctx, tx, Credential{}, *c); err != nil {
		return "", err
	}
	return secret, errors.Join(
		s.store.insertCredential(ctx, tx, *c),
		s.store.audit(ctx, tx, c.Company, now, rpc.Caller(ctx), action, c.Subject(), present(c.facts())...))
}

func (s *Server) listCredentials(ctx context.Context, company id.Company, kind string, pageSize int32, pageToken string) (list []Credential, next string, err error) {
	size, after, err := page(pageSize, pageToken)
	if err != nil {
		return nil, "", err
	}
	if list, err = s.store.credentials(ctx, company, kind, after, size+1); err != nil {
		return nil, "", err
	}
	if len(list) > size {
		list = list[:size]
		next = list[size-1].ID.String()
	}
	return list, next, nil
}

// changeCredential locks, decides, saves, and publishes a raised generation, all
// in one commit. decide reports whether it changed anything.
func (s *Server) changeCredential(ctx context.Context, company id.Company, credential id.UUID, kind, action string, decide func(c *Credential, now time.Time) bool) (c Credential, err error) {
	err = s.store.inTx(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		c, err = s.changeInTx(ctx, tx, company, credential, kind, action, decide)
		return err
	})
	return c, err
}

// changeOnce is changeCredential, once per idempotency key. answer puts the changed
// credential into resp.
func (s *Server) changeOnce(
	ctx context.Context, company id.Company, credential id.UUID, kind, action string, req, resp proto.Message,
	decide func(c *Credential, now time.Time) bool, answer func(Credential),
) error {
	return s.store.inTx(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		return idem.Do(ctx, tx, req, resp, func() error {
			c, err := s.changeInTx(ctx, tx, company, credential, kind, action, decide)
			answer(c)
			return err
		})
	})
}

func (s *Server) changeInTx(ctx context.Context, tx *pg.Tx, company id.Company, credential id.UUID, kind, action string, decide func(c *Credential, now time.Time) bool) (Credential, error) {
	c, err := s.store.lockCredential(ctx, tx, company, credential, kind)
	if err != nil {
		return c, err
	}
	before, now := c, s.instant()
	if !decide(&c, now) {
		return c, nil
	}
	if err := s.mayGrant(ctx, tx, before, c); err != nil {
		return before, err
	}
	c.Version++
	details := differences(before.facts(), c.facts())
	if len(details) == 0 {
		details = c.named()
	}
	err = errors.Join(
		s.store.updateCredential(ctx, tx, c),
		s.store.audit(ctx, tx, company, now, rpc.Caller(ctx), action, c.Subject(), details...))
	if err == nil && c.Generation != before.Generation {
		err = s.outbox.Append(ctx, tx, revoked(c.Subject(), c.Generation))
	}
	return c, err
}

func (s *Server) rotateCredential(ctx context.Context, tx *pg.Tx, company id.Company, credential id.UUID, kind, action string) (c Credential, secret string, err error) {
	c, err = s.changeInTx(ctx, tx, company, credential, kind, action, func(c *Credential, now time.Time) bool {
		secret = c.rotate(now)
		return true
	})
	return c, secret, err
}

// mayGrant refuses a change of a credential that gives it more than the caller
// has: a scope, a higher rate limit or a later expiry. before is the zero
// Credential for a new one. What the service does by itself is not limited.
func (s *Server) mayGrant(ctx context.Context, tx *pg.Tx, before, after Credential) error {
	claims := rpc.ClaimsFrom(ctx)
	if claims == nil {
		return nil
	}
	g := grantor{claims: claims, limits: !claims.IsAdmin() && claims.Kind != token.KindAdministrator}
	if g.limits {
		own, err := s.store.callersCredential(ctx, tx, claims)
		if err != nil {
			return err
		}
		g.expiresAt = own.ExpiresAt
	}
	return g.allows(before, after)
}
