package auth

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"reservation.dev/platform/config"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// bootstrapCredential is a platform credential that the setting describes.
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
			faults = append(faults, fmt.Errorf("BOOTSTRAP_CREDENTIALS[%d].id is not a svc_ identifier", i))
		}
		if raw, err := hex.DecodeString(b.Secret.Reveal()); err != nil || len(raw) != 32 {
			faults = append(faults, fmt.Errorf("BOOTSTRAP_CREDENTIALS[%d].secret must have 64 hexadecimal characters", i))
		}
		var check checks
		check.Line("name", b.Name, 1, maxName)
		check.scopes("scopes", b.Scopes, platformCredentials().scopes())
		if err := check.Err(); err != nil {
			faults = append(faults, fmt.Errorf("BOOTSTRAP_CREDENTIALS[%d]: %s", i, fault.From(err).Message))
		}
	}
	return list, errors.Join(faults...)
}

// credential returns the credential that b describes.
func (b *bootstrapCredential) credential(credential id.UUID, now time.Time) Credential {
	scopes := slices.Clone(b.Scopes)
	slices.Sort(scopes)
	return Credential{ID: credential, Kind: kindService, Name: b.Name, Scopes: scopes, SecretHash: hashOf(b.Secret.Reveal()), RotatedAt: now, CreatedAt: now}
}

// become gives c the name, scopes and secret of the wanted credential, and reports whether c
// changed. A different secret or different scopes revoke the tokens issued before.
func (c *Credential) become(wanted Credential, now time.Time) bool {
	same := bytes.Equal(c.SecretHash, wanted.SecretHash) && slices.Equal(c.Scopes, wanted.Scopes)
	if same && c.Name == wanted.Name {
		return false
	}
	c.Name, c.Scopes = wanted.Name, wanted.Scopes
	if !same {
		c.SecretHash, c.RotatedAt = wanted.SecretHash, now
		c.forgetPrevious()
		c.revoke(now)
	}
	return true
}
