package token

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
)

// JWK is a public key as in RFC 7517 and RFC 8037.
type JWK struct {
	Kid string `json:"kid"`
	Kty string `json:"kty"`
	Crv string `json:"crv"`
	X   string `json:"x"`
	Alg string `json:"alg"`
	Use string `json:"use"`
}

// NewJWK returns a public key as a JWK.
func NewJWK(kid string, key ed25519.PublicKey) JWK {
	return JWK{Kid: kid, Kty: "OKP", Crv: "Ed25519", X: base64.RawURLEncoding.EncodeToString(key), Alg: "EdDSA", Use: "sig"}
}

func (k JWK) publicKey() (ed25519.PublicKey, error) {
	if k.Kid == "" || k.Kty != "OKP" || k.Crv != "Ed25519" || (k.Alg != "" && k.Alg != "EdDSA") || (k.Use != "" && k.Use != "sig") {
		return nil, fmt.Errorf("key %q: not an Ed25519 key for signatures", k.Kid)
	}
	x, err := base64.RawURLEncoding.Strict().DecodeString(k.X)
	if err != nil {
		return nil, fmt.Errorf("key %q: %w", k.Kid, err)
	}
	if len(x) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("key %q: %d bytes", k.Kid, len(x))
	}
	return ed25519.PublicKey(x), nil
}

// errNoKeys rejects a set without a usable key, because it would lock everybody out.
var errNoKeys = errors.New("no usable signing key")

// publicKeys returns the usable keys of a set, and the errors of the others.
func publicKeys(set []JWK) (map[string]ed25519.PublicKey, error) {
	var faults []error
	keys := make(map[string]ed25519.PublicKey, len(set))
	for _, k := range set {
		key, err := k.publicKey()
		if err != nil {
			faults = append(faults, err)
			continue
		}
		keys[k.Kid] = key
	}
	if len(keys) == 0 {
		faults = append(faults, errNoKeys)
	}
	return keys, errors.Join(faults...)
}
