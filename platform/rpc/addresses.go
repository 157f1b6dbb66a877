package rpc

import (
	"fmt"
	"net"
	"strings"

	"google.golang.org/grpc/resolver"
)

// listScheme is that of the targets which addressList resolves.
const listScheme = "list"

// addressList is the resolver of targets that name several processes. It belongs
// to one connection.
type addressList struct {
	addresses []resolver.Address
}

// parseAddresses reads "host:port,host:port". Each has its own name in a TLS
// handshake.
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

// OverrideAuthority implements resolver.AuthorityOverrider: a list is no authority.
func (l addressList) OverrideAuthority(resolver.Target) string { return l.addresses[0].Addr }

// Build implements resolver.Builder.
func (l addressList) Build(_ resolver.Target, cc resolver.ClientConn, _ resolver.BuildOptions) (resolver.Resolver, error) {
	return l, cc.UpdateState(resolver.State{Addresses: l.addresses})
}

// ResolveNow implements resolver.Resolver: a list does not change.
func (addressList) ResolveNow(resolver.ResolveNowOptions) {}

// Close implements resolver.Resolver.
func (addressList) Close() {}
