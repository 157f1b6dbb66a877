package token

import (
	"cmp"
	"net/netip"
	"strings"

	"reservation.dev/platform/fault"
)

// Networks are the networks from which a credential and its tokens can be used; empty means every
// network. The addresses of IPv4 networks are not mapped to IPv6.
type Networks []netip.Prefix

// Check returns a NETWORK_NOT_ALLOWED fault unless the networks contain the IP address. An address
// that cannot be read is in no network.
func (n Networks) Check(address string) error {
	if len(n) == 0 {
		return nil
	}
	addr, err := netip.ParseAddr(address)
	addr = addr.Unmap().WithZone("")
	for _, network := range n {
		if err == nil && network.Contains(addr) {
			return nil
		}
	}
	address = cmp.Or(address, "(unknown)")
	return fault.New(fault.Forbidden, fault.ReasonNetworkNotAllowed, "the address "+address+
		" is not in the allowed networks of this credential; call from one of them, or have the address added").With("address", address)
}

// String returns the networks in CIDR notation, separated by spaces.
func (n Networks) String() string { return strings.Join(n.Texts(), " ") }

// Texts returns the networks in CIDR notation.
func (n Networks) Texts() []string {
	texts := make([]string, len(n))
	for i, network := range n {
		texts[i] = network.String()
	}
	return texts
}
