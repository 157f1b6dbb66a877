package auth

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"reservation.dev/platform/token"
)

// maxNetworks is how many networks a credential can have.
const maxNetworks = 20

// networks checks networks, and returns them in their normal form, sorted and each once.
func (c *checks) networks(field string, in []string) token.Networks {
	out := token.Networks{}
	if !c.Count(field, len(in), 0, maxNetworks) {
		return out
	}
	for i, given := range in {
		network, err := normalNetwork(given)
		if err != nil {
			c.Add(fmt.Sprintf("%s[%d]", field, i), "network", err.Error())
			continue
		}
		out = append(out, network)
	}
	slices.SortFunc(out, netip.Prefix.Compare)
	return slices.Compact(out)
}

var (
	errMappedNetwork = errors.New("must be written as an IPv4 network, without ::ffff:")
	errNetworkZone   = errors.New("an address with a zone")
)

// normalNetwork returns a network in CIDR notation, or a single address, without the bits of hosts. An
// IPv4 network that is mapped to IPv6 becomes an IPv4 network.
func normalNetwork(given string) (netip.Prefix, error) {
	text := strings.TrimSpace(given)
	network, err := parseNetwork(text)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("must be a network such as 203.0.113.0/24 or 2001:db8::/32, or a single address, and not %q", text)
	}
	if network.Addr().Is4In6() {
		if network.Bits() < 96 {
			return netip.Prefix{}, errMappedNetwork
		}
		network = netip.PrefixFrom(network.Addr().Unmap(), network.Bits()-96)
	}
	return network.Masked(), nil
}

func parseNetwork(text string) (netip.Prefix, error) {
	if strings.Contains(text, "/") {
		return netip.ParsePrefix(text)
	}
	addr, err := netip.ParseAddr(text)
	if addr.Zone() != "" {
		return netip.Prefix{}, errNetworkZone
	}
	return netip.PrefixFrom(addr, addr.BitLen()), err
}
