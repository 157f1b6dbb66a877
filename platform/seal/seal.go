// Package seal encrypts secrets for storage in the database, if the service must be able
// to read them again: for example webhook secrets and private signing keys.
//
// A sealed value is
//
//	version (1 byte, 0x01) | key id (4 bytes) | nonce (12 bytes) | ciphertext | tag (16 bytes)
//
// encrypted with AES-256-GCM and a random nonce. Version and key id are authenticated
// together with the caller's context (aad). The context names the row that the value
// belongs to, so that a value moved to another row does not open. Because the nonce is
// random, a key must be replaced after 2³² values.
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
	// ErrUnknownKey reports a value that was sealed with a key the Sealer does not have.
	ErrUnknownKey = errors.New("sealed with an unknown master key")
	// ErrTampered reports a value that is damaged or belongs to another context.
	ErrTampered = errors.New("sealed value is damaged or belongs to another row")
)

// Config holds the master key of a Sealer.
type Config struct {
	MasterKey config.Secret `env:"MASTER_KEY,required" doc:"key that encrypts stored secrets: base64 of 32 bytes; to rotate, list the new key first and then the old ones, separated by commas"`
}

// Validate reports a master key that cannot be used.
func (c Config) Validate() error {
	if c.MasterKey == "" { // config.Read reports it as required
		return nil
	}
	if _, err := Parse(c.MasterKey); err != nil {
		return fmt.Errorf("MASTER_KEY: %w", err)
	}
	return nil
}

// Sealer seals with its first key and opens with any of its keys. It is safe for
// concurrent use.
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
		if err != nil { // err would show a part of the key
			return nil, errors.New("a key is not valid base64")
		}
		keys = append(keys, key)
	}
	return New(keys...)
}

// New returns a Sealer with keys of KeySize bytes each. It seals with the first one.
func New(keys ...[]byte) (*Sealer, error) {
	if len(keys) == 0 {
		return nil, errors.New("no master key")
	}
	s := &Sealer{}
	for _, key := range keys {
		if len(key) != KeySize {
			return nil, fmt.Errorf("a key has %d bytes; it must have %d", len(key), KeySize)
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
			return nil, errors.New("the same key is listed twice")
		}
		s.keys = append(s.keys, k)
	}
	return s, nil
}

// Seal encrypts plain. Opening the result needs the same aad.
func (s *Sealer) Seal(plain, aad []byte) []byte {
	k := &s.keys[0]
	out := make([]byte, headSize, headSize+nonceSize+len(plain)+tagSize)
	copy(out, k.head[:])
	return k.aead.Seal(out, nil, plain, k.context(aad))
}

// Open decrypts a value that Seal returned. Errors: ErrUnknownKey, ErrTampered.
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

// IsStale reports whether a value was not sealed with the first key. A stale value must be
// sealed again before its key is removed.
func (s *Sealer) IsStale(sealed []byte) bool { return !bytes.HasPrefix(sealed, s.keys[0].head[:]) }

// KeyIDs returns the identifiers of the keys, beginning with the one that seals.
func (s *Sealer) KeyIDs() [][]byte {
	ids := make([][]byte, len(s.keys))
	for i := range s.keys {
		ids[i] = bytes.Clone(s.keys[i].head[1:])
	}
	return ids
}

func (s *Sealer) find(head []byte) *sealingKey {
	for i := range s.keys {
		if bytes.Equal(s.keys[i].head[:], head) {
			return &s.keys[i]
		}
	}
	return nil
}

// context returns head followed by aad. The head has a fixed length, so the two cannot be
// confused.
func (k *sealingKey) context(aad []byte) []byte {
	return append(k.head[:len(k.head):len(k.head)], aad...)
}
