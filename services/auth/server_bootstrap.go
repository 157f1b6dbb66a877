package auth

import (
	"context"
	"fmt"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// bootstrap creates or updates the credentials of the setting. Several replicas can do so at the
// same time.
func (s *Server) bootstrap(ctx context.Context, list []bootstrapCredential) error {
	for _, b := range list {
		parsed, err := id.Parse[id.ServiceCredential](b.ID)
		if err != nil {
			return err
		}
		if err := s.bootstrapOne(ctx, b.credential(parsed.UUID(), s.instant())); err != nil {
			return fmt.Errorf("bootstrap credential %s: %w", b.Name, err)
		}
	}
	return nil
}

func (s *Server) bootstrapOne(ctx context.Context, wanted Credential) error {
	err := s.store.Write(ctx, id.Company{}, func(ctx context.Context, tx *pg.Tx) error {
		isNew, err := s.store.insertBootstrap(ctx, tx, wanted)
		if err != nil || !isNew {
			return err
		}
		return s.store.audit(ctx, tx, id.Company{}, wanted.CreatedAt, "bootstrap", "service_credential.create", wanted.Subject(), withoutEmpty(wanted.facts())...)
	})
	if err != nil {
		return err
	}
	return s.store.Write(ctx, id.Company{}, func(ctx context.Context, tx *pg.Tx) error {
		_, err := s.changeInTx(ctx, tx, id.Company{}, wanted.ID, serviceCredentials(), "bootstrap", func(c *Credential, now time.Time) (bool, error) {
			return c.become(wanted, now), nil
		})
		return err
	})
}
