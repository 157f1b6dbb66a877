package edge

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Proxies are the networks of proxies whose X-Forwarded-For is trusted.
type Proxies []netip.Prefix

// UnmarshalText reads networks in CIDR notation, separated by commas.
func (p *Proxies) UnmarshalText(text []byte) error {
	*p = nil
	for item := range strings.SplitSeq(string(text), ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		network, err := netip.ParsePrefix(item)
		if err != nil {
			return fmt.Errorf("%q is not a network in CIDR notation", item)
		}
		*p = append(*p, network.Masked())
	}
	return nil
}

// ClientAddress returns the IP address of the client. It is the address of the peer or, if the peer
// is a trusted proxy, the last address in X-Forwarded-For that is not a trusted proxy.
func (p Proxies) ClientAddress(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	forwarded := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(forwarded) - 1; i >= 0 && p.trusts(addr); i-- {
		next, err := netip.ParseAddr(strings.TrimSpace(forwarded[i]))
		if err != nil {
			break
		}
		addr = next
	}
	return addr.Unmap().String()
}

func (p Proxies) trusts(addr netip.Addr) bool {
	addr = addr.Unmap()
	for _, network := range p {
		if network.Contains(addr) {
			return true
		}
	}
	return false
}
