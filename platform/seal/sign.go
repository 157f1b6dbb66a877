package seal

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"reservation.dev/platform/config"
)

// SignatureSize is the length of a signature in bytes.
const SignatureSize = sha256.Size

// Signer signs texts that leave the platform and come back, for example addresses. It signs with a key
// that it derives from the first master key, and accepts the signatures of every master key. It is safe
// for concurrent use.
type Signer struct{ keys [][]byte }

// ParseSigner returns the signer for a MASTER_KEY and a purpose. A signature for one purpose is not valid
// for another one.
func ParseSigner(masterKey config.Secret, purpose string) (*Signer, error) {
	if _, err := Parse(masterKey); err != nil {
		return nil, err
	}
	s := &Signer{}
	for text := range strings.SplitSeq(masterKey.Reveal(), ",") {
		master, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
		if err != nil { // err would show a part of the key
			return nil, errors.New("a key is not valid base64")
		}
		key, err := hkdf.Key(sha256.New, master, nil, "reservation signature "+purpose, KeySize)
		if err != nil {
			return nil, fmt.Errorf("key for %s: %w", purpose, err)
		}
		s.keys = append(s.keys, key)
	}
	return s, nil
}

// Sign returns text followed by its signature.
func (s *Signer) Sign(text []byte) []byte { return append(text, signature(s.keys[0], text)...) }

// Open returns the text of a value that Sign returned. It takes the same time for every wrong signature.
func (s *Signer) Open(signed []byte) (text []byte, ok bool) {
	if len(signed) < SignatureSize {
		return nil, false
	}
	text, given := signed[:len(signed)-SignatureSize], signed[len(signed)-SignatureSize:]
	for _, key := range s.keys {
		if hmac.Equal(given, signature(key, text)) {
			return text, true
		}
	}
	return nil, false
}

func signature(key, text []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write(text)
	return mac.Sum(nil)
}
