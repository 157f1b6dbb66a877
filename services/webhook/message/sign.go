package message

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"strconv"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/jsontext"
)

// The headers of a request in addition to Content-Type and User-Agent, spelled as they are sent.
const (
	headerSignature = "X-Service-Signature"
	// headerPrevious is the JWT by the previous secret, while that is valid.
	headerPrevious          = "X-Service-Signature-Previous"
	headerStandardID        = "Webhook-Id"
	headerStandardTimestamp = "Webhook-Timestamp"
	headerStandardSignature = "Webhook-Signature"
)

// tokenLifetime is how long a request's JWT is valid.
const tokenLifetime = 300 * time.Second

// maxDataClaim is the longest data, in bytes, that a JWT contains. Receivers limit the size of headers,
// often to 8 kB, and body_sha256 covers the data anyway. The data of the default events is always
// shorter.
const maxDataClaim = 4096

// Header is one header line of a request.
type Header struct{ Name, Value string }

// Body is a message's JSON and what its signatures need.
type Body struct {
	Message    id.WebhookMessage
	Event      string
	OccurredAt time.Time
	JSON       []byte
	mode       string // the member mode of the JSON
	data       []byte // the member data of the JSON
	digest     string // SHA-256 of the JSON, in hexadecimal
}

// NewBody returns the body of a message, which can be used for any number of requests.
func NewBody(m *Message) *Body {
	sum := sha256.Sum256(m.JSON)
	return &Body{
		Message: m.ID, Event: m.Event, OccurredAt: m.OccurredAt, JSON: m.JSON,
		mode: m.mode(), data: dataOf(m.JSON), digest: hex.EncodeToString(sum[:]),
	}
}

// Signer signs with one secret. It is safe for concurrent use.
type Signer struct {
	Secret Secret
	head   string // the JWT's first part
}

// NewSigner returns a signer with a secret.
func NewSigner(s Secret) Signer {
	head := append([]byte(`{"alg":"HS256","typ":"JWT","kid":`), jsontext.AppendString(nil, s.KeyID())...)
	return Signer{Secret: s, head: base64.RawURLEncoding.EncodeToString(append(head, '}'))}
}

func (s *Signer) mac() hash.Hash { return hmac.New(sha256.New, s.Secret.Key) }

// token returns the compact JWT of a body.
func (s *Signer) token(issuer string, b *Body, at time.Time) string {
	claims := make([]byte, 0, 320+len(b.data))
	claims = jsontext.AppendString(append(claims, `{"iss":`...), issuer)
	claims = strconv.AppendInt(append(claims, `,"iat":`...), at.Unix(), 10)
	claims = strconv.AppendInt(append(claims, `,"exp":`...), at.Add(tokenLifetime).Unix(), 10)
	claims = append(append(claims, `,"jti":"`...), b.Message.String()...)
	claims = append(append(claims, `","event":"`...), b.Event...)
	claims = append(appendInstant(append(claims, `","timestamp":`...), b.OccurredAt), b.mode...)
	claims = append(append(append(claims, `,"body_sha256":"`...), b.digest...), '"')
	if len(b.data) <= maxDataClaim {
		claims = append(append(claims, dataMember...), b.data...)
	}
	claims = append(claims, '}')

	enc := base64.RawURLEncoding
	out := make([]byte, 0, len(s.head)+enc.EncodedLen(len(claims))+46)
	out = append(append(out, s.head...), '.')
	out = enc.AppendEncode(out, claims)
	mac := s.mac()
	mac.Write(out)
	return string(enc.AppendEncode(append(out, '.'), mac.Sum(make([]byte, 0, sha256.Size))))
}

// standard returns the signature of the Standard Webhooks specification.
func (s *Signer) standard(b *Body, at time.Time) string {
	signed := make([]byte, 0, 64)
	signed = append(append(signed, b.Message.String()...), '.')
	signed = append(strconv.AppendInt(signed, at.Unix(), 10), '.')
	mac := s.mac()
	mac.Write(signed)
	mac.Write(b.JSON)
	return string(base64.StdEncoding.AppendEncode([]byte("v1,"), mac.Sum(make([]byte, 0, sha256.Size))))
}

// Sign returns the headers of a request that is sent at an instant. signers are newest first. The
// same arguments always give the same headers.
func Sign(issuer string, signers []Signer, b *Body, at time.Time) []Header {
	headers := make([]Header, 0, 8)
	headers = append(headers, Header{"Content-Type", "application/json"}, Header{"User-Agent", userAgent})
	standard := ""
	for i := range signers {
		s := &signers[i]
		name := headerSignature
		if i > 0 {
			name = headerPrevious
			standard += " "
		}
		headers = append(headers, Header{name, s.token(issuer, b, at)})
		standard += s.standard(b, at)
	}
	return append(headers, Header{headerStandardID, b.Message.String()},
		Header{headerStandardTimestamp, strconv.FormatInt(at.Unix(), 10)}, Header{headerStandardSignature, standard})
}

// userAgent is the User-Agent of requests.
const userAgent = "Reservation-Webhooks/1"
