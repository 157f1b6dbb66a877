// Package seal encrypts the secrets that a service has to be able to read
// again, such as webhook secrets and private signing keys, for storage in its
// database.
//
// A sealed value is
//
//	version (1 byte, 0x01) | key id (4 bytes) | nonce (12 bytes) | ciphertext | tag (16 bytes)
//
// under AES-256-GCM with a random nonce. Version and key id are authenticated
// together with the caller's context (aad), which names the row the value
// belongs to, so that a value moved to another row does not open. The nonce is
// random: after 2³² values a key has to be replaced.
package seal

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"reservation.dev/platform/config"
)

// KeySize is the length of a key in bytes.
const KeySize = 32

const (
	version   = 1
	idSize    = 4
	headSize  = 1 + idSize
	nonceSize = 12
	tagSize   = 16
)

var (
	// ErrUnknownKey reports a value sealed by a key that is not at hand.
	ErrUnknownKey = errors.New("sealed by an unknown key")
	// ErrTampered reports a value that is damaged or belongs to another context.
	ErrTampered = errors.New("sealed value is damaged or out of place")
)

// Config holds the setting of a Sealer.
type Config struct {
	MasterKey config.Secret `env:"MASTER_KEY,required" doc:"key that stored secrets are encrypted with: base64 of 32 bytes; for rotation several, the new one first, separated by commas"`
}

// Validate reports a key that cannot be used.
func (c Config) Validate() error {
	if c.MasterKey == "" { // reported as required
		return nil
	}
	if _, err := Parse(c.MasterKey); err != nil {
		return fmt.Errorf("MASTER_KEY: %w", err)
	}
	return nil
}

// Sealer seals with its first key and opens with any. It is safe for concurrent use.
type Sealer struct{ keys []sealingKey }

type sealingKey struct {
	head [headSize]byte
	aead cipher.AEAD
}

// Parse returns the sealer for a MASTER_KEY.
func Parse(masterKey config.Secret) (*Sealer, error) {
	var keys [][]byte
	for text := range strings.SplitSeq(masterKey.Reveal(), ",") {
		key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
		if err != nil { // the cause would show a part of the key
			return nil, errors.New("a master key is not base64")
		}
		keys = append(keys, key)
	}
	return New(keys...)
}

// New returns a sealer for keys of KeySize bytes, the one to seal with first.
func New(keys ...[]byte) (*Sealer, error) {
	if len(keys) == 0 {
		return nil, errors.New("no master key")
	}
	s := &Sealer{}
	for _, key := range keys {
		if len(key) != KeySize {
			return nil, fmt.Errorf("a master key has %d bytes instead of %d", len(key), KeySize)
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, fmt.Errorf("master key: %w", err)
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, fmt.Errorf("master key: %w", err)
		}
		k := sealingKey{aead: aead}
		k.head[0] = version
		sum := sha256.Sum256(append([]byte("reservation seal key id "), key...))
		copy(k.head[1:], sum[:])
		if s.find(k.head[:]) != nil {
			return nil, errors.New("a master key is given twice")
		}
		s.keys = append(s.keys, k)
	}
	return s, nil
}

// Seal encrypts plain. The same aad is needed to open it.
func (s *Sealer) Seal(plain, aad []byte) []byte {
	k := &s.keys[0]
	out := make([]byte, headSize, headSize+nonceSize+len(plain)+tagSize)
	copy(out, k.head[:])
	return k.aead.Seal(out, nil, plain, k.context(aad))
}

// Open decrypts what Seal made. Errors: ErrUnknownKey, ErrTampered.
func (s *Sealer) Open(sealed, aad []byte) ([]byte, error) {
	if len(sealed) < headSize+nonceSize+tagSize || sealed[0] != version {
		return nil, ErrTampered
	}
	k := s.find(sealed[:headSize])
	if k == nil {
		return nil, ErrUnknownKey
	}
	plain, err := k.aead.Open(nil, nil, sealed[headSize:], k.context(aad))
	if err != nil {
		return nil, ErrTampered
	}
	return plain, nil
}

// IsStale reports whether a value was sealed by another key than the first, and
// should be sealed anew before that key is taken away.
func (s *Sealer) IsStale(sealed []byte) bool { return !bytes.HasPrefix(sealed, s.keys[0].head[:]) }

func (s *Sealer) find(head []byte) *sealingKey {
	for i := range s.keys {
		if bytes.Equal(s.keys[i].head[:], head) {
			return &s.keys[i]
		}
	}
	return nil
}

// context is head and aad; the head has a fixed length, so that they cannot be
// taken for each other.
func (k *sealingKey) context(aad []byte) []byte {
	return append(k.head[:len(k.head):len(k.head)], aad...)
}
