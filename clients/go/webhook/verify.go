// Package webhook verifies the webhooks that your program receives, and has the types of their
// messages.
//
// Verify checks the Standard Webhooks signature, and VerifyToken the JWT of X-Service-Signature. Both
// sign the same body with the same secret, so one of them is enough. Signatures are compared in
// constant time. While a secret is rotated, pass both secrets.
package webhook

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
	tolerance = 5 * time.Minute // maximum difference between the clocks and the time of sending
	leeway    = time.Minute     // how much clocks may differ for a JWT, which has its own end
)

// ErrSignature means that a webhook does not come from the platform, is too old, or was changed.
var ErrSignature = errors.New("the webhook is not signed with a valid secret, or it is too old")

// Message is the envelope of every webhook. Decode Data, or the whole body, into the type of the event:
// for example RegistrationCreated.
type Message struct {
	ID        string          `json:"id"` // the same in every attempt: discard duplicates by it
	Event     string          `json:"event"`
	Timestamp time.Time       `json:"timestamp"`
	Mode      string          `json:"mode"` // "test" in test mode, "" in live mode
	Test      bool            `json:"test"` // do not act on a sample
	Data      json.RawMessage `json:"data"`
}

// Verify returns the message of a webhook if the Standard Webhooks headers are valid now. body is the
// received bytes.
func Verify(header http.Header, body []byte, secrets []string, now time.Time) (*Message, error) {
	id, timestamp := header.Get("Webhook-Id"), header.Get("Webhook-Timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || id == "" || now.Sub(time.Unix(seconds, 0)).Abs() > tolerance {
		return nil, ErrSignature
	}
	text := id + "." + timestamp + "." + string(body)
	for _, signature := range strings.Fields(header.Get("Webhook-Signature")) {
		encoded, ok := strings.CutPrefix(signature, "v1,")
		got, err := base64.StdEncoding.DecodeString(encoded)
		if ok && err == nil && signed(text, got, secrets) {
			return message(body)
		}
	}
	return nil, ErrSignature
}

// VerifyToken returns the message of a webhook if X-Service-Signature or X-Service-Signature-Previous
// is valid now. body is the received bytes.
func VerifyToken(header http.Header, body []byte, secrets []string, now time.Time) (*Message, error) {
	for _, name := range []string{"X-Service-Signature", "X-Service-Signature-Previous"} {
		if validToken(header.Get(name), body, secrets, now) {
			return message(body)
		}
	}
	return nil, ErrSignature
}

func validToken(token string, body []byte, secrets []string, now time.Time) bool {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return false
	}
	var head struct{ Alg string }
	var claims struct {
		Exp, Iat   int64
		BodySHA256 string `json:"body_sha256"`
	}
	got, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || !decode(parts[0], &head) || head.Alg != "HS256" || !signed(parts[0]+"."+parts[1], got, secrets) {
		return false
	}
	if !decode(parts[1], &claims) || now.After(time.Unix(claims.Exp, 0).Add(leeway)) || now.Before(time.Unix(claims.Iat, 0).Add(-leeway)) {
		return false
	}
	sum := sha256.Sum256(body)
	return claims.BodySHA256 == hex.EncodeToString(sum[:])
}

// signed reports whether a signature of text was made with one of the secrets.
func signed(text string, signature []byte, secrets []string) bool {
	for _, secret := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil || len(key) == 0 {
			continue
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(text))
		if hmac.Equal(signature, mac.Sum(nil)) {
			return true
		}
	}
	return false
}

func decode(part string, v any) bool {
	text, err := base64.RawURLEncoding.DecodeString(part)
	return err == nil && json.Unmarshal(text, v) == nil
}

func message(body []byte) (*Message, error) {
	m := &Message{}
	return m, json.Unmarshal(body, m)
}
