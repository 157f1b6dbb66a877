package message

import (
	"crypto/rand"
	"encoding/base64"
	"slices"
	"time"

	"reservation.dev/platform/id"
)

const (
	secretPrefix = "whsec_"
	secretSize   = 32
	// RotationOverlap is how long the previous secret stays valid.
	RotationOverlap = 24 * time.Hour
)

// Secret is a key that signs requests. The key is the raw bytes, for the JWT and for the Standard
// Webhooks signature; people see it as Text.
type Secret struct {
	ID        id.UUID
	Key       []byte
	CreatedAt time.Time
	ExpiresAt time.Time // zero: until it is rotated
}

// NewSecret returns a secret with a random key.
func NewSecret(secretID id.UUID, at time.Time) Secret {
	key := make([]byte, secretSize)
	_, _ = rand.Read(key) // never fails
	return Secret{ID: secretID, Key: key, CreatedAt: at}
}

// Text returns whsec_ followed by the base64 of the key.
func (s *Secret) Text() string { return secretPrefix + base64.StdEncoding.EncodeToString(s.Key) }

// KeyID returns the name of the key in the header of a JWT.
func (s *Secret) KeyID() string { return s.ID.String() }

// ValidAt reports whether requests at an instant are signed with s.
func (s *Secret) ValidAt(at time.Time) bool { return s.ExpiresAt.IsZero() || at.Before(s.ExpiresAt) }

// ValidSecrets returns the secrets that are valid at an instant, newest first, at most two.
func ValidSecrets(all []Secret, at time.Time) []Secret {
	valid := make([]Secret, 0, 2)
	for _, s := range all {
		if s.ValidAt(at) {
			valid = append(valid, s)
		}
	}
	slices.SortFunc(valid, func(a, b Secret) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return valid[:min(len(valid), 2)]
}
