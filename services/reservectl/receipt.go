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

// The headers with the JWTs. During a rotation, the second one has a JWT signed with the previous
// secret.
const (
	headerToken         = "X-Service-Signature"
	headerPreviousToken = "X-Service-Signature-Previous"
)

// receipt is a webhook that was received.
type receipt struct {
	at       time.Time
	header   http.Header
	body     []byte
	envelope envelope
	repeat   int   // how many webhooks with its ID were received before
	token    error // why the JWT is not valid; nil: it is
	standard error // why the Standard Webhooks signature is not valid; nil: it is
	answer   int   // HTTP status of the response
}

// envelope holds the fields of every webhook's body.
type envelope struct {
	ID    string          `json:"id"`
	Event string          `json:"event"`
	Test  bool            `json:"test"`
	Data  json.RawMessage `json:"data"`
}

// dataOf returns the members of the envelope's data, or none if data is not an object.
func dataOf(r *receipt) map[string]any {
	var data map[string]any
	_ = json.Unmarshal(r.envelope.Data, &data) // other data than an object matches no expectation
	return data
}

// verified reports whether both signatures are valid.
func (r *receipt) verified() bool { return r.token == nil && r.standard == nil }

// signingKey is one of an endpoint's secrets.
type signingKey struct {
	id     string // kid of the JWTs
	secret string // "whsec_" and the key in base64
	key    []byte
}

// clockLeeway is the accepted difference between the sender's clock and ours.
const clockLeeway = time.Minute

var errNoKey = errors.New("signed with a key that the endpoint does not have")

// verifyToken verifies that one of a request's JWTs was signed for its body with one of the keys,
// and is valid now.
func verifyToken(header http.Header, body []byte, keys []signingKey, now time.Time) error {
	tokens := append(header.Values(headerToken), header.Values(headerPreviousToken)...)
	if len(tokens) == 0 {
		return errors.New("the header " + headerToken + " is missing")
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

// tokenClaims are the claims that bind a JWT to a request.
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
		return fmt.Errorf("the body is not valid JSON: %w", err)
	}
	if sum := sha256.Sum256(body); claims.BodySHA256 != hex.EncodeToString(sum[:]) {
		return errors.New("body_sha256 does not match the body")
	}
	if claims.ID != e.ID || claims.Event != e.Event {
		return errors.New("jti or event does not match the body")
	}
	return nil
}

// verifyStandard verifies the Standard Webhooks headers of a request with one of the keys. They
// must be valid now.
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

// verify parses the body and verifies both signatures.
func (r *receipt) verify(keys []signingKey) {
	_ = json.Unmarshal(r.body, &r.envelope) // verifyToken reports a body that is not JSON
	r.token = verifyToken(r.header, r.body, keys, r.at)
	r.standard = verifyStandard(r.header, r.body, keys)
}

// indented returns a JSON text with indentation. It returns other texts unchanged.
func indented(text []byte) []byte {
	var b bytes.Buffer
	if json.Indent(&b, text, "", "  ") != nil {
		return text
	}
	return b.Bytes()
}
