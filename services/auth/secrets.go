package auth

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"time"

	"reservation.dev/platform/fault"
)

const (
	day = 24 * time.Hour
	// maxOverlapDays is the longest time for which a rotation can leave the previous secret valid.
	maxOverlapDays = 7
)

// rotation is how a secret is replaced.
type rotation struct {
	// overlap is how long the previous secret stays valid; 0: it ends at once, with every token.
	overlap time.Duration
	// force ends an earlier secret that is still valid, with every token.
	force bool
}

// rotationRequest is a request to rotate the secret of a credential.
type rotationRequest interface {
	credentialRequest
	GetOverlapDays() int32
	GetForce() bool
}

// rotationOf checks a request and returns its rotation.
func rotationOf(req rotationRequest) (rotation, error) {
	var check checks
	check.Range("overlap_days", int64(req.GetOverlapDays()), 0, maxOverlapDays)
	return rotation{overlap: time.Duration(req.GetOverlapDays()) * day, force: req.GetForce()}, check.Err()
}

// rotate replaces the secret and returns the new one. It refuses to end an earlier secret that is
// still valid, because programs may still use it, unless it is forced.
func (c *Credential) rotate(r rotation, now time.Time) (secret string, err error) {
	hasPrevious := c.hasPrevious(now)
	if hasPrevious && !r.force {
		return "", fault.SecretRotated(*c.PreviousSecretExpiresAt)
	}
	replaced := c.SecretHash
	secret, c.SecretHash = newSecret()
	c.RotatedAt = now
	c.forgetPrevious()
	if r.overlap > 0 {
		c.PreviousSecretHash, c.PreviousSecretReplacedAt, c.PreviousSecretExpiresAt = replaced, &now, new(now.Add(r.overlap))
	}
	// A token does not say which secret it was issued for, so the end of one secret revokes all tokens.
	if r.overlap == 0 || hasPrevious {
		c.revoke(now)
	}
	return secret, nil
}

// endPrevious ends the previous secret and revokes every token. It reports whether there was one.
func endPrevious(c *Credential, now time.Time) bool {
	if !c.hasPrevious(now) {
		return false
	}
	c.forgetPrevious()
	c.revoke(now)
	return true
}

// hasPrevious reports whether the previous secret is valid at an instant.
func (c *Credential) hasPrevious(now time.Time) bool {
	return c.PreviousSecretHash != nil && c.PreviousSecretReplacedAt.Equal(c.RotatedAt) && now.Before(*c.PreviousSecretExpiresAt)
}

// forgetEnded removes a previous secret that is no longer valid at an instant.
func (c *Credential) forgetEnded(now time.Time) {
	if !c.hasPrevious(now) {
		c.forgetPrevious()
	}
}

// forgetPrevious removes the previous secret.
func (c *Credential) forgetPrevious() {
	c.PreviousSecretHash, c.PreviousSecretReplacedAt, c.PreviousSecretExpiresAt, c.PreviousSecretLastUsedAt = nil, nil, nil, nil
}

// secretUse says which secret of a credential a caller has.
type secretUse int

const (
	wrongSecret secretUse = iota
	currentSecret
	previousSecret
)

// compare compares the hash of a caller's secret with the secrets of c, in constant time: it does the
// same work for one secret, two or none.
func (c *Credential) compare(hash []byte, now time.Time) secretUse {
	none := make([]byte, sha256.Size) // no text has this hash
	current, previous := none, none
	if c.SecretHash != nil {
		current = c.SecretHash
	}
	if c.hasPrevious(now) {
		previous = c.PreviousSecretHash
	}
	isCurrent, isPrevious := subtle.ConstantTimeCompare(hash, current), subtle.ConstantTimeCompare(hash, previous)
	switch {
	case isCurrent == 1:
		return currentSecret
	case isPrevious == 1:
		return previousSecret
	}
	return wrongSecret
}

// isUseNew reports whether the use of a secret in a minute is not recorded yet. hash is the hash of the
// secret.
func (c *Credential) isUseNew(hash []byte, minute time.Time) bool {
	isNew := func(last *time.Time) bool { return last == nil || last.Before(minute) }
	return isNew(c.LastUsedAt) || (bytes.Equal(hash, c.PreviousSecretHash) && isNew(c.PreviousSecretLastUsedAt))
}

// expiry returns when a token for one of the secrets must end at the latest; nil: never.
func (c *Credential) expiry(use secretUse) *time.Time {
	if use == previousSecret && (c.ExpiresAt == nil || c.PreviousSecretExpiresAt.Before(*c.ExpiresAt)) {
		return c.PreviousSecretExpiresAt
	}
	return c.ExpiresAt
}

// newSecret returns a secret of 64 hexadecimal characters and its hash.
func newSecret() (secret string, hash []byte) {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // never fails
	secret = hex.EncodeToString(raw)
	return secret, hashOf(secret)
}

func hashOf(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}
