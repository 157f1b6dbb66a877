package token_test

import (
	"net/netip"
	"testing"

	"reservation.dev/devkit/tokentest"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/token"
)

func TestNetworks(t *testing.T) { // invariant 7
	t.Parallel()
	some := token.Networks{netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("fe80::/10")}
	for _, tt := range []struct {
		networks token.Networks
		address  string
		want     bool
	}{
		{nil, "203.0.113.7", true}, {nil, "nowhere", true}, {nil, "", true}, {token.Networks{}, "203.0.113.7", true},
		{some, "203.0.113.7", true}, {some, "::ffff:203.0.113.7", true}, {some, "203.0.114.0", false},
		{some, "2001:db8:ffff::1", true}, {some, "2001:db9::1", false}, {some, "fe80::1%eth0", true},
		{some, "", false}, {some, "nowhere", false}, {some, "203.0.113.7:443", false},
		{token.Networks{netip.Prefix{}}, "203.0.113.7", false}, {token.Networks{netip.Prefix{}}, "nowhere", false},
	} {
		err := tt.networks.Check(tt.address)
		if f := fault.From(err); (err == nil) != tt.want || !tt.want && (f.Kind != fault.Forbidden || f.Reason != fault.ReasonNetworkNotAllowed) {
			t.Errorf("%v in %q: got %v", tt.address, tt.networks, err)
		}
	}
}

func TestNetworksInTokens(t *testing.T) { // invariant 7
	t.Parallel()
	issuer := tokentest.New(t)
	t.Run("are those of the credential", func(t *testing.T) {
		want := token.Networks{netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("2001:db8::1/128")}
		got, err := issuer.Verifier.Verify(t.Context(), issuer.Sign(token.Claims{Company: id.New[id.Company](), Networks: want}))
		if err != nil || got.Networks.String() != want.String() {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}
