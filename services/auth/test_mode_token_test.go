package auth

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/emptypb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/scopes"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
)

// naming returns a context for calls with an access token that name a company in the metadata.
func naming(ctx context.Context, t *testing.T, raw, company string) context.Context {
	t.Helper()
	named, err := id.Parse[id.Company](company)
	if err != nil {
		t.Fatal(err)
	}
	return rpc.As(ctx, token.NewSource(func(context.Context) (string, time.Time, error) {
		return raw, time.Now().Add(time.Hour), nil
	}), named)
}

// everyToken returns a token of each kind of credential of a company, by the kind.
func (r *replica) everyToken(company string, ada *person, access func() string) map[string]string {
	r.t.Helper()
	machine, err := r.services.CreateServiceCredential(r.as(company), &authv1.CreateServiceCredentialRequest{Name: "Sync", Scopes: scopes.Service()})
	if err != nil {
		r.t.Fatal(err)
	}
	exchanged, err := r.exchange(r.publishable(company, "https://studio.example").GetId())
	if err != nil {
		r.t.Fatal(err)
	}
	return map[string]string{
		token.KindClient: r.token(r.client(company)), token.KindKey: r.token(r.key(company)),
		token.KindService:     r.token(machine.GetServiceCredential().GetId(), machine.GetSecret()),
		token.KindPublishable: exchanged.GetAccessToken(), token.KindAdministrator: access(),
	}
}

// modes is a company in live mode, with its company in test mode and tokens of both.
type modes struct {
	live, test             string
	boss                   *person
	liveTokens, testTokens map[string]string
}

func (r *replica) modes() modes {
	r.t.Helper()
	m := modes{live: r.company()}
	m.test, m.boss = r.testCompany(m.live).GetId(), r.administrator(m.live, owner)
	m.liveTokens, m.testTokens = r.everyToken(m.live, m.boss, m.boss.access), r.everyToken(m.test, m.boss, m.boss.testAccess)
	return m
}

func TestTokensBelongToOneMode(t *testing.T) {
	t.Parallel()
	r := newWorld(t).start()
	x, y := r.modes(), r.modes()
	t.Run("the identifiers of credentials show the mode", func(t *testing.T) {
		for kind, raw := range x.testTokens {
			claims, err := r.verifier.Verify(t.Context(), raw)
			if err != nil || claims.Company.String() != x.test {
				t.Errorf("%s: got %v, %v", kind, claims, err)
				continue
			}
			if isOwn := kind == token.KindAdministrator; isOwn == strings.Contains(claims.Subject, "_test_") {
				t.Errorf("%s is %s", kind, claims.Subject)
			}
		}
	})
	t.Run("a token of one company cannot name another, whatever the mode", func(t *testing.T) {
		for _, tt := range []struct {
			what   string
			tokens map[string]string
			named  string
			ok     bool
		}{
			{"test mode for test mode", x.testTokens, x.test, true},
			{"test mode for live mode", x.testTokens, x.live, false},
			{"test mode for another company's test mode", x.testTokens, y.test, false},
			{"test mode for another company's live mode", x.testTokens, y.live, false},
			{"live mode for live mode", x.liveTokens, x.live, true},
			{"live mode for test mode", x.liveTokens, x.test, false},
		} {
			for kind, raw := range tt.tokens {
				ctx := naming(t.Context(), t, raw, tt.named)
				got, err := r.companies.GetCompany(ctx, &authv1.GetCompanyRequest{})
				if tt.ok && (err != nil || got.GetCompany().GetId() != tt.named) || !tt.ok && !fault.Is(err, fault.Forbidden) {
					t.Errorf("%s, %s: got %v, %v", tt.what, kind, got, err)
				}
				got, err = r.companies.GetCompany(with(t.Context(), raw), &authv1.GetCompanyRequest{Id: tt.named})
				if tt.ok && (err != nil || got.GetCompany().GetId() != tt.named) || !tt.ok && !fault.Is(err, fault.NotFound) {
					t.Errorf("%s in the request, %s: got %v, %v", tt.what, kind, got, err)
				}
			}
		}
	})
	t.Run("no method accepts the token of the other mode", func(t *testing.T) {
		for method, scope := range Policy() {
			if scope == rpc.Public || method == privacyv1.PersonalDataService_ExportPersonalData_FullMethodName { // this server does not serve it
				continue
			}
			ctx := naming(t.Context(), t, x.testTokens[token.KindService], x.live)
			if err := r.conn.Invoke(ctx, method, &emptypb.Empty{}, &emptypb.Empty{}); !fault.Is(err, fault.Forbidden) {
				t.Errorf("%s: got %v", method, err)
			}
		}
	})
	t.Run("a platform credential can act for either", func(t *testing.T) {
		for _, company := range []string{x.live, x.test} {
			if got := r.read(company); got.GetId() != company {
				t.Errorf("got %v", got)
			}
			bound, err := r.companies.GetCompany(with(t.Context(), r.bound(company)), &authv1.GetCompanyRequest{})
			if err != nil || bound.GetCompany().GetId() != company {
				t.Errorf("got %v, %v", bound, err)
			}
		}
	})
	t.Run("an identifier of the other mode is not the credential's", func(t *testing.T) {
		keyID, secret := r.key(x.test)
		for _, wrong := range []string{strings.Replace(keyID, "_test_", "_", 1), strings.Replace(keyID, "key_test_", "m2m_test_", 1)} {
			if _, err := r.tokens.IssueToken(t.Context(), &authv1.IssueTokenRequest{ClientId: wrong, ClientSecret: secret}); !fault.Is(err, fault.Unauthenticated) {
				t.Errorf("%s: got %v", wrong, err)
			}
		}
	})
	t.Run("an administrator's account is out of reach in test mode", func(t *testing.T) {
		ctx := with(t.Context(), x.testTokens[token.KindAdministrator])
		for name, call := range map[string]func() error{
			"UpdateProfile": func() error {
				_, err := r.admins.UpdateProfile(ctx, &authv1.UpdateProfileRequest{Name: "Eve"})
				return err
			},
			"ChangePassword": func() error {
				_, err := r.admins.ChangePassword(ctx, &authv1.ChangePasswordRequest{CurrentPassword: goodPassword, NewPassword: goodPassword + "s"})
				return err
			},
			"EndOtherSessions": func() error {
				_, err := r.admins.EndOtherSessions(ctx, &authv1.EndOtherSessionsRequest{})
				return err
			},
			"GetAdministrator": func() error {
				_, err := r.admins.GetAdministrator(ctx, &authv1.GetAdministratorRequest{Id: x.boss.id})
				return err
			},
		} {
			if err := call(); !fault.Is(err, fault.NotFound) {
				t.Errorf("%s: got %v", name, err)
			}
		}
	})
}

// payload returns the claims of a token as they are sent.
func payload(t *testing.T, raw string) map[string]any {
	t.Helper()
	text, err := base64.RawURLEncoding.DecodeString(strings.Split(raw, ".")[1])
	if err != nil {
		t.Fatal(err)
	}
	var claims map[string]any
	if err := json.Unmarshal(text, &claims); err != nil {
		t.Fatal(err)
	}
	return claims
}

func TestClockInTokens(t *testing.T) {
	t.Parallel()
	r := newWorld(t).start()
	m := r.modes()
	common := []string{"aud", "cid", "cur", "cv", "exp", "gen", "iat", "iss", "jti", "scope", "sub", "typ", "tz"}
	more := map[string][]string{token.KindAdministrator: {"sid"}}
	check := func(what string, tokens map[string]string, clock ...string) {
		for kind, raw := range tokens {
			want := slices.Sorted(slices.Values(slices.Concat(common, more[kind], clock)))
			if got := slices.Sorted(maps.Keys(payload(t, raw))); !slices.Equal(got, want) {
				t.Errorf("%s, %s: the claims are %q, not %q", what, kind, got, want)
			}
		}
	}
	check("in live mode", m.liveTokens)
	check("in test mode, before the clock is advanced", m.testTokens)
	r.mustAdvance(m.test, time.Now().Add(36*time.Hour))
	check("in live mode, afterwards", r.everyToken(m.live, m.boss, m.boss.access))
	after := r.everyToken(m.test, m.boss, m.boss.testAccess)
	check("in test mode, afterwards", after, "clk")
	want := r.read(m.test)
	for kind, raw := range after {
		if got := payload(t, raw); got["clk"] != float64(want.GetClockOffsetSeconds()) || got["cv"] != float64(want.GetVersion()) {
			t.Errorf("%s: got %v, want %v", kind, got, want)
		}
	}
}
