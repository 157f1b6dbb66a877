package webhook

import (
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
