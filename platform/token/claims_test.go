package token_test

import (
	"slices"
	"testing"

	"reservation.dev/devkit/tokentest"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/token"
)

func TestClaims(t *testing.T) {
	issuer := tokentest.New(t)
	company := id.New[id.Company]()
	scopes := []string{"customers:read", "events:write"}
	for name, tt := range map[string]struct {
		claims token.Claims
		want   bool
	}{
		"of an API client":         {token.Claims{Kind: token.KindClient, Company: company, Scopes: scopes}, true},
		"of an API key":            {token.Claims{Kind: token.KindKey, Company: company, Scopes: scopes}, true},
		"of a key with a limit":    {token.Claims{Kind: token.KindKey, Company: company, Scopes: scopes, RateLimit: 10_000}, true},
		"of a service credential":  {token.Claims{Kind: token.KindService, Company: company, Scopes: scopes, Generation: 7}, true},
		"of something else":        {token.Claims{Kind: "person", Company: company, Scopes: scopes}, false},
		"with a negative limit":    {token.Claims{Kind: token.KindKey, Company: company, RateLimit: -1}, false},
		"of a key without company": {token.Claims{Kind: token.KindKey, Scopes: scopes}, false}, // invariant 5
	} {
		t.Run(name, func(t *testing.T) {
			got, err := issuer.Verifier.Verify(t.Context(), issuer.Sign(tt.claims))
			if !tt.want {
				if !fault.Is(err, fault.Unauthenticated) {
					t.Errorf("got %+v, %v", got, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.Kind != tt.claims.Kind || got.Company != company || got.RateLimit != tt.claims.RateLimit ||
				got.Generation != tt.claims.Generation || !slices.Equal(got.Scopes, scopes) {
				t.Errorf("got %+v", got)
			}
		})
	}
}
