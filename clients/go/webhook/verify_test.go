package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"testing"
	"time"
)

// TestVectors checks both signatures against the vectors that the platform publishes.
func TestVectors(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/webhooks/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Vectors []struct {
			Name                  string
			Time                  int64
			Secrets               []string
			Headers               map[string]string
			Body                  string
			JWT, StandardWebhooks bool
		}
	}
	if err := json.Unmarshal(text, &file); err != nil || len(file.Vectors) == 0 {
		t.Fatalf("%d vectors: %v", len(file.Vectors), err)
	}
	for _, v := range file.Vectors {
		header, now := http.Header{}, time.Unix(v.Time, 0)
		for name, value := range v.Headers {
			header.Set(name, value)
		}
		m, err := Verify(header, []byte(v.Body), v.Secrets, now)
		if (err == nil) != v.StandardWebhooks || m != nil && m.ID == "" {
			t.Errorf("%s: Verify: %v, %v", v.Name, m, err)
		}
		if _, err := VerifyToken(header, []byte(v.Body), v.Secrets, now); (err == nil) != v.JWT {
			t.Errorf("%s: VerifyToken: %v", v.Name, err)
		}
		if _, err := Verify(header, []byte(v.Body), []string{"", "whsec_", "whsec_!"}, now); err == nil {
			t.Errorf("%s is accepted without a secret", v.Name)
		}
	}
}

// A receiver without a secret must not accept what anybody can sign.
func TestRefusesASignatureWithAnEmptyKey(t *testing.T) {
	t.Parallel()
	mac := hmac.New(sha256.New, nil)
	mac.Write([]byte("msg_1.1774776600.{}"))
	header := http.Header{}
	header.Set("Webhook-Id", "msg_1")
	header.Set("Webhook-Timestamp", "1774776600")
	header.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	if _, err := Verify(header, []byte("{}"), []string{"", "whsec_"}, time.Unix(1774776600, 0)); err == nil {
		t.Error("accepted")
	}
}
