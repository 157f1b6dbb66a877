package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"reservation.dev/platform/id"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	"reservation.dev/test/harness"
)

// tokenAnswer is the answer of POST /token.
type tokenAnswer struct {
	AccessToken string `json:"access_token"`
	TokenType   string `json:"token_type"`
	ExpiresIn   int    `json:"expires_in"`
	Scope       string `json:"scope"`
}

const form = "application/x-www-form-urlencoded"

func grant(pairs ...string) string {
	v := url.Values{"grant_type": {"client_credentials"}}
	for i := 0; i+1 < len(pairs); i += 2 {
		v.Set(pairs[i], pairs[i+1])
	}
	return v.Encode()
}

func basic(user, password string) http.Header {
	return headers("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
}

// testToken requests a token in each supported way.
func (w *world) testToken(t *testing.T) {
	n := w.tenant(t, "Europe/London")
	client := n.NewClient(t)
	usable := func(t *testing.T, answer harness.Answer, scopes ...string) {
		t.Helper()
		var body tokenAnswer
		answer.Into(t, http.StatusOK, &body)
		got := strings.Split(body.Scope, " ")
		slices.Sort(got)
		slices.Sort(scopes)
		equal(t, "granted scopes", got, scopes)
		if body.TokenType != "Bearer" || body.ExpiresIn != 3600 {
			t.Errorf("token_type %q, expires_in %d", body.TokenType, body.ExpiresIn)
		}
		if answer.Header.Get("Cache-Control") != "no-store" {
			t.Error("the token may be cached")
		}
		w.client(t).Do(t, harness.Request{Path: "/customers", Token: body.AccessToken}).Into(t, http.StatusOK, nil)
	}

	t.Run("a client has an m2m_ id and a secret of 64 hexadecimal characters", func(t *testing.T) {
		if !regexp.MustCompile(`^m2m_[0-7][0-9a-hjkmnp-tv-z]{25}$`).MatchString(client.ID) {
			t.Errorf("id %q", client.ID)
		}
		if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(client.Secret) {
			t.Error("the secret has an unexpected form")
		}
	})
	t.Run("id and secret as JSON return a token for one hour with all scopes", func(t *testing.T) {
		usable(t, w.client(t).Do(t, harness.TokenRequest(client)), harness.AllScopes()...)
	})
	t.Run("unknown members are ignored", func(t *testing.T) {
		body := fmt.Sprintf(`{"client_id":%q,"client_secret":%q,"audience":"x","nested":{"a":[1]}}`, client.ID, client.Secret)
		usable(t, w.client(t).Do(t, harness.Request{Path: "/token", Body: body}), harness.AllScopes()...)
	})
	t.Run("id and secret as a form (RFC 6749) return the same kind of token", func(t *testing.T) {
		body := grant("client_id", client.ID, "client_secret", client.Secret)
		usable(t, w.client(t).Do(t, harness.Request{Path: "/token", Media: form, Body: body}), harness.AllScopes()...)
	})
	t.Run("HTTP Basic returns the same kind of token", func(t *testing.T) {
		answer := w.client(t).Do(t, harness.Request{Path: "/token", Media: form, Body: grant(), Header: basic(client.ID, client.Secret)})
		usable(t, answer, harness.AllScopes()...)
	})
	t.Run("HTTP Basic with a JSON body returns the same kind of token", func(t *testing.T) {
		for _, body := range []string{`{}`, `{"scope":"customers:read"}`} {
			answer := w.client(t).Do(t, harness.Request{Path: "/token", Body: body, Header: basic(client.ID, client.Secret)})
			scopes := harness.AllScopes()
			if body != `{}` {
				scopes = []string{"customers:read"}
			}
			usable(t, answer, scopes...)
		}
		other := fmt.Sprintf(`{"client_id":%q}`, id.New[id.APIClient]().String())
		w.client(t).Do(t, harness.Request{Path: "/token", Body: other, Header: basic(client.ID, client.Secret)}).
			Refused(t, http.StatusBadRequest, "INVALID_PARAMETER")
	})
	t.Run("scope narrows the token's scopes", func(t *testing.T) {
		body := fmt.Sprintf(`{"client_id":%q,"client_secret":%q,"scope":"customers:read  profile:read"}`, client.ID, client.Secret)
		usable(t, w.client(t).Do(t, harness.Request{Path: "/token", Body: body}), "customers:read", "profile:read")
		body = grant("client_id", client.ID, "client_secret", client.Secret, "scope", "customers:read")
		usable(t, w.client(t).Do(t, harness.Request{Path: "/token", Media: form, Body: body}), "customers:read")
	})
}

// testTokenRefused makes invalid requests for a token.
func (w *world) testTokenRefused(t *testing.T) {
	n := w.tenant(t, "Europe/London")
	client := n.NewClient(t)
	t.Run("a scope that the client does not have is 400", func(t *testing.T) {
		few := n.NewClient(t, "customers:read")
		for _, scope := range []string{"profile:read", "customers:read profile:read", "platform:admin", "nonsense"} {
			body := fmt.Sprintf(`{"client_id":%q,"client_secret":%q,"scope":%q}`, few.ID, few.Secret, scope)
			w.client(t).Do(t, harness.Request{Path: "/token", Body: body}).Refused(t, http.StatusBadRequest, "INVALID_SCOPE")
			body = grant("client_id", few.ID, "client_secret", few.Secret, "scope", scope)
			w.oauthRefused(t, harness.Request{Path: "/token", Media: form, Body: body}, http.StatusBadRequest, "invalid_scope")
		}
	})
	t.Run("a missing member is 400 and named", func(t *testing.T) {
		a := w.client(t)
		for body, field := range map[string]string{
			fmt.Sprintf(`{"client_id":%q}`, client.ID):                        "client_secret",
			fmt.Sprintf(`{"client_secret":%q}`, client.Secret):                "client_id",
			fmt.Sprintf(`{"client_id":"","client_secret":%q}`, client.Secret): "client_id",
			fmt.Sprintf(`{"client_id":%q,"client_secret":null}`, client.ID):   "client_secret",
			`{}`: "client_id",
		} {
			f := a.Do(t, harness.Request{Path: "/token", Body: body}).Refused(t, http.StatusBadRequest, "VALIDATION_ERROR")
			if f.Error.Details["field"] != field || f.Error.Details["rule"] != "required" || !strings.Contains(f.Message, field) {
				t.Errorf("%s: %+v", body, f)
			}
		}
	})
	t.Run("a body that is not a JSON object of strings is 400", func(t *testing.T) {
		a := w.client(t)
		for body, code := range map[string]string{
			`[]`: "INVALID_JSON", `{"client_id":`: "INVALID_JSON", `null`: "INVALID_JSON", `client_id=x`: "INVALID_JSON",
			`{"client_id":5,"client_secret":"x"}`: "VALIDATION_ERROR", `{"client_id":{},"client_secret":"x"}`: "VALIDATION_ERROR",
		} {
			a.Do(t, harness.Request{Path: "/token", Body: body}).Refused(t, http.StatusBadRequest, code)
		}
	})
	t.Run("another media type is 415, and a body over 1 MiB is 413", func(t *testing.T) {
		a := w.client(t)
		for _, media := range []string{"text/plain", "multipart/form-data"} {
			a.Do(t, harness.Request{Path: "/token", Media: media, Body: `{}`}).Refused(t, http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE")
		}
		large := `{"client_id":"` + strings.Repeat("x", 1<<20) + `"}`
		a.Do(t, harness.Request{Path: "/token", Body: large}).Refused(t, http.StatusRequestEntityTooLarge, "PAYLOAD_TOO_LARGE")
	})
	t.Run("errors of form requests are those of RFC 6749", func(t *testing.T) {
		good := []string{"client_id", client.ID, "client_secret", client.Secret}
		request := func(body string, header http.Header) harness.Request {
			return harness.Request{Path: "/token", Media: form, Body: body, Header: header}
		}
		w.oauthRefused(t, request("client_id=x&client_secret=y", nil), 400, "invalid_request")
		w.oauthRefused(t, request(strings.Replace(grant(good...), "client_credentials", "password", 1), nil), 400, "unsupported_grant_type")
		w.oauthRefused(t, request(grant("client_id", client.ID), nil), 400, "invalid_request")
		w.oauthRefused(t, request(grant(good...)+"&scope=a&scope=b", nil), 400, "invalid_request")
		w.oauthRefused(t, request(grant(good...), basic(client.ID, client.Secret)), 400, "invalid_request")
		w.oauthRefused(t, request(grant("client_id", client.ID, "client_secret", "wrong"), nil), 401, "invalid_client")
		answer := w.oauthRefused(t, request(grant(), basic(client.ID, "wrong")), 401, "invalid_client")
		if !strings.HasPrefix(answer.Header.Get("WWW-Authenticate"), "Basic ") {
			t.Errorf("WWW-Authenticate: %q", answer.Header.Get("WWW-Authenticate"))
		}
	})
	t.Run("all wrong credentials get the same 401", func(t *testing.T) { w.wrongCredentials(t, n) })
}

// oauthRefused makes a request and checks that its error is the given RFC 6749 error.
func (w *world) oauthRefused(t *testing.T, r harness.Request, status int, code string) harness.Answer {
	t.Helper()
	answer := w.client(t).Do(t, r)
	var body struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	answer.Into(t, status, &body)
	if body.Error != code || body.Description == "" {
		t.Errorf("%s: answered %s, want %s", r.Body, answer.Body, code)
	}
	return answer
}

func (w *world) wrongCredentials(t *testing.T, n *tenant) {
	clients, ctx := n.Operator().Clients, n.Ctx(t.Context())
	good, disabled, rotated, deleted := n.NewClient(t), n.NewClient(t), n.NewClient(t), n.NewClient(t)
	if _, err := clients.DisableApiClient(ctx, &authv1.DisableApiClientRequest{Id: disabled.ID}); err != nil {
		t.Fatal(err)
	}
	if _, err := clients.DeleteApiClient(ctx, &authv1.DeleteApiClientRequest{Id: deleted.ID}); err != nil {
		t.Fatal(err)
	}
	fresh, err := clients.RotateApiClientSecret(ctx, &authv1.RotateApiClientSecretRequest{Id: rotated.ID})
	if err != nil {
		t.Fatal(err)
	}
	a := w.client(t)
	var first []byte
	for _, c := range []harness.Credential{
		{ID: "m2m_01jb4x9m3vf6ksn8w2d7pq5r0t", Secret: good.Secret}, {ID: "nonsense", Secret: good.Secret},
		{ID: good.ID, Secret: strings.Repeat("0", 64)}, {ID: good.ID, Secret: "short"}, {ID: good.ID, Secret: good.Secret + "0"},
		{ID: good.ID, Secret: strings.ToUpper(good.Secret)}, {ID: n.ID, Secret: good.Secret}, disabled, rotated, deleted,
	} {
		answer := a.Do(t, harness.TokenRequest(c))
		answer.Refused(t, http.StatusUnauthorized, "INVALID_CREDENTIALS")
		if first == nil {
			first = answer.Body
		}
		if !bytes.Equal(answer.Body, first) {
			t.Errorf("%s was answered %s, but other wrong credentials %s", c.ID, answer.Body, first)
		}
		if !strings.HasPrefix(answer.Header.Get("WWW-Authenticate"), "Bearer") {
			t.Errorf("WWW-Authenticate: %q", answer.Header.Get("WWW-Authenticate"))
		}
	}
	a.Token(t, good)
	a.Token(t, harness.Credential{ID: rotated.ID, Secret: fresh.GetClientSecret()})
	if _, err := clients.EnableApiClient(ctx, &authv1.EnableApiClientRequest{Id: disabled.ID}); err != nil {
		t.Fatal(err)
	}
	a.Token(t, disabled)
}

// testOAuth2 uses a standard OAuth client that has no knowledge of this platform.
func (w *world) testOAuth2(t *testing.T) {
	n := w.tenant(t, "Europe/London")
	client := n.NewClient(t)
	for name, style := range map[string]oauth2.AuthStyle{
		"in the form": oauth2.AuthStyleInParams, "in the header": oauth2.AuthStyleInHeader, "wherever it finds out": oauth2.AuthStyleAutoDetect,
	} {
		t.Run("a standard OAuth client with its credentials "+name+" reads customers", func(t *testing.T) {
			ctx := context.WithValue(t.Context(), oauth2.HTTPClient, &http.Client{Transport: w.client(t).Transport, Timeout: time.Minute})
			config := clientcredentials.Config{
				ClientID: client.ID, ClientSecret: client.Secret, TokenURL: w.BaseURL + "/token",
				Scopes: []string{"customers:read", "profile:read"}, AuthStyle: style,
			}
			token, err := config.Token(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if left := time.Until(token.Expiry); left < 59*time.Minute || left > time.Hour {
				t.Errorf("the token expires in %s", left)
			}
			res, err := config.Client(ctx).Get(w.BaseURL + "/customers")
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if res.StatusCode != http.StatusOK {
				t.Errorf("answered %s", res.Status)
			}
		})
	}
	t.Run("a standard OAuth client understands the error", func(t *testing.T) {
		ctx := context.WithValue(t.Context(), oauth2.HTTPClient, &http.Client{Transport: w.client(t).Transport, Timeout: time.Minute})
		config := clientcredentials.Config{
			ClientID: client.ID, ClientSecret: "wrong", TokenURL: w.BaseURL + "/token", AuthStyle: oauth2.AuthStyleInHeader,
		}
		_, err := config.Token(ctx)
		var refused *oauth2.RetrieveError
		if !errors.As(err, &refused) || refused.ErrorCode != "invalid_client" || refused.ErrorDescription == "" {
			t.Errorf("got %v", err)
		}
	})
}

// testThrottle guesses secrets from one address.
func (w *world) testThrottle(t *testing.T) {
	n := w.tenant(t, "Europe/London")
	victim := n.NewClient(t)
	a := w.client(t)
	guess := harness.TokenRequest(harness.Credential{ID: victim.ID, Secret: strings.Repeat("0", 64)})
	// Guess concurrently, because each answer is slower than the last.
	guessOften := func(t *testing.T) harness.Answer {
		t.Helper()
		concurrently(30, func(int) int {
			answer, err := a.Try(t.Context(), guess)
			if err != nil {
				t.Error(err)
			}
			return answer.Code
		})
		return a.Do(t, guess)
	}
	answer := guessOften(t)
	t.Run("repeated failures are eventually answered 429 with Retry-After", func(t *testing.T) {
		answer.Refused(t, http.StatusTooManyRequests, "RATE_LIMIT_EXCEEDED")
		if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err != nil || seconds < 1 {
			t.Errorf("Retry-After: %q", answer.Header.Get("Retry-After"))
		}
	})
	t.Run("the client with the right secret is not blocked", func(t *testing.T) {
		// Other work on the machine can delay one request.
		shortest := time.Hour
		for try := 0; try < 5 && shortest > 2*time.Second; try++ {
			if try > 0 {
				guessOften(t)
			}
			began := time.Now()
			w.client(t).Token(t, victim)
			shortest = min(shortest, time.Since(began))
		}
		if shortest > 2*time.Second {
			t.Errorf("it took %s", shortest)
		}
	})
	t.Run("other clients at the same address are not blocked", func(t *testing.T) {
		w.client(t).Token(t, n.NewClient(t))
	})
}
