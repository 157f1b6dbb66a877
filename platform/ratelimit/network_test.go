package ratelimit_test

import (
	"testing"

	"reservation.dev/platform/ratelimit"
)

// TestNetwork compares addresses: an IPv6 /64 is one network.
func TestNetwork(t *testing.T) {
	t.Parallel()
	for _, same := range [][2]string{
		{"2001:db8::1", "2001:db8::ffff:1"}, {"192.0.2.1", "::ffff:192.0.2.1"}, {"fe80::1%eth0", "fe80::2"},
	} {
		if ratelimit.Network(same[0]) != ratelimit.Network(same[1]) {
			t.Errorf("%v are two", same)
		}
	}
	for _, others := range [][2]string{{"2001:db8::1", "2001:db8:0:1::1"}, {"192.0.2.1", "192.0.2.2"}, {"", "x"}} {
		if ratelimit.Network(others[0]) == ratelimit.Network(others[1]) {
			t.Errorf("%v are one", others)
		}
	}
}
