package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	tolerance = 5 * time.Minute // maximum age of a Standard Webhooks timestamp
	leeway    = time.Minute     // how much clocks may differ for a JWT
)

// key returns the key that a secret (whsec_…) encodes.
func key(secret string) ([]byte, error) {
	return base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
}

func sign(secret, text string) ([]byte, error) {
	k, err := key(secret)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, k)
	mac.Write([]byte(text))
	return mac.Sum(nil), nil
}

// VerifyToken verifies X-Service-Signature. body is the received bytes. secrets are the valid
// ones: two during a rotation.
func VerifyToken(header http.Header, body []byte, secrets []string, now time.Time) error {
	tokens := append(header.Values("X-Service-Signature"), header.Values("X-Service-Signature-Previous")...)
	for _, token := range tokens {
		for _, secret := range secrets {
			if verifyToken(token, body, secret, now) == nil {
				return nil
			}
		}
	}
	return errors.New("no valid JWT")
}

func verifyToken(token string, body []byte, secret string, now time.Time) error {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return errors.New("not a JWT")
	}
	var head struct {
		Alg string `json:"alg"`
	}
	if err := decode(parts[0], &head); err != nil {
		return err
	}
	if head.Alg != "HS256" { // rejects "none" as well
		return errors.New("not signed with HS256")
	}
	got, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		return err
	}
	want, err := sign(secret, parts[0]+"."+parts[1])
	if err != nil {
		return err
	}
	if !hmac.Equal(got, want) { // in constant time
		return errors.New("the signature is not valid")
	}
	var claims struct {
		Exp        int64  `json:"exp"`
		Iat        int64  `json:"iat"`
		BodySHA256 string `json:"body_sha256"`
	}
	if err := decode(parts[1], &claims); err != nil {
		return err
	}
	if now.After(time.Unix(claims.Exp, 0).Add(leeway)) || now.Before(time.Unix(claims.Iat, 0).Add(-leeway)) {
		return errors.New("expired, or issued in the future")
	}
	if sum := sha256.Sum256(body); claims.BodySHA256 != hex.EncodeToString(sum[:]) {
		return errors.New("signed for another body")
	}
	return nil
}

func decode(part string, v any) error {
	text, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}

// VerifyStandard verifies the headers of the Standard Webhooks specification.
func VerifyStandard(header http.Header, body []byte, secrets []string, now time.Time) error {
	id, timestamp := header.Get("Webhook-Id"), header.Get("Webhook-Timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || id == "" {
		return errors.New("a header is missing")
	}
	if now.Sub(time.Unix(seconds, 0)).Abs() > tolerance {
		return errors.New("too old, or in the future")
	}
	for _, signature := range strings.Fields(header.Get("Webhook-Signature")) {
		text, ok := strings.CutPrefix(signature, "v1,")
		got, err := base64.StdEncoding.DecodeString(text)
		if !ok || err != nil {
			continue
		}
		for _, secret := range secrets {
			want, err := sign(secret, id+"."+timestamp+"."+string(body))
			if err == nil && hmac.Equal(got, want) {
				return nil
			}
		}
	}
	return errors.New("no valid signature")
}
