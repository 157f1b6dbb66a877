package auth

import (
	"crypto/ed25519"
	"slices"
	"time"
)

// longestToken is the maximum lifetime of a token.
const longestToken = 24 * time.Hour

// clockSkew is the maximum difference between the clocks of replicas and verifiers.
const clockSkew = time.Minute

// signingKey is a key pair that signs tokens.
type signingKey struct {
	KID          string            `db:"kid"`
	Public       ed25519.PublicKey `db:"public_key"`
	Sealed       []byte            `db:"private_key"` // the seed, encrypted
	CreatedAt    time.Time         `db:"created_at"`
	ActiveFrom   time.Time         `db:"active_from"`
	RetiredUntil *time.Time        `db:"retired_until"`

	private ed25519.PrivateKey
}

// live reports whether tokens of the key are accepted at an instant.
func (k *signingKey) live(now time.Time) bool {
	return k.RetiredUntil == nil || now.Before(*k.RetiredUntil)
}

// activeKey returns the key that signs at an instant: the one that became active last; nil: there
// is none.
func activeKey(keys []signingKey, now time.Time) *signingKey {
	var found *signingKey
	for i := range keys {
		k := &keys[i]
		if !k.ActiveFrom.After(now) && k.live(now) && (found == nil || k.ActiveFrom.After(found.ActiveFrom)) {
			found = k
		}
	}
	return found
}

// liveKeys returns the keys whose tokens are accepted at an instant or later.
func liveKeys(keys []signingKey, now time.Time) []signingKey {
	var list []signingKey
	for _, k := range keys {
		if k.live(now) {
			list = append(list, k)
		}
	}
	return list
}

// isRotationDue reports whether the newest key is older than interval.
func isRotationDue(keys []signingKey, now time.Time, interval time.Duration) bool {
	return !slices.ContainsFunc(keys, func(k signingKey) bool { return k.RetiredUntil == nil && now.Sub(k.CreatedAt) < interval })
}
