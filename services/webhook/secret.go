package webhook

import (
	"crypto/rand"
	"encoding/base64"
	"slices"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/seal"
)

const (
	secretPrefix = "whsec_"
	secretSize   = 32
	// rotationOverlap is how long the secret before the newest one stays valid.
	rotationOverlap = 24 * time.Hour
)

// Secret is a key that requests are signed with. The key is the bytes, for the
// JWT as for the Standard Webhooks signature; people see them as Text.
type Secret struct {
	ID        id.UUID
	Key       []byte
	CreatedAt time.Time
	ExpiresAt time.Time // zero: until it is rotated
}

func newSecret(secretID id.UUID, at time.Time) Secret {
	key := make([]byte, secretSize)
	_, _ = rand.Read(key) // never fails
	return Secret{ID: secretID, Key: key, CreatedAt: at}
}

// Text is whsec_ and the base64 of the key.
func (s *Secret) Text() string { return secretPrefix + base64.StdEncoding.EncodeToString(s.Key) }

// KeyID is what a JWT's header names the key by.
func (s *Secret) KeyID() string { return s.ID.String() }

// validAt reports whether requests of an instant carry a signature by s.
func (s *Secret) validAt(at time.Time) bool { return s.ExpiresAt.IsZero() || at.Before(s.ExpiresAt) }

// validSecrets returns those of all that are valid at an instant, newest first,
// never more than two.
func validSecrets(all []Secret, at time.Time) []Secret {
	valid := make([]Secret, 0, 2)
	for _, s := range all {
		if s.validAt(at) {
			valid = append(valid, s)
		}
	}
	slices.SortFunc(valid, func(a, b Secret) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return valid[:min(len(valid), 2)]
}

// secretContext is what a sealed key is bound to: moved to another row it does
// not open.
func secretContext(company id.Company, endpoint id.WebhookEndpoint, secret id.UUID) []byte {
	return slices.Concat([]byte("webhook secret "), company[:], endpoint[:], secret[:])
}

// sealSecret encrypts a key for its row.
func sealSecret(s *seal.Sealer, company id.Company, endpoint id.WebhookEndpoint, secret Secret) []byte {
	return s.Seal(secret.Key, secretContext(company, endpoint, secret.ID))
}
