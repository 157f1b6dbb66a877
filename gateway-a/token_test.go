package gatewaya

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// grantedToken is the response to valid credentials.
const grantedToken = `{"access_token":"a.b.c","token_type":"Bearer","expires_in":3600,"scope":"customers:read"}`

// basic returns an HTTP Basic Authorization header.
func basic(user, password string) http.Header {
	return http.Header{"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))}}
}

func TestToken(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	t.Run("accepts a JSON body", func(t *testing.T) {
		a := g.do(request{Method: http.MethodPost, Path: "/token", Body: `{"client_id":"m2m_x","client_secret":"right","scope":"customers:read"}`})
		if a.Code != 200 || a.Body != grantedToken || a.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("got %d %s", a.Code, a.Body)
		}
		if g.auth.request.GetClientAddress() != "127.0.0.1" || g.auth.request.GetScope() != "customers:read" {
			t.Errorf("requested %v", g.auth.request)
		}
	})
	t.Run("accepts HTTP Basic with a JSON body or without a body", func(t *testing.T) {
		for _, tt := range []struct{ media, body, scope string }{
			{jsonType, `{}`, ""}, {jsonType, `{"scope":"customers:read"}`, "customers:read"}, {jsonType, "", ""}, {"", "", ""},
			{jsonType, `{"client_id":"m2m_x"}`, ""}, {jsonType, `{"client_id":"m2m_x","client_secret":"right"}`, ""},
		} {
			a := g.do(request{Method: http.MethodPost, Path: "/token", Media: tt.media, Body: tt.body, Header: basic("m2m%5Fx", "right")})
			if a.Code != 200 || a.Body != grantedToken || g.auth.request.GetClientId() != "m2m_x" || g.auth.request.GetScope() != tt.scope {
				t.Errorf("%s %q: got %d %s, requested %v", tt.media, tt.body, a.Code, a.Body, g.auth.request)
			}
		}
	})
	t.Run("refuses wrong credentials, and a JSON body whose credentials differ from HTTP Basic", func(t *testing.T) {
		for _, tt := range []struct {
			body     string
			header   http.Header
			code     int
			scheme   string
			contains string
		}{
			{`{"client_id":"m2m_y"}`, basic("m2m_x", "right"), 400, "", fault.ReasonInvalidParameter},
			{`{"client_id":"m2m_x","client_secret":"no"}`, basic("m2m_x", "right"), 400, "", fault.ReasonInvalidParameter},
			{`{"client_secret":"right"}`, basic("m2m_x", "no"), 400, "", fault.ReasonInvalidParameter},
			{`{}`, basic("m2m%zz", "right"), 400, "", fault.ReasonInvalidParameter},
			{`{`, basic("m2m_x", "right"), 400, "", "INVALID_JSON"},
			{`{}`, basic("m2m_x", "no"), 401, "Basic", "INVALID_CREDENTIALS"},
			{``, nil, 400, "", "INVALID_JSON"},
		} {
			a := g.do(request{Method: http.MethodPost, Path: "/token", Body: tt.body, Header: tt.header})
			if a.Code != tt.code || !strings.Contains(a.Body, tt.contains) || !strings.HasPrefix(a.Header.Get("WWW-Authenticate"), tt.scheme) {
				t.Errorf("%q: got %d %s", tt.body, a.Code, a.Body)
			}
		}
	})
	t.Run("requests tokens only for API clients", func(t *testing.T) {
		g.do(request{Method: http.MethodPost, Path: "/token", Body: `{"client_id":"svc_x","client_secret":"right"}`})
		if kind := g.auth.request.GetKind(); kind != authv1.CredentialKind_CREDENTIAL_KIND_API_CLIENT {
			t.Errorf("requested a token for %s", kind)
		}
	})
	t.Run("does not log the secret", func(t *testing.T) {
		g.do(request{Method: http.MethodPost, Path: "/token", Body: `{"client_id":"m2m_x","client_secret":"s3cr3t-value"}`})
		if strings.Contains(g.log.String(), "s3cr3t-value") {
			t.Error("the secret is in the log")
		}
	})
}

func TestTokenByForm(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	form := func(values url.Values, header http.Header) answer {
		return g.do(request{Method: http.MethodPost, Path: "/token", Media: formType, Body: values.Encode(), Header: header})
	}
	t.Run("accepts an RFC 6749 form", func(t *testing.T) {
		a := form(url.Values{"grant_type": {"client_credentials"}, "client_id": {"m2m_x"}, "client_secret": {"right"}}, nil)
		if a.Code != 200 || a.Body != grantedToken {
			t.Errorf("got %d %s", a.Code, a.Body)
		}
	})
	t.Run("accepts HTTP Basic with form-encoded parts", func(t *testing.T) {
		a := form(url.Values{"grant_type": {"client_credentials"}}, basic("m2m%5Fx", "right"))
		if a.Code != 200 || g.auth.request.GetClientId() != "m2m_x" {
			t.Errorf("got %d %s", a.Code, a.Body)
		}
	})
	both := url.Values{"grant_type": {"client_credentials"}, "client_secret": {"right"}}
	refusals := map[string]struct {
		values url.Values
		header http.Header
		code   int
		error  string
		scheme string
	}{
		"wrong credentials":        {url.Values{"grant_type": {"client_credentials"}, "client_id": {"m2m_x"}, "client_secret": {"no"}}, nil, 401, "invalid_client", "Bearer"},
		"wrong Basic credentials":  {url.Values{"grant_type": {"client_credentials"}}, basic("m2m_x", "no"), 401, "invalid_client", "Basic"},
		"no grant_type":            {url.Values{"client_id": {"m2m_x"}, "client_secret": {"right"}}, nil, 400, "invalid_request", ""},
		"another grant_type":       {url.Values{"grant_type": {"password"}}, nil, 400, "unsupported_grant_type", ""},
		"the credentials twice":    {both, basic("m2m_x", "right"), 400, "invalid_request", ""},
		"a parameter twice":        {url.Values{"grant_type": {"client_credentials", "client_credentials"}}, nil, 400, "invalid_request", ""},
		"text that is not UTF-8":   {url.Values{"grant_type": {"client_credentials"}, "client_id": {"\xff"}, "client_secret": {"x"}}, nil, 400, "invalid_request", ""},
		"two different client ids": {url.Values{"grant_type": {"client_credentials"}, "client_id": {"m2m_y"}}, basic("m2m_x", "right"), 400, "invalid_request", ""},
	}
	for name, tt := range refusals {
		t.Run("refuses a form with "+name+" with an error of RFC 6749", func(t *testing.T) {
			a := form(tt.values, tt.header)
			var body struct {
				Error       string `json:"error"`
				Description string `json:"error_description"`
			}
			if err := json.Unmarshal([]byte(a.Body), &body); err != nil || a.Code != tt.code || body.Error != tt.error || body.Description == "" {
				t.Errorf("got %d %s (%v)", a.Code, a.Body, err)
			}
			if !strings.HasPrefix(a.Header.Get("WWW-Authenticate"), tt.scheme) {
				t.Errorf("WWW-Authenticate: %q", a.Header.Get("WWW-Authenticate"))
			}
		})
	}
	t.Run("refuses an oversized form with an error of RFC 6749", func(t *testing.T) {
		a := form(url.Values{"grant_type": {"client_credentials"}, "x": {strings.Repeat("x", 1<<20)}}, nil)
		if a.Code != 413 || !strings.Contains(a.Body, `"error":"invalid_request"`) || a.Header.Get("Pragma") != "no-cache" {
			t.Errorf("got %d %s", a.Code, a.Body)
		}
	})
	t.Run("sends Retry-After to throttled callers", func(t *testing.T) {
		g.auth.err = fault.New(fault.RateLimited, fault.ReasonRateLimitExceeded, "too many failures").After(90 * time.Second)
		defer func() { g.auth.err = nil }()
		a := form(url.Values{"grant_type": {"client_credentials"}, "client_id": {"m2m_x"}, "client_secret": {"no"}}, nil)
		if a.Code != 429 || a.Header.Get("Retry-After") != "90" {
			t.Errorf("got %d %s", a.Code, a.Body)
		}
	})
}

func TestRateLimit(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	get := func(raw string) answer {
		return g.do(request{Method: http.MethodGet, Path: "/customers?page=0", Token: raw})
	}
	g.customers.answer = &customerv1.Customer{Id: id.New[id.Customer]().String()}
	t.Run("a client without a limit is not limited", func(t *testing.T) {
		if a := get(g.token()); a.Code != 200 || a.Header.Get("RateLimit-Limit") != "" {
			t.Errorf("got %d %v", a.Code, a.Header)
		}
	})
	t.Run("a client's own limit is enforced and sent in the headers", func(t *testing.T) {
		limited := g.issuer.Sign(token.Claims{Kind: token.KindClient, Company: g.company, Subject: "m2m_limited", Scopes: []string{"customers:read"}, RateLimit: 2})
		for i := range 3 {
			a := get(limited)
			if (a.Code == http.StatusTooManyRequests) != (i == 2) || a.Header.Get("RateLimit-Limit") != "2" || (a.Header.Get("Retry-After") != "") != (i == 2) {
				t.Errorf("%d: got %d %s %v", i, a.Code, a.Body, a.Header)
			}
		}
	})
}

func TestAllowedNetworks(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.customers.answer = &customerv1.Customer{Id: id.New[id.Customer]().String()}
	get := func(networks ...netip.Prefix) answer {
		raw := g.issuer.Sign(token.Claims{Kind: token.KindClient, Company: g.company, Scopes: []string{"customers:read"}, RateLimit: 9, Networks: networks})
		return g.do(request{Method: http.MethodGet, Path: "/customers?page=0", Token: raw})
	}
	elsewhere, here := netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("127.0.0.1/32")
	t.Run("a token is accepted in one of its networks", func(t *testing.T) {
		if a := get(elsewhere, here); a.Code != 200 || a.Header.Get("RateLimit-Remaining") != "8" {
			t.Errorf("got %d %s %v", a.Code, a.Body, a.Header)
		}
	})
	t.Run("a token is refused elsewhere, with the address, and the request is not counted", func(t *testing.T) {
		a := get(elsewhere)
		if a.Code != 403 || !strings.Contains(a.Body, fault.ReasonNetworkNotAllowed) || !strings.Contains(a.Body, `"details":{"address":"127.0.0.1"}`) ||
			a.Header.Get("RateLimit-Remaining") != "" || a.Header.Get("WWW-Authenticate") != `Bearer realm="reservation"` {
			t.Errorf("got %d %s %v", a.Code, a.Body, a.Header)
		}
	})
	t.Run("a token request is refused elsewhere, also by form", func(t *testing.T) {
		g.auth.err = token.Networks{elsewhere}.Check("127.0.0.1")
		for media, want := range map[string]string{jsonType: fault.ReasonNetworkNotAllowed, formType: `"error":"unauthorized_client"`} {
			body := `{"client_id":"m2m_x","client_secret":"right"}`
			if media == formType {
				body = url.Values{"grant_type": {"client_credentials"}, "client_id": {"m2m_x"}, "client_secret": {"right"}}.Encode()
			}
			a := g.do(request{Method: http.MethodPost, Path: "/token", Media: media, Body: body})
			if a.Code != 403 || !strings.Contains(a.Body, want) || !strings.Contains(a.Body, "the address 127.0.0.1 is not") {
				t.Errorf("%s: got %d %s", media, a.Code, a.Body)
			}
		}
	})
}
