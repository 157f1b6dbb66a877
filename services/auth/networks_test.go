package auth

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/scopes"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

func TestNetworks(t *testing.T) { // invariant 20
	t.Parallel()
	longest := "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255/128"
	if len(longest) > 50 {
		t.Fatal("the proto does not accept the longest network")
	}
	for name, tt := range map[string]struct{ in, want string }{
		"none":                               {"", ""},
		"an IPv4 network":                    {"203.0.113.0/24", "203.0.113.0/24"},
		"an IPv6 network":                    {"2001:db8::/32", "2001:db8::/32"},
		"a single IPv4 address":              {"198.51.100.7", "198.51.100.7/32"},
		"a single IPv6 address":              {"2001:db8::1", "2001:db8::1/128"},
		"an address of the network":          {"203.0.113.77/24", "203.0.113.0/24"},
		"an IPv6 address of the network":     {"2001:db8::ffff/32", "2001:db8::/32"},
		"upper case and zeros":               {"2001:0DB8:0:0::1", "2001:db8::1/128"},
		"a mapped address":                   {"::ffff:198.51.100.7", "198.51.100.7/32"},
		"a mapped network":                   {"::ffff:198.51.100.7/120", "198.51.100.0/24"},
		"every IPv4 address":                 {"::ffff:0:0/96", "0.0.0.0/0"},
		"every IPv6 address":                 {"::/0", "::/0"},
		"the longest":                        {longest, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128"},
		"several, sorted and each once":      {"2001:db8::/32 10.0.0.0/8 10.0.0.0/16 9.9.9.9 10.1.2.3/8", "9.9.9.9/32 10.0.0.0/8 10.0.0.0/16 2001:db8::/32"},
		"a mapped network with IPv6 in it":   {"::ffff:0:0/95", "refused"},
		"a prefix that is too long":          {"203.0.113.0/33", "refused"},
		"a negative prefix":                  {"203.0.113.0/-1", "refused"},
		"a prefix with a sign":               {"203.0.113.0/+8", "refused"},
		"a mask":                             {"203.0.113.0/255.255.255.0", "refused"},
		"an address with a leading zero":     {"203.0.113.07", "refused"},
		"three bytes":                        {"203.0.113/24", "refused"},
		"a zone":                             {"fe80::1%eth0", "refused"},
		"a network with a zone":              {"fe80::1%eth0/64", "refused"},
		"a host name":                        {"studio.example", "refused"},
		"an address with a port":             {"203.0.113.7:443", "refused"},
		"a slash alone":                      {"/", "refused"},
		"a valid network and an invalid one": {"10.0.0.0/8 x", "refused"},
		"twenty":                             {strings.Repeat("10.0.0.1 ", 20), "10.0.0.1/32"},
		"twenty-one, even if one repeats":    {strings.Repeat("10.0.0.1 ", 21), "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			var c checks
			got := c.networks("allowed_networks", strings.Fields(tt.in)).String()
			if c.Err() != nil {
				got = "refused"
			}
			if got != tt.want {
				t.Errorf("got %q, want %q (%v)", got, tt.want, c.Err())
			}
		})
	}
	t.Run("a fault names the entry and what is wrong with it", func(t *testing.T) {
		var c checks
		c.networks("allowed_networks", []string{"10.0.0.0/8", "", "10.0.0.256"})
		f := fault.From(c.Err())
		if len(f.Fields) != 2 || f.Fields[1].Field != "allowed_networks[2]" || !strings.Contains(f.Fields[1].Message, `not "10.0.0.256"`) {
			t.Errorf("got %+v", f.Fields)
		}
	})
}

func FuzzNormalNetwork(f *testing.F) {
	for _, seed := range []string{"10.1.2.3/8", "::ffff:1.2.3.4/100", "fe80::1%x", "1.2.3.4", "/", "::/0", " 2001:db8::1 "} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, given string) {
		network, err := normalNetwork(given)
		if err != nil {
			return
		}
		again, err := normalNetwork(network.String())
		if err != nil || again != network || network != network.Masked() || network.Addr().Is4In6() || network.Addr().Zone() != "" {
			t.Errorf("%q became %v, and that %v, %v", given, network, again, err)
		}
	})
}

func TestTokensFromNetworks(t *testing.T) { // invariants 3 and 20
	t.Parallel()
	r := newWorld(t).start()
	company := r.company()
	const here, elsewhere = "203.0.113.7", "198.51.100.9"
	issue := func(id, secret, address string) (*authv1.IssueTokenResponse, error) {
		return r.tokens.IssueToken(t.Context(), &authv1.IssueTokenRequest{ClientId: id, ClientSecret: secret, ClientAddress: address})
	}
	limited := func(t *testing.T, networks ...string) (id, secret string) {
		t.Helper()
		made, err := r.apiKeys.CreateApiKey(r.as(company), &authv1.CreateApiKeyRequest{Name: "Website", AllowedNetworks: networks})
		if err != nil {
			t.Fatal(err)
		}
		return made.GetApiKey().GetId(), made.GetApiSecret()
	}
	t.Run("are issued only in them, and carry them", func(t *testing.T) {
		key, secret := limited(t, "2001:db8::/32", "203.0.113.0/24")
		for _, address := range []string{here, "::ffff:" + here, "2001:db8::9", "2001:db8::9%eth0"} {
			res, err := issue(key, secret, address)
			if err != nil {
				t.Fatalf("%s: %v", address, err)
			}
			c, err := r.verifier.Verify(t.Context(), res.GetAccessToken())
			if err != nil || c.Networks.String() != "203.0.113.0/24 2001:db8::/32" {
				t.Errorf("%+v, %v", c, err)
			}
		}
		for _, address := range []string{elsewhere, "2001:db9::1", "", "nowhere"} {
			_, err := issue(key, secret, address)
			if f := fault.From(err); f.Kind != fault.Forbidden || f.Reason != fault.ReasonNetworkNotAllowed || !strings.Contains(f.Message, address) {
				t.Errorf("%q: got %v", address, err)
			}
		}
	})
	t.Run("a caller without the secret does not learn of them", func(t *testing.T) {
		key, secret := limited(t, "203.0.113.0/24")
		var answers []string
		for _, c := range [][2]string{{secret + "0", here}, {secret + "0", elsewhere}} {
			_, err := issue(key, c[0], c[1])
			f := fault.From(err)
			answers = append(answers, fmt.Sprint(f.Kind == fault.Unauthenticated, f.Reason, f.Message, f.Meta))
		}
		if answers[0] != answers[1] || !strings.Contains(answers[0], fault.ReasonInvalidCredentials) {
			t.Errorf("got %q", answers)
		}
	})
	t.Run("refusals by network do not count as failures, and do not forgive any", func(t *testing.T) { // and invariant 6
		key, secret := limited(t, "203.0.113.0/24")
		for range 2 * refusedFailures {
			if _, err := issue(key, secret, elsewhere); fault.From(err).Reason != fault.ReasonNetworkNotAllowed {
				t.Fatal(err)
			}
		}
		counted := throttleKey{key, elsewhere}
		if _, wait := r.server.throttle.failed(counted); wait > 0 || r.server.throttle.entries[counted].Value.(*failures).count != 1 {
			t.Error("the refusals were counted")
		}
		for range refusedFailures - 2 {
			r.server.throttle.failed(counted)
		}
		if _, err := issue(key, secret, elsewhere); fault.From(err).Reason != fault.ReasonNetworkNotAllowed {
			t.Fatal(err)
		}
		if _, err := issue(key, "wrong", elsewhere); fault.From(err).Reason != fault.ReasonRateLimitExceeded {
			t.Errorf("the failures were forgiven: %v", err)
		}
	})
	t.Run("a change revokes the tokens, and the same networks do not", func(t *testing.T) {
		client, secret := r.client(company)
		update := func(networks ...string) *authv1.ApiClient {
			res, err := r.clients.UpdateApiClient(r.as(company), &authv1.UpdateApiClientRequest{
				Id: client, AllowedNetworks: &authv1.AllowedNetworks{Values: networks},
			})
			if err != nil {
				t.Fatal(err)
			}
			return res.GetApiClient()
		}
		for _, tt := range []struct {
			networks []string
			revoked  bool
		}{{[]string{here}, true}, {[]string{"::ffff:" + here, here + "/32"}, false}, {nil, true}, {nil, false}} {
			before, err := issue(client, secret, here)
			if err != nil {
				t.Fatal(err)
			}
			update(tt.networks...)
			after, err := issue(client, secret, here)
			if err != nil {
				t.Fatal(err)
			}
			soon(t, func() error {
				if _, err := r.verifier.Verify(t.Context(), after.GetAccessToken()); err != nil {
					return err
				}
				if _, err := r.verifier.Verify(t.Context(), before.GetAccessToken()); (err != nil) != tt.revoked {
					return errors.Join(fmt.Errorf("%v: the token from before: revoked is not %t", tt.networks, tt.revoked), err)
				}
				return nil
			})
		}
		if _, err := r.clients.UpdateApiClient(r.as(company), &authv1.UpdateApiClientRequest{Id: client, AllowedNetworks: &authv1.AllowedNetworks{Values: []string{here}}}); err != nil {
			t.Fatal(err)
		}
		got, err := r.clients.UpdateApiClient(r.as(company), &authv1.UpdateApiClientRequest{Id: client, Name: ptr("Other")})
		if err != nil || strings.Join(got.GetApiClient().GetAllowedNetworks(), " ") != here+"/32" {
			t.Errorf("an update without networks: %v, %v", got, err)
		}
		if log := spelled(r.entries(company, &authv1.ListAuditEntriesRequest{Target: client}))[1]; log != "api_client.update allowed_networks: "+here+"/32" {
			t.Errorf("the audit log has %q", log)
		}
	})
	t.Run("the largest token is accepted", func(t *testing.T) { // which has all scopes and twenty of the longest networks
		var networks []string
		for i := range maxNetworks {
			networks = append(networks, fmt.Sprintf("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ff%02d/128", i+10))
		}
		key, secret := limited(t, networks...)
		res, err := issue(key, secret, netip.MustParsePrefix(networks[7]).Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		c, err := r.verifier.Verify(t.Context(), res.GetAccessToken())
		if err != nil || len(c.Networks) != maxNetworks || len(c.Scopes) != len(scopes.InterfaceB()) {
			t.Errorf("%d bytes: %v, %v", len(res.GetAccessToken()), c, err)
		}
	})
	t.Run("a token without networks has no claim for them", func(t *testing.T) {
		key, secret := limited(t)
		res, err := issue(key, secret, here)
		if err != nil {
			t.Fatal(err)
		}
		payload, err := base64.RawURLEncoding.DecodeString(strings.Split(res.GetAccessToken(), ".")[1])
		if err != nil || strings.Contains(string(payload), `"net"`) {
			t.Errorf("got %s, %v", payload, err)
		}
	})
	t.Run("invalid networks are refused", func(t *testing.T) {
		_, err := r.clients.CreateApiClient(r.as(company), &authv1.CreateApiClientRequest{
			Name: "CRM", Scopes: []string{"profile:read"}, AllowedNetworks: []string{"10.0.0.0/8", "10.0.0.0/99"},
		})
		if fieldsOf(err) != "allowed_networks[1]" {
			t.Errorf("got %v", err)
		}
		_, err = r.clients.CreateApiClient(r.as(company), &authv1.CreateApiClientRequest{
			Name: "CRM", Scopes: []string{"profile:read"}, AllowedNetworks: strings.Fields(strings.Repeat("10.0.0.0/8 ", 21)),
		})
		if fieldsOf(err) != "allowed_networks" {
			t.Errorf("got %v", err)
		}
	})
}
