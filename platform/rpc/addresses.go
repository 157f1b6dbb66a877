package rpc

import (
	"fmt"
	"net"
	"strings"

	"google.golang.org/grpc/resolver"
)

// listScheme is the scheme of the targets that addressList resolves.
const listScheme = "list"

// addressList resolves the target of one connection to several addresses.
type addressList struct {
	addresses []resolver.Address
}

// parseAddresses reads "host:port,host:port". In a TLS handshake, each address is its own server name.
func parseAddresses(text string) (addressList, error) {
	var l addressList
	for addr := range strings.SplitSeq(text, ",") {
		addr = strings.TrimSpace(addr)
		if host, port, err := net.SplitHostPort(addr); err != nil || host == "" || port == "" {
			return l, fmt.Errorf("%q of the list %q is not host:port", addr, text)
		}
		l.addresses = append(l.addresses, resolver.Address{Addr: addr, ServerName: addr})
	}
	return l, nil
}

// Scheme implements resolver.Builder.
func (addressList) Scheme() string { return listScheme }

// OverrideAuthority implements resolver.AuthorityOverrider. It returns the first address, because a
// list is not a valid authority.
func (l addressList) OverrideAuthority(resolver.Target) string { return l.addresses[0].Addr }

// Build implements resolver.Builder.
func (l addressList) Build(_ resolver.Target, cc resolver.ClientConn, _ resolver.BuildOptions) (resolver.Resolver, error) {
	return l, cc.UpdateState(resolver.State{Addresses: l.addresses})
}

// ResolveNow implements resolver.Resolver. It does nothing, because a list does not change.
func (addressList) ResolveNow(resolver.ResolveNowOptions) {}

// Close implements resolver.Resolver.
func (addressList) Close() {}
