package auth

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"reservation.dev/platform/config"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/token"
)

// bootstrapCredential is a platform credential that a setting describes.
type bootstrapCredential struct {
	ID     string        `json:"id"`
	Name   string        `json:"name"`
	Secret config.Secret `json:"secret"`
	Scopes []string      `json:"scopes"`
}

// parseBootstrap reads the setting. Its errors name the entry, never the secret.
func parseBootstrap(setting config.Secret) ([]bootstrapCredential, error) {
	if setting == "" {
		return nil, nil
	}
	var list []bootstrapCredential
	if err := json.Unmarshal([]byte(setting.Reveal()), &list); err != nil {
		return nil, errors.New("BOOTSTRAP_CREDENTIALS is not a JSON list of credentials")
	}
	var faults []error
	for i, b := range list {
		if _, err := id.Parse[id.ServiceCredential](b.ID); err != nil {
			faults = append(faults, fmt.Errorf("BOOTSTRAP_CREDENTIALS[%d].id is no svc_ identifier", i))
		}
		if raw, err := hex.DecodeString(b.Secret.Reveal()); err != nil || len(raw) != 32 {
			faults = append(faults, fmt.Errorf("BOOTSTRAP_CREDENTIALS[%d].secret must have 64 hexadecimal characters", i))
		}
		var check checks
		check.text("name", b.Name, 1, maxName)
		check.scopes("scopes", b.Scopes, append(serviceScopes(), token.Admin))
		if err := check.err(); err != nil {
			faults = append(faults, fmt.Errorf("BOOTSTRAP_CREDENTIALS[%d]: %s", i, fault.From(err).Message))
		}
	}
	return list, errors.Join(faults...)
}

// bootstrap makes the described credentials, or brings them up to date; another
// secret or fewer scopes revoke what was issued before. Several replicas may do
// so at once.
func (s *Server) bootstrap(ctx context.Context, list []bootstrapCredential) error {
	for _, b := range list {
		parsed, err := id.Parse[id.ServiceCredential](b.ID)
		if err != nil {
			return err
		}
		if err := s.bootstrapOne(ctx, parsed.UUID(), b); err != nil {
			return fmt.Errorf("bootstrap credential %s: %w", b.Name, err)
		}
	}
	return nil
}

func (s *Server) bootstrapOne(ctx context.Context, credential id.UUID, b bootstrapCredential) error {
	scopes := slices.Clone(b.Scopes)
	slices.Sort(scopes)
	err := s.store.inTx(ctx, id.Company{}, func(ctx context.Context, tx *pg.Tx) error {
		tag, err := tx.Exec(ctx, insertBootstrapSQL, credential, b.Name, scopes, hashOf(b.Secret.Reveal()), s.instant())
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		return s.store.audit(ctx, tx, id.Company{}, s.instant(), "bootstrap", "service_credential.create", b.ID,
			Detail{Field: "name", After: b.Name}, Detail{Field: "scopes", After: strings.Join(scopes, " ")})
	})
	if err != nil {
		return err
	}
	present, err := s.store.credential(ctx, id.Company{}, credential, kindService)
	if err != nil {
		return err
	}
	same := bytes.Equal(present.SecretHash, hashOf(b.Secret.Reveal())) && slices.Equal(present.Scopes, scopes)
	if same && present.Name == b.Name {
		return nil
	}
	_, err = s.changeCredential(ctx, id.Company{}, credential, kindService, "service_credential.bootstrap", func(c *Credential, now time.Time) bool {
		c.Name, c.Scopes = b.Name, scopes
		if !same {
			c.SecretHash, c.RotatedAt = hashOf(b.Secret.Reveal()), now
			c.revoke(now)
		}
		return true
	})
	return err
}
