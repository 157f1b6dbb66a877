package message

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"flag"
	"hash"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/webhookevent"
)

var updateVectors = flag.Bool("update-vectors", false, "write docs/webhooks/vectors.json")

const vectorsFile = "../../../docs/webhooks/vectors.json"

// vector is a request and the expected result of a receiver.
type vector struct {
	Name    string            `json:"name"`
	Time    int64             `json:"time"`    // the receiver's clock, Unix seconds
	Secrets []string          `json:"secrets"` // the secrets that the receiver has
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	// Whether each of the two signatures is valid.
	JWT      bool `json:"jwt"`
	Standard bool `json:"standardWebhooks"`
}

// vectorSecret returns a public secret for the vectors.
func vectorSecret(t *testing.T, name string, at time.Time) Secret {
	t.Helper()
	sum := sha256.Sum256([]byte("published test secret " + name))
	var secretID id.UUID
	copy(secretID[:], sum[16:])
	secretID[6], secretID[8] = secretID[6]&0x0f|0x70, secretID[8]&0x3f|0x80
	return Secret{ID: secretID, Key: sum[:], CreatedAt: at}
}

// vectorBody returns a real body of an event.
func vectorBody(t *testing.T, company id.Company, event, title string, at time.Time, write func(*Message, []byte) []byte) *Body {
	t.Helper()
	data, err := NewCatalogue().Sample(event, at)
	if err != nil {
		t.Fatal(err)
	}
	data = bytes.ReplaceAll(data, []byte("Sample"), []byte(title))
	event16, err := id.ParseUUID("01kg000000000000000000000" + string("123"[len(event)%3]))
	if err != nil {
		t.Fatal(err)
	}
	message := Message{ID: id.WebhookMessage(event16), Company: company, Event: event, OccurredAt: at}
	if event == "event.purchased" {
		message.ID = derivedID(event16, event)
	}
	message.JSON = write(&message, data)
	return NewBody(&message)
}

// otherToken returns a JWT with another header and the payload of a valid one. It is signed with
// the HMAC of a hash, or not at all for a nil key.
func otherToken(head, good string, size func() hash.Hash, key []byte) string {
	enc := base64.RawURLEncoding
	text := enc.EncodeToString([]byte(head)) + "." + strings.Split(good, ".")[1]
	if key == nil {
		return text + "."
	}
	mac := hmac.New(size, key)
	mac.Write([]byte(text))
	return text + "." + enc.EncodeToString(mac.Sum(nil))
}

// vectors returns all vectors, created with the signer of real requests.
func vectors(t *testing.T) []vector {
	at := time.Date(2026, 3, 29, 9, 30, 0, 0, time.UTC)
	first, second, foreign := vectorSecret(t, "1", at.Add(-time.Hour)), vectorSecret(t, "2", at), vectorSecret(t, "3", at)
	signed := func(b *Body, secrets ...Secret) map[string]string {
		headers := map[string]string{}
		for _, h := range Sign("reservation", signersAt(secrets, at), b, at) {
			headers[h.Name] = h.Value
		}
		return headers
	}
	var live id.Company
	good := vectorBody(t, live, "registration.created", "Yoga für Anfänger & “more” <3", at, Envelope)
	goodHeaders := signed(good, first)
	token := goodHeaders[headerSignature]
	base := func(name string) vector {
		return vector{
			Name: name, Time: at.Unix() + 1, Secrets: []string{first.Text()}, Headers: maps.Clone(goodHeaders), Body: string(good.JSON), JWT: true, Standard: true,
		}
	}
	var all []vector
	add := func(name string, change func(v *vector)) {
		v := base(name)
		change(&v)
		all = append(all, v)
	}
	both := func(v *vector) { v.JWT, v.Standard = false, false }

	add("registration.created", func(*vector) {})
	for _, event := range webhookevent.Names()[1:] {
		b := vectorBody(t, live, event, "Ten 瑜伽 \\\"classes\\\"", at, Envelope)
		add(event, func(v *vector) { v.Headers, v.Body = signed(b, first), string(b.JSON) })
	}
	sample := vectorBody(t, live, "registration.created", "Sample", at, TestEnvelope)
	add("a test delivery", func(v *vector) { v.Headers, v.Body = signed(sample, first), string(sample.JSON) })
	inTestMode := vectorBody(t, live.Test(), "registration.created", "Yoga", at, Envelope)
	add("a message in test mode", func(v *vector) { v.Headers, v.Body = signed(inTestMode, first), string(inTestMode.JSON) })
	add("it arrives four minutes late", func(v *vector) { v.Time = at.Unix() + 240 })
	add("the receiver's clock is half a minute behind", func(v *vector) { v.Time = at.Unix() - 30 })

	rotated := signed(good, first, second)
	add("during a rotation, to a receiver with the new secret", func(v *vector) { v.Headers, v.Secrets = rotated, []string{second.Text()} })
	add("during a rotation, to a receiver with the old secret", func(v *vector) { v.Headers, v.Secrets = rotated, []string{first.Text()} })
	add("during a rotation, to a receiver with both", func(v *vector) { v.Headers, v.Secrets = rotated, []string{second.Text(), first.Text()} })
	add("after a rotation, to a receiver with both", func(v *vector) {
		v.Headers, v.Secrets = signed(good, second), []string{second.Text(), first.Text()}
	})
	add("after a rotation, to a receiver with only the old secret", func(v *vector) { v.Headers = signed(good, second); both(v) })
	add("signed with an unknown secret under its own key id", func(v *vector) { v.Headers = signed(good, foreign); both(v) })
	add("signed with an unknown secret under the endpoint's key id", func(v *vector) {
		forged := foreign
		forged.ID = first.ID
		v.Headers = signed(good, forged)
		both(v)
	})
	add("one digit of the body was changed", func(v *vector) { v.Body = strings.Replace(v.Body, `"spots":2`, `"spots":3`, 1); both(v) })
	add("the body was parsed and written again", func(v *vector) {
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, good.JSON, "", "  "); err != nil {
			t.Fatal(err)
		}
		v.Body = pretty.String()
		both(v)
	})
	add("the body is empty", func(v *vector) { v.Body = ""; both(v) })
	add("it was recorded, and is replayed after ten minutes", func(v *vector) { v.Time = at.Unix() + 600; both(v) })
	add("it is dated ten minutes in the future", func(v *vector) { v.Time = at.Unix() - 600; both(v) })
	add("a JWT with alg none and no signature", func(v *vector) {
		v.Headers[headerSignature], v.JWT = otherToken(`{"alg":"none","typ":"JWT"}`, token, nil, nil), false
	})
	add("a JWT with alg none and the signature of a valid one", func(v *vector) {
		v.Headers[headerSignature] = otherToken(`{"alg":"none","typ":"JWT","kid":"`+first.KeyID()+`"}`, token, nil, nil) + strings.Split(token, ".")[2]
		v.JWT = false
	})
	add("a JWT with another algorithm, signed with the endpoint's secret", func(v *vector) {
		v.Headers[headerSignature], v.JWT = otherToken(`{"alg":"HS512","typ":"JWT","kid":"`+first.KeyID()+`"}`, token, sha512.New, first.Key), false
	})
	add("a JWT with alg none and a valid HS256 signature", func(v *vector) {
		v.Headers[headerSignature], v.JWT = otherToken(`{"alg":"none","typ":"JWT","kid":"`+first.KeyID()+`"}`, token, sha256.New, first.Key), false
	})
	add("the JWT of another message", func(v *vector) { v.Headers[headerSignature], v.JWT = signed(sample, first)[headerSignature], false })
	add("a JWT with a truncated signature", func(v *vector) { v.Headers[headerSignature], v.JWT = token[:len(token)-8], false })
	add("a JWT with only two parts", func(v *vector) { v.Headers[headerSignature], v.JWT = token[:strings.LastIndex(token, ".")], false })
	add("no JWT", func(v *vector) { delete(v.Headers, headerSignature); v.JWT = false })
	add("no Webhook-Signature", func(v *vector) { delete(v.Headers, headerStandardSignature); v.Standard = false })
	add("the Webhook-Id of another message", func(v *vector) { v.Headers[headerStandardID], v.Standard = "msg_01kg0000000000000000000009", false })
	add("a Webhook-Timestamp that is later than the signed one", func(v *vector) {
		v.Headers[headerStandardTimestamp], v.Standard = "1774776601", false
	})
	add("a Webhook-Timestamp that is not a number", func(v *vector) { v.Headers[headerStandardTimestamp], v.Standard = "now", false })
	add("signatures of other versions in addition to the valid one", func(v *vector) {
		v.Headers[headerStandardSignature] = "v1a,AAAA v2,AAAA " + v.Headers[headerStandardSignature]
	})
	add("the valid signature under another version", func(v *vector) {
		v.Headers[headerStandardSignature], v.Standard = "v2"+strings.TrimPrefix(v.Headers[headerStandardSignature], "v1"), false
	})
	return all
}

// The vectors with which receivers test themselves are created by the signer, so they change only
// with it.
func TestVectors(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(map[string]any{"vectors": vectors(t)}); err != nil {
		t.Fatal(err)
	}
	if *updateVectors {
		if err := os.WriteFile(vectorsFile, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	published, err := os.ReadFile(vectorsFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(published, b.Bytes()) {
		t.Errorf("%s is not what the signer makes: run this test with -update-vectors", vectorsFile)
	}
}
