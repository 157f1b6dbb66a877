package auth

import (
	"crypto/ed25519"
	"time"
)

// longestToken is how long a token can live at most.
const longestToken = 24 * time.Hour

// clockSkew is by how much the clocks of replicas and verifiers may differ.
const clockSkew = time.Minute

// signingKey is a key pair that signs tokens.
type signingKey struct {
	KID          string
	Public       ed25519.PublicKey
	CreatedAt    time.Time
	ActiveFrom   time.Time
	RetiredUntil *time.Time

	private ed25519.PrivateKey
}

// live reports whether tokens of the key are accepted at an instant.
func (k *signingKey) live(now time.Time) bool {
	return k.RetiredUntil == nil || now.Before(*k.RetiredUntil)
}

// storedKey is a row of signing_keys.
type storedKey struct {
	KID          string     `db:"kid"`
	Public       []byte     `db:"public_key"`
	Sealed       []byte     `db:"private_key"`
	CreatedAt    time.Time  `db:"created_at"`
	ActiveFrom   time.Time  `db:"active_from"`
	RetiredUntil *time.Time `db:"retired_until"`
}
