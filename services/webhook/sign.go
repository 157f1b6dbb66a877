package webhook

import (
	"bytes"
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

// The headers of a request beside Content-Type and User-Agent, as they are
// written on the wire.
const (
	headerSignature = "X-Service-Signature"
	// headerPrevious is the JWT by the secret before the newest, while that one
	// is valid.
	headerPrevious          = "X-Service-Signature-Previous"
	headerStandardID        = "Webhook-Id"
	headerStandardTimestamp = "Webhook-Timestamp"
	headerStandardSignature = "Webhook-Signature"
)

// tokenLifetime is how long a request's JWT is valid.
const tokenLifetime = 300 * time.Second

// header is a line of a request's head.
type header struct{ name, value string }

// signedBody is a body with what its signatures need of it.
type signedBody struct {
	message id.WebhookMessage
	event   string
	at      time.Time // when it happened
	body    []byte
	data    []byte // the body's member data
	digest  string // SHA-256 of the body, in hex
	trace   cause  // of what it tells of; it is not sent
}

func newSignedBody(message id.WebhookMessage, event string, at time.Time, body []byte) *signedBody {
	sum := sha256.Sum256(body)
	return &signedBody{message: message, event: event, at: at, body: body, data: dataOf(body), digest: hex.EncodeToString(sum[:])}
}

var dataMember = []byte(`,"data":`)

// dataOf returns the member data of an envelope, which newEnvelope writes last
// and after members that cannot contain its name.
func dataOf(body []byte) []byte {
	i := bytes.Index(body, dataMember)
	if i < 0 || body[len(body)-1] != '}' {
		return []byte("null")
	}
	return body[i+len(dataMember) : len(body)-1]
}

// signer signs with one secret. It is safe for concurrent use.
type signer struct {
	secret Secret
	head   string // the JWT's first part
}

func newSigner(s Secret) signer {
	head := append([]byte(`{"alg":"HS256","typ":"JWT","kid":`), jsontext.AppendString(nil, s.KeyID())...)
	return signer{secret: s, head: base64.RawURLEncoding.EncodeToString(append(head, '}'))}
}

func (s *signer) mac() hash.Hash { return hmac.New(sha256.New, s.secret.Key) }

// token returns the compact JWT of a body.
func (s *signer) token(issuer string, b *signedBody, at time.Time) string {
	claims := make([]byte, 0, 320+len(b.data))
	claims = jsontext.AppendString(append(claims, `{"iss":`...), issuer)
	claims = strconv.AppendInt(append(claims, `,"iat":`...), at.Unix(), 10)
	claims = strconv.AppendInt(append(claims, `,"exp":`...), at.Add(tokenLifetime).Unix(), 10)
	claims = append(append(claims, `,"jti":"`...), b.message.String()...)
	claims = append(append(claims, `","event":"`...), b.event...)
	claims = append(appendInstant(append(claims, `","timestamp":`...), b.at), `,"body_sha256":"`...)
	claims = append(append(append(claims, b.digest...), `","data":`...), b.data...)
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
func (s *signer) standard(b *signedBody, at time.Time) string {
	signed := make([]byte, 0, 64)
	signed = append(append(signed, b.message.String()...), '.')
	signed = append(strconv.AppendInt(signed, at.Unix(), 10), '.')
	mac := s.mac()
	mac.Write(signed)
	mac.Write(b.body)
	return string(base64.StdEncoding.AppendEncode([]byte("v1,"), mac.Sum(make([]byte, 0, sha256.Size))))
}

// sign returns the headers of a request that is sent at an instant. Signers are
// newest first; the same arguments give the same headers.
func sign(issuer string, signers []signer, b *signedBody, at time.Time) []header {
	headers := make([]header, 0, 8)
	headers = append(headers, header{"Content-Type", "application/json"}, header{"User-Agent", userAgent})
	standard := ""
	for i := range signers {
		s := &signers[i]
		name := headerSignature
		if i > 0 {
			name = headerPrevious
			standard += " "
		}
		headers = append(headers, header{name, s.token(issuer, b, at)})
		standard += s.standard(b, at)
	}
	return append(headers, header{headerStandardID, b.message.String()},
		header{headerStandardTimestamp, strconv.FormatInt(at.Unix(), 10)}, header{headerStandardSignature, standard})
}

// signersAt returns the signers of the secrets that are valid at an instant.
func signersAt(all []Secret, at time.Time) []signer {
	valid := validSecrets(all, at)
	out := make([]signer, len(valid))
	for i, s := range valid {
		out[i] = newSigner(s)
	}
	return out
}

// userAgent is what requests say of themselves.
const userAgent = "Reservation-Webhooks/1"
