package e2e

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	"reservation.dev/test/harness"
)

// operation is an operation of Interface A with the scope that it needs.
type operation struct {
	name, scope string
	request     harness.Request
}

// operations returns every operation that needs a token, for one customer and transaction.
func operations(customer, transaction string) []operation {
	return []operation{
		{"the customer list", "customers:read", harness.Request{Method: "GET", Path: "/customers"}},
		{"a page of customers", "customers:read", harness.Request{Method: "GET", Path: "/customers?page=0"}},
		{"a profile", "profile:read", harness.Request{Method: "GET", Path: profilePath(customer)}},
		{"a profile update", "profile:write", harness.Request{
			Method: "PUT", Path: profilePath(customer), Body: `{"firstname":"In","lastname":"Truder","email":"in@example.com"}`,
		}},
		{"the bookings", "bookings:read", harness.Request{Method: "GET", Path: bookingsPath(customer)}},
		{"a single booking", "bookings:read", harness.Request{Method: "GET", Path: bookingPath(customer, transaction)}},
	}
}

func (w *world) testAccess(t *testing.T) {
	n := w.tenant(t, "Europe/London")
	customer := n.NewCustomer(t, "Zoë", "O'Brien").GetId()
	bookings := n.ImportTransactions(t, importedPurchase(customer, time.Now().Add(-time.Hour), cardBooking(importedDate("E", time.Now(), ""))))
	a := w.client(t)
	forged := w.forged(t, n.token)

	for _, op := range operations(customer, bookings[0]) {
		unauthorized := func(t *testing.T, header http.Header) {
			t.Helper()
			r := op.request
			r.Header = header
			answer := w.client(t).Do(t, r)
			answer.Refused(t, http.StatusUnauthorized, "UNAUTHORIZED")
			if challenge := answer.Header.Get("WWW-Authenticate"); !strings.HasPrefix(challenge, "Bearer") {
				t.Errorf("%v: WWW-Authenticate: %q", header, challenge)
			}
		}
		t.Run(op.name+" needs a token", func(t *testing.T) {
			for _, header := range []http.Header{
				nil, headers("Authorization", "Bearer"), headers("Authorization", "Bearer "), headers("Authorization", "Basic YTpi"),
				headers("Authorization", n.token), headers("Authorization", "Token "+n.token),
				headers("Authorization", "Bearer "+n.token, "Authorization", "Bearer "+n.token),
			} {
				unauthorized(t, header)
			}
		})
		t.Run(op.name+" refuses forged tokens", func(t *testing.T) {
			for _, raw := range forged {
				unauthorized(t, headers("Authorization", "Bearer "+raw))
			}
		})
		t.Run(op.name+" needs the scope "+op.scope+" and names it in the message", func(t *testing.T) {
			var others []string
			for _, scope := range harness.AllScopes() {
				if scope != op.scope {
					others = append(others, scope)
				}
			}
			a := w.client(t)
			r := op.request
			r.Token = a.Token(t, n.NewClient(t, others...))
			answer := a.Do(t, r)
			f := answer.Refused(t, http.StatusForbidden, "INSUFFICIENT_SCOPE")
			if !strings.Contains(f.Message, op.scope) {
				t.Errorf("the message is %q", f.Message)
			}
			challenge := answer.Header.Get("WWW-Authenticate")
			if !strings.HasPrefix(challenge, "Bearer") || !strings.Contains(challenge, `error="insufficient_scope"`) || !strings.Contains(challenge, op.scope) {
				t.Errorf("WWW-Authenticate: %q", challenge)
			}
		})
		t.Run(op.name+" needs only the scope "+op.scope, func(t *testing.T) {
			a := w.client(t)
			r := op.request
			r.Token = a.Token(t, n.NewClient(t, op.scope))
			a.Do(t, r).Into(t, http.StatusOK, nil)
		})
	}
	t.Run("a token with a narrowed scope does not have the client's other scopes", func(t *testing.T) {
		c := n.NewClient(t)
		var body tokenAnswer
		a.Do(t, harness.Request{Path: "/token", Body: fmt.Sprintf(`{"client_id":%q,"client_secret":%q,"scope":"profile:read"}`, c.ID, c.Secret)}).
			Into(t, http.StatusOK, &body)
		a.Do(t, harness.Request{Path: "/customers", Token: body.AccessToken}).Refused(t, http.StatusForbidden, "INSUFFICIENT_SCOPE")
		a.Do(t, harness.Request{Path: profilePath(customer), Token: body.AccessToken}).Into(t, http.StatusOK, nil)
	})
	t.Run("a request without a token is 401 before anything else is checked", func(t *testing.T) {
		for _, r := range []harness.Request{
			{Method: "GET", Path: profilePath("cust_nonsense")}, {Method: "GET", Path: bookingsPath(customer) + "?page=x"},
			{Method: "PUT", Path: profilePath(customer), Body: "no JSON"}, {Method: "PUT", Path: profilePath(customer), Media: "text/plain", Body: "x"},
		} {
			a.Do(t, r).Refused(t, http.StatusUnauthorized, "UNAUTHORIZED")
		}
	})
	t.Run("refused updates change nothing", func(t *testing.T) {
		// Only the update with the right scope took effect.
		if got := n.profile(t, customer); got.Firstname != "In" {
			t.Errorf("got %+v", got)
		}
	})
}

// forged derives invalid tokens from a valid one.
func (w *world) forged(t *testing.T, valid string) []string {
	t.Helper()
	claims := jwt.MapClaims{}
	parsed, parts, err := jwt.NewParser().ParseUnverified(valid, claims)
	if err != nil {
		t.Fatal(err)
	}
	if parsed.Method.Alg() != "EdDSA" || parsed.Header["kid"] == nil {
		t.Fatalf("the token's header is %v", parsed.Header)
	}
	_, stranger, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	sign := func(method jwt.SigningMethod, key any, kid any) string {
		token := jwt.NewWithClaims(method, claims)
		token.Header["kid"] = kid
		raw, err := token.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	// Raise the scopes and keep the signature.
	claims["scope"] = "platform:admin"
	raised, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	return []string{
		"nonsense", "a.b.c", valid + "x", valid[:len(valid)-6], parts[0] + "." + parts[1] + ".", parts[0] + "." + parts[1],
		parts[0] + "." + base64.RawURLEncoding.EncodeToString(raised) + "." + parts[2],
		sign(jwt.SigningMethodEdDSA, stranger, parsed.Header["kid"]),
		sign(jwt.SigningMethodEdDSA, stranger, "another"),
		sign(jwt.SigningMethodHS256, []byte("secret"), parsed.Header["kid"]),
		sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, parsed.Header["kid"]),
		strings.Repeat("x", 20_000),
	}
}

// testExpiry uses a service credential of the company with a token lifetime in seconds, because
// tokens of API clients live for an hour. Interface A accepts only tokens of API clients, but
// reports expiry first.
func (w *world) testExpiry(t *testing.T) {
	n := w.tenant(t, "Europe/London")
	made, err := n.Operator().Credentials.CreateServiceCredential(n.Ctx(t.Context()), &authv1.CreateServiceCredentialRequest{
		Name: "short", Scopes: []string{"customers:read"},
	})
	if err != nil {
		t.Fatal(err)
	}
	list := func(t *testing.T, lifetime int32) harness.Request {
		t.Helper()
		issued, err := n.Operator().Tokens.IssueToken(t.Context(), &authv1.IssueTokenRequest{
			ClientId: made.GetServiceCredential().GetId(), ClientSecret: made.GetSecret(), LifetimeSeconds: lifetime,
		})
		if err != nil {
			t.Fatal(err)
		}
		return harness.Request{Path: "/customers", Token: issued.GetAccessToken()}
	}
	a := w.client(t)
	t.Run("a service's token and credential are refused", func(t *testing.T) {
		a.Do(t, list(t, 3600)).Refused(t, http.StatusUnauthorized, "UNAUTHORIZED")
		body := fmt.Sprintf(`{"client_id":%q,"client_secret":%q}`, made.GetServiceCredential().GetId(), made.GetSecret())
		a.Do(t, harness.Request{Path: "/token", Body: body}).Refused(t, http.StatusUnauthorized, "INVALID_CREDENTIALS")
	})
	t.Run("an expired token is refused, and the challenge gives the reason", func(t *testing.T) {
		var answer harness.Answer
		request := list(t, 1)
		harness.Eventually(t, eventLimit, func() error {
			answer = a.Do(t, request)
			if !strings.Contains(string(answer.Body), "TOKEN_EXPIRED") {
				return fmt.Errorf("still answered %s", answer.Body)
			}
			return nil
		})
		answer.Refused(t, http.StatusUnauthorized, "TOKEN_EXPIRED")
		if challenge := answer.Header.Get("WWW-Authenticate"); !strings.Contains(challenge, `error="invalid_token"`) {
			t.Errorf("WWW-Authenticate: %q", challenge)
		}
	})
}
