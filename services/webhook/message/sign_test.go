package message

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"reservation.dev/platform/id"
)

// verifyJWT checks a compact JWT as a receiver does, from its parts alone.
func verifyJWT(t *testing.T, token string, s Secret) map[string]any {
	t.Helper()
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		t.Fatalf("%q is not a JWT", token)
	}
	mac := hmac.New(sha256.New, s.Key)
	mac.Write([]byte(parts[0] + "." + parts[1]))
	if want := base64.RawURLEncoding.EncodeToString(mac.Sum(nil)); parts[2] != want {
		t.Fatalf("signature %s, want %s", parts[2], want)
	}
	decode := func(part string) map[string]any {
		raw, err := base64.RawURLEncoding.DecodeString(part)
		if err != nil {
			t.Fatal(err)
		}
		var v map[string]any
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	if head := decode(parts[0]); head["alg"] != "HS256" || head["kid"] != s.KeyID() {
		t.Errorf("header %v", head)
	}
	return decode(parts[1])
}

// signersAt returns the signers of the secrets that are valid at an instant.
func signersAt(all []Secret, at time.Time) []Signer {
	var signers []Signer
	for _, s := range ValidSecrets(all, at) {
		signers = append(signers, NewSigner(s))
	}
	return signers
}

func TestSigning(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 29, 9, 30, 0, 0, time.UTC)
	older, newer := NewSecret(id.NewUUID(), now.Add(-time.Hour)), NewSecret(id.NewUUID(), now)
	older.ExpiresAt = now.Add(RotationOverlap)
	message := Message{ID: id.New[id.WebhookMessage](), Company: id.New[id.Company](), Event: "registration.created", OccurredAt: now}
	// A title that looks like the envelope's member must not be mistaken for it.
	data := []byte(`{"eventTitle":"a,\"data\":{}"}`)
	message.JSON = TestEnvelope(&message, data)
	body := NewBody(&message)
	get := func(headers []Header, name string) string {
		for _, h := range headers {
			if h.Name == name {
				return h.Value
			}
		}
		return ""
	}
	t.Run("the JWT has the claims of the envelope and the digest of the body", func(t *testing.T) {
		headers := Sign("reservation", signersAt([]Secret{newer}, now), body, now)
		claims := verifyJWT(t, get(headers, headerSignature), newer)
		sum := sha256.Sum256(body.JSON)
		for name, want := range map[string]any{
			"iss": "reservation", "iat": float64(now.Unix()), "exp": float64(now.Unix() + 300), "jti": message.ID.String(),
			"event": "registration.created", "timestamp": "2026-03-29T09:30:00Z", "body_sha256": hex.EncodeToString(sum[:]),
		} {
			if claims[name] != want {
				t.Errorf("%s is %v, want %v", name, claims[name], want)
			}
		}
		if got, _ := json.Marshal(claims["data"]); string(got) != string(data) || len(claims) != 8 {
			t.Errorf("data %s of %v", got, claims)
		}
		if get(headers, headerPrevious) != "" {
			t.Error("there is a signature by the previous secret")
		}
	})
	t.Run("in test mode, the envelope and the JWT say so", func(t *testing.T) {
		inTest := message
		inTest.Company = message.Company.Test()
		inTest.JSON = TestEnvelope(&inTest, data)
		if want := strings.Replace(string(message.JSON), `,"test":true`, `,"mode":"test","test":true`, 1); string(inTest.JSON) != want {
			t.Errorf("got %s, want %s", inTest.JSON, want)
		}
		claims := verifyJWT(t, get(Sign("reservation", signersAt([]Secret{newer}, now), NewBody(&inTest), now), headerSignature), newer)
		if claims["mode"] != "test" || len(claims) != 9 {
			t.Errorf("claims %v", claims)
		}
	})
	t.Run("the Standard Webhooks signature is of id, timestamp and body", func(t *testing.T) {
		headers := Sign("reservation", signersAt([]Secret{newer}, now), body, now)
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(newer.Text(), "whsec_"))
		if err != nil {
			t.Fatal(err)
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(get(headers, headerStandardID) + "." + get(headers, headerStandardTimestamp) + "." + string(body.JSON)))
		if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); get(headers, headerStandardSignature) != want {
			t.Errorf("got %s, want %s", get(headers, headerStandardSignature), want)
		}
	})
	t.Run("both secrets sign during a rotation, and only the new one after it (8)", func(t *testing.T) {
		headers := Sign("reservation", signersAt([]Secret{older, newer}, now), body, now)
		verifyJWT(t, get(headers, headerSignature), newer)
		verifyJWT(t, get(headers, headerPrevious), older)
		if n := len(strings.Fields(get(headers, headerStandardSignature))); n != 2 {
			t.Errorf("%d signatures, want 2", n)
		}
		after := signersAt([]Secret{older, newer}, older.ExpiresAt)
		if len(after) != 1 || after[0].Secret.ID != newer.ID {
			t.Errorf("%d signers after it", len(after))
		}
	})
}
