package webhook

import (
	"net/netip"
	"testing"
)

func TestAddresses(t *testing.T) {
	t.Parallel()
	public := []string{"93.184.216.34", "8.8.8.8", "172.15.255.255", "172.32.0.1", "100.63.255.255", "100.128.0.1", "192.0.1.1", "198.20.0.1",
		"223.255.255.255", "2606:4700:4700::1111", "2a00:1450:4001::200e", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1", "168.63.129.15", "168.63.129.17"}
	blocked := []string{"127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254",
		"169.254.170.2", "100.64.0.1", "100.100.100.200", "100.127.255.255", "192.0.0.192", "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.51.100.1",
		"203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "fe80::1", "fe80::1%eth0", "fec0::1", "fc00::1", "fd00:ec2::254",
		"ff02::1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::1", "2002:a9fe:a9fe::1", "2002:c0a8:101::", "2001::1", "2001:db8::1",
		"3fff::1", "100::1", "5f00::1", "2606:4700::1%eth0"}
	metadata := []string{
		"169.254.169.254", "::ffff:169.254.169.254", "::169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1", // most clouds
		"168.63.129.16", "::ffff:168.63.129.16", "::168.63.129.16", "64:ff9b::a83f:8110", "2002:a83f:8110::1", // Azure
		"100.100.100.200", "::ffff:100.100.100.200", "64:ff9b::6464:64c8", "2002:6464:64c8::1", // Alibaba Cloud
		"192.0.0.192", "::ffff:192.0.0.192", "64:ff9b::c000:c0", "2002:c000:c0::1", // Oracle Cloud
		"169.254.170.2", "169.254.170.23", "fd00:ec2::254", "fd00:ec2::23", // AWS
		"fd20:ce::254", // Google Cloud
		"fd00:42::42",  // Scaleway
		"fe80::a9fe:a9fe", "169.254.42.42", "169.254.0.23",
	}
	blocked = append(blocked, metadata...)
	g := &guard{}
	for _, text := range public {
		if err := g.check(netip.MustParseAddr(text)); err != nil {
			t.Errorf("%s is refused: %v", text, err)
		}
	}
	for _, text := range blocked {
		if g.check(netip.MustParseAddr(text)) == nil {
			t.Errorf("%s is let through", text)
		}
	}
	if g.check(netip.Addr{}) == nil || (&guard{private: true}).check(netip.Addr{}) == nil {
		t.Error("no address is accepted")
	}
	development := &guard{private: true}
	for _, text := range []string{"127.0.0.1", "::1", "192.168.1.1", "8.8.8.8"} {
		if err := development.check(netip.MustParseAddr(text)); err != nil {
			t.Errorf("%s is refused in development: %v", text, err)
		}
	}
	for _, text := range metadata {
		if development.check(netip.MustParseAddr(text)) == nil {
			t.Errorf("%s is accepted in development", text)
		}
	}
}

func FuzzURL(f *testing.F) {
	for _, s := range []string{"https://example.com/a?b", "https://127.0.0.1", "https://[::1]:8443/", "http://example.com", "https://u:p@example.com", "https://[::ffff:10.0.0.1]"} {
		f.Add(s)
	}
	g := &guard{}
	f.Fuzz(func(t *testing.T, s string) {
		var c fields
		c.url(s, g)
		if c.Err() != nil {
			return
		}
		if len(s) < len("https://a") || len(s) > maxURL {
			t.Errorf("%q was accepted", s)
		}
	})
}
