package reservectl

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/golang-jwt/jwt/v5"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// The headers of the JWT: by the newest secret, and during a rotation by the one
// before.
const (
	headerToken         = "X-Service-Signature"
	headerPreviousToken = "X-Service-Signature-Previous"
)

// receipt is a webhook that has arrived.
type receipt struct {
	at       time.Time
	header   http.Header
	body     []byte
	envelope envelope
	repeat   int   // how often its id came before
	token    error // of the JWT; nil: it verifies
	standard error // of the Standard Webhooks headers, likewise
	answer   int   // status
}

// envelope is what all bodies have.
type envelope struct {
	ID    string          `json:"id"`
	Event string          `json:"event"`
	Test  bool            `json:"test"`
	Data  json.RawMessage `json:"data"`
}

// dataOf returns the members of the envelope's data; none of what is no object.
func dataOf(r *receipt) map[string]any {
	var data map[string]any
	_ = json.Unmarshal(r.envelope.Data, &data) // what is none matches nothing
	return data
}

// verified reports whether both signatures verify.
func (r *receipt) verified() bool { return r.token == nil && r.standard == nil }

// signingKey is one of an endpoint's secrets.
type signingKey struct {
	id     string // the JWT's kid
	secret string // whsec_ and base64
	key    []byte
}

// clockLeeway is how far the sender's clock may be from ours.
const clockLeeway = time.Minute

var errNoKey = errors.New("signed with a key that is not the endpoint's")

// verifyToken verifies that one of the JWTs of a request was made for its body
// with one of the keys, for use now.
func verifyToken(header http.Header, body []byte, keys []signingKey, now time.Time) error {
	tokens := append(header.Values(headerToken), header.Values(headerPreviousToken)...)
	if len(tokens) == 0 {
		return errors.New("there is no " + headerToken)
	}
	var first error
	for _, token := range tokens {
		err := verifyOneToken(token, body, keys, now)
		if err == nil {
			return nil
		}
		if first == nil || errors.Is(first, errNoKey) {
			first = err
		}
	}
	return first
}

// tokenClaims are those that tie a JWT to a request.
type tokenClaims struct {
	jwt.RegisteredClaims
	Event      string `json:"event"`
	BodySHA256 string `json:"body_sha256"`
}

func verifyOneToken(token string, body []byte, keys []signingKey, now time.Time) error {
	var claims tokenClaims
	_, err := jwt.ParseWithClaims(token, &claims, func(t *jwt.Token) (any, error) {
		for _, k := range keys {
			if k.id == t.Header["kid"] {
				return k.key, nil
			}
		}
		return nil, errNoKey
	}, jwt.WithValidMethods([]string{"HS256"}), jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithLeeway(clockLeeway),
		jwt.WithTimeFunc(func() time.Time { return now }))
	if err != nil {
		return err
	}
	var e envelope
	if err := json.Unmarshal(body, &e); err != nil {
		return fmt.Errorf("the body: %w", err)
	}
	if sum := sha256.Sum256(body); claims.BodySHA256 != hex.EncodeToString(sum[:]) {
		return errors.New("body_sha256 is of another body")
	}
	if claims.ID != e.ID || claims.Event != e.Event {
		return errors.New("jti or event are those of another message")
	}
	return nil
}

// verifyStandard verifies the Standard Webhooks headers of a request with one of
// the keys, for use now.
func verifyStandard(header http.Header, body []byte, keys []signingKey) error {
	err := errNoKey
	for _, k := range keys {
		verifier, wrong := standardwebhooks.NewWebhook(k.secret)
		if wrong != nil {
			return wrong
		}
		if err = verifier.Verify(body, header); err == nil {
			return nil
		}
	}
	return err
}

// verify completes a receipt by what its headers and its body say.
func (r *receipt) verify(keys []signingKey) {
	_ = json.Unmarshal(r.body, &r.envelope) // what is none has no id; verifyToken says so
	r.token = verifyToken(r.header, r.body, keys, r.at)
	r.standard = verifyStandard(r.header, r.body, keys)
}

// indented is a JSON text over several lines; what is none stays.
func indented(text []byte) []byte {
	var b bytes.Buffer
	if json.Indent(&b, text, "", "  ") != nil {
		return text
	}
	return b.Bytes()
}
