package ratelimit

import "net/netip"

// Network returns the range of addresses that one caller has: an IPv4 address, or an IPv6 /64. It
// returns anything else unchanged.
func Network(address string) string {
	parsed, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	parsed = parsed.Unmap().WithZone("")
	if parsed.Is4() {
		return parsed.String()
	}
	return netip.PrefixFrom(parsed, 64).Masked().String()
}
