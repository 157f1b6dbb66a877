package webhook

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
)

// errBlocked reports an address to which requests are not allowed.
var errBlocked = errors.New("the address is not public")

// guard decides to which addresses requests are allowed.
type guard struct {
	private bool // allows private addresses too, for development
}

// refused returns the ranges that are not public unicast addresses (RFC 6890 and its successors),
// in addition to those that netip knows.
func refused() []netip.Prefix {
	var all []netip.Prefix
	for _, p := range []string{
		"0.0.0.0/8",        // this network
		"10.0.0.0/8",       // private
		"100.64.0.0/10",    // shared, carrier-grade NAT; some clouds' metadata
		"127.0.0.0/8",      // loopback
		"168.63.129.16/32", // Azure's host: it configures the machine that calls it
		"169.254.0.0/16",   // link-local; metadata of most clouds
		"172.16.0.0/12",    // private
		"192.0.0.0/24",     // protocol assignments
		"192.0.2.0/24",     // documentation
		"192.88.99.0/24",   // 6to4 relays
		"192.168.0.0/16",   // private
		"198.18.0.0/15",    // benchmarks
		"198.51.100.0/24",  // documentation
		"203.0.113.0/24",   // documentation
		"224.0.0.0/4",      // multicast
		"240.0.0.0/4",      // reserved, broadcast
	} {
		all = append(all, netip.MustParsePrefix(p))
	}
	return all
}

// The allowed IPv6 addresses: global unicast, without addresses that contain an IPv4 address or are
// reserved for other uses.
var (
	globalUnicast = netip.MustParsePrefix("2000::/3")
	sixToFour     = netip.MustParsePrefix("2002::/16")
	nat64         = netip.MustParsePrefix("64:ff9b::/96")
	compatible    = netip.MustParsePrefix("::/96") // IPv4-compatible, deprecated
	reserved6     = []netip.Prefix{
		netip.MustParsePrefix("2001::/23"),     // protocol assignments, Teredo among them
		netip.MustParsePrefix("2001:db8::/32"), // documentation
		netip.MustParsePrefix("3fff::/20"),     // documentation
	}
	refused4 = refused()
	// cloudHosts give a machine its cloud's credentials and settings. They are refused in
	// development too, in addition to link-local addresses.
	cloudHosts = []netip.Prefix{
		netip.MustParsePrefix("168.63.129.16/32"),   // Azure
		netip.MustParsePrefix("100.100.100.200/32"), // Alibaba Cloud
		netip.MustParsePrefix("192.0.0.192/32"),     // Oracle Cloud
		netip.MustParsePrefix("fd00:ec2::/32"),      // AWS
		netip.MustParsePrefix("fd20:ce::254/128"),   // Google Cloud
		netip.MustParsePrefix("fd00:42::42/128"),    // Scaleway
	}
)

// check returns errBlocked for an address to which requests are not allowed.
func (g *guard) check(a netip.Addr) error {
	if !a.IsValid() {
		return errBlocked
	}
	if g.private {
		if a.IsMulticast() || a.IsUnspecified() || isCloudHost(inner(a)) {
			return fmt.Errorf("%w: %s", errBlocked, a)
		}
		return nil
	}
	if !public(a.WithZone("").Unmap()) || a.Zone() != "" {
		return fmt.Errorf("%w: %s", errBlocked, a)
	}
	return nil
}

// isCloudHost reports whether a cloud serves its metadata at an address.
func isCloudHost(a netip.Addr) bool {
	return a.IsLinkLocalUnicast() || slices.ContainsFunc(cloudHosts, func(p netip.Prefix) bool { return p.Contains(a) })
}

// inner returns the IPv4 address that an IPv6 address contains, or the address itself.
func inner(a netip.Addr) netip.Addr {
	a = a.WithZone("").Unmap()
	if a.Is4() {
		return a
	}
	b := a.As16()
	switch {
	case sixToFour.Contains(a):
		return netip.AddrFrom4([4]byte(b[2:6]))
	case nat64.Contains(a), compatible.Contains(a) && !a.IsLoopback():
		return netip.AddrFrom4([4]byte(b[12:16]))
	}
	return a
}

func public(a netip.Addr) bool {
	if a.Is4() {
		for _, p := range refused4 {
			if p.Contains(a) {
				return false
			}
		}
		return true
	}
	switch {
	case nat64.Contains(a), sixToFour.Contains(a):
		return public(inner(a))
	case !globalUnicast.Contains(a):
		return false // loopback, link-local, unique local, multicast, local NAT64, …
	}
	for _, p := range reserved6 {
		if p.Contains(a) {
			return false
		}
	}
	return true
}
