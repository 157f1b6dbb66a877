package harness

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"reservation.dev/devkit/testkit/openapitest"
)

// Face is a client of one interface of a running platform. It checks every answer against the
// interface's OpenAPI description.
type Face struct {
	Contract *openapitest.Contract
	Token    string // "": no Authorization header

	client *A
}

// ContractA and ContractB load the descriptions of the two interfaces.
func ContractA(t testing.TB) *openapitest.Contract {
	t.Helper()
	return contract(t, "", "gateway-a/openapi/openapi.yaml")
}

func ContractB(t testing.TB) *openapitest.Contract {
	t.Helper()
	return contract(t, "/api/v1", "gateway-b/openapi/openapi.yaml")
}

func contract(t testing.TB, base, description string) *openapitest.Contract {
	t.Helper()
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, description))
	if err != nil {
		t.Fatal(err)
	}
	return openapitest.Load(t, text, base)
}

// NewFace returns a client of the interface at a base address.
func NewFace(t testing.TB, c *openapitest.Contract, baseURL string) *Face {
	t.Helper()
	client := NewA(t, baseURL)
	client.Transport = c.Transport(t, client.Transport)
	return &Face{Contract: c, client: client}
}

// As returns the client with another token.
func (f *Face) As(token string) *Face {
	return &Face{Contract: f.Contract, Token: token, client: f.client}
}

// attempts limits how often a request is made if the platform asks for retries.
const attempts = 8

// Send makes a request and, after 429 and 503, retries it after Retry-After. It fails t unless the
// answer has the status want. A body that is a string is sent unchanged, and anything else as JSON.
// pairs are alternating header names and values; the Content-Type "none" sends no such header.
func (f *Face) Send(t testing.TB, want int, method, path string, body any, pairs ...string) Answer {
	t.Helper()
	r := f.request(t, method, path, body, pairs)
	for n := 1; ; n++ {
		answer := f.client.Do(t, r)
		if answer.Code == want {
			return answer
		}
		seconds, err := strconv.Atoi(answer.Header.Get("Retry-After"))
		if (answer.Code != http.StatusTooManyRequests && answer.Code != http.StatusServiceUnavailable) || err != nil || n == attempts {
			t.Fatalf("%s %s: %d, not %d: %s", method, path, answer.Code, want, answer.Body)
		}
		t.Logf("%s %s: %d, retry in %d s", method, path, answer.Code, seconds)
		select {
		case <-time.After(time.Duration(seconds) * time.Second):
		case <-t.Context().Done():
		}
	}
}

func (f *Face) request(t testing.TB, method, path string, body any, pairs []string) Request {
	t.Helper()
	r := Request{Method: method, Path: path, Token: f.Token, Body: bodyText(t, body), Header: http.Header{}}
	for i := 0; i+1 < len(pairs); i += 2 {
		r.Header.Set(pairs[i], pairs[i+1])
	}
	r.Media = r.Header.Get("Content-Type")
	r.Header.Del("Content-Type")
	return r
}

// Try makes a request once and returns the answer with any status.
func (f *Face) Try(t testing.TB, method, path string, body any, pairs ...string) Answer {
	t.Helper()
	return f.client.Do(t, f.request(t, method, path, body, pairs))
}

func bodyText(t testing.TB, body any) string {
	t.Helper()
	if body == nil {
		return ""
	}
	if text, ok := body.(string); ok {
		return text
	}
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Read is Send for answers with a JSON body.
func (f *Face) Read(t testing.TB, want int, method, path string, body any, pairs ...string) map[string]any {
	t.Helper()
	var v map[string]any
	f.Send(t, want, method, path, body, pairs...).Into(t, want, &v)
	return v
}

// Refused is Send for answers that are errors with the given code.
func (f *Face) Refused(t testing.TB, status int, code, method, path string, body any, pairs ...string) {
	t.Helper()
	if got := f.Send(t, status, method, path, body, pairs...).Reason(); got != code {
		t.Errorf("%s %s: %d %s, want %s", method, path, status, got, code)
	}
}
