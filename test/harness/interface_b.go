package harness

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
)

// B is a client of Interface B. Its requests and answers have the same types as those of
// Interface A.
type B struct{ A }

// NewB returns a client of Interface B at a base address that ends in /api/v1.
func NewB(t testing.TB, baseURL string) *B { return &B{A: *NewA(t, baseURL)} }

// Token exchanges an API key and its secret for an access token.
func (b *B) Token(t testing.TB, key Credential) string {
	t.Helper()
	var body struct{ Token string }
	b.Do(t, KeyTokenRequest(key)).Into(t, http.StatusOK, &body)
	return body.Token
}

// KeyTokenRequest returns the request for a token of Interface B.
func KeyTokenRequest(key Credential) Request {
	return Request{Path: "/auth/token", Body: fmt.Sprintf(`{"apiKey":%q,"apiSecret":%q}`, key.ID, key.Secret)}
}

// Reason returns the code of an error body of either interface, or "" if there is none.
func (a Answer) Reason() string {
	var body struct {
		Error struct {
			Code string `json:"code"`
		} `json:"error"`
	}
	_ = json.Unmarshal(a.Body, &body) // a body that is not an error has no code
	return body.Error.Code
}

// Want is Into for any goroutine: it returns an error unless the answer has the given status, and
// decodes its JSON body into v, which may be nil.
func (a Answer) Want(code int, v any) error {
	if a.Code != code {
		return fmt.Errorf("answered %d, want %d: %s", a.Code, code, a.Body)
	}
	if v == nil {
		return nil
	}
	if err := json.Unmarshal(a.Body, v); err != nil {
		return fmt.Errorf("%s: %w", a.Body, err)
	}
	return nil
}
