package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// requestLimit limits one request or call of a test.
const requestLimit = 30 * time.Second

// A is a client of Interface A.
type A struct {
	BaseURL string
	// Transport sends the requests. The e2e tests set one that checks every answer against the
	// interface's OpenAPI description.
	Transport http.RoundTripper
}

// A returns a client with its own connections, which end with the test.
func (p *Platform) A(t testing.TB) *A { return NewA(t, p.BaseURL) }

// NewA returns a client of Interface A at a base address.
func NewA(t testing.TB, baseURL string) *A {
	transport := &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &A{BaseURL: baseURL, Transport: transport}
}

// Request is a request to Interface A.
type Request struct {
	Method string // "": GET, or POST if there is a body
	Path   string
	Token  string // "": no Authorization header
	Body   string
	Media  string // of the body; "" means JSON
	Host   string // "": the host of the address
	Header http.Header
}

// Answer is a complete response.
type Answer struct {
	Code   int
	Header http.Header
	Body   []byte
}

// Do makes a request and reads the answer. It fails t only if the connection breaks.
func (a *A) Do(t testing.TB, r Request) Answer {
	t.Helper()
	answer, err := a.Try(t.Context(), r)
	if err != nil {
		t.Fatalf("%s %s: %v", r.Method, r.Path, err)
	}
	return answer
}

// Try is like Do, but returns an error, and can be called from any goroutine.
func (a *A) Try(ctx context.Context, r Request) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	req, err := a.request(ctx, r)
	if err != nil {
		return Answer{}, err
	}
	res, err := a.Transport.RoundTrip(req)
	if err != nil {
		return Answer{}, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return Answer{Code: res.StatusCode, Header: res.Header, Body: body}, err
}

func (a *A) request(ctx context.Context, r Request) (*http.Request, error) {
	var body io.Reader
	if r.Body != "" {
		body = strings.NewReader(r.Body)
	}
	method := r.Method
	if method == "" && body != nil {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, a.BaseURL+r.Path, body)
	if err != nil {
		return nil, err
	}
	if r.Host != "" {
		req.Host = r.Host
	}
	for name, values := range r.Header {
		req.Header[name] = values
	}
	if r.Token != "" {
		req.Header.Set("Authorization", "Bearer "+r.Token)
	}
	if body != nil && r.Media == "" {
		r.Media = "application/json"
	}
	if r.Media != "" && r.Media != "none" {
		req.Header.Set("Content-Type", r.Media)
	}
	return req, nil
}

// Token exchanges an API client's credentials for an access token.
func (a *A) Token(t testing.TB, c Credential) string {
	t.Helper()
	answer := a.Do(t, TokenRequest(c))
	var body struct {
		AccessToken string `json:"access_token"`
	}
	answer.Into(t, http.StatusOK, &body)
	return body.AccessToken
}

// TokenRequest returns the JSON request for a token.
func TokenRequest(c Credential) Request {
	return Request{Path: "/token", Body: fmt.Sprintf(`{"client_id":%q,"client_secret":%q}`, c.ID, c.Secret)}
}

// Into fails t unless the answer has the given status, and decodes its JSON body into v, which
// may be nil.
func (a Answer) Into(t testing.TB, code int, v any) {
	t.Helper()
	if a.Code != code {
		t.Fatalf("answered %d, want %d: %s", a.Code, code, a.Body)
	}
	if v == nil {
		return
	}
	decoder := json.NewDecoder(bytes.NewReader(a.Body))
	if err := decoder.Decode(v); err != nil {
		t.Fatalf("%s: %v", a.Body, err)
	}
}

// Fault is an error body of Interface A.
type Fault struct {
	Message string `json:"message"`
	Error   struct {
		Code    string         `json:"code"`
		Message string         `json:"message"`
		Details map[string]any `json:"details"`
	} `json:"error"`
}

// Refused fails t unless the answer is an error body with the given status and code.
func (a Answer) Refused(t testing.TB, status int, code string) Fault {
	t.Helper()
	var f Fault
	a.Into(t, status, &f)
	if f.Error.Code != code || f.Message == "" || f.Message != f.Error.Message {
		t.Fatalf("answered %s, want the code %s", a.Body, code)
	}
	return f
}
