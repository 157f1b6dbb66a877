package docs

import (
	"net/netip"
	"regexp"
	"testing"

	"reservation.dev/test/harness"
)

// TestComposeTrustsItsProxyOnly reads docker-compose.yml, which needs no Docker.
func TestComposeTrustsItsProxyOnly(t *testing.T) {
	text := harness.File(t, "docker-compose.yml")
	find := func(what, pattern string) string {
		t.Helper()
		m := regexp.MustCompile(pattern).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("docker-compose.yml has no %s of the form %s", what, pattern)
		}
		return m[1]
	}
	trusted := netip.MustParsePrefix(find("TRUSTED_PROXIES", `TRUSTED_PROXIES: \$\{TRUSTED_PROXIES:-\$\{PROXY_ADDRESS:-([0-9.]+)\}/32\}`) + "/32")
	proxy := netip.MustParseAddr(find("address of the proxy", `\n  proxy:\n(?:    .*\n)*?    networks: \{ front: \{ ipv4_address: "\$\{PROXY_ADDRESS:-([0-9.]+)\}" \} \}`))
	subnet := netip.MustParsePrefix(find("FRONT_SUBNET", `subnet: "\$\{FRONT_SUBNET:-([0-9./]+)\}"`))
	others := netip.MustParsePrefix(find("FRONT_RANGE", `ip_range: "\$\{FRONT_RANGE:-([0-9./]+)\}"`))
	if trusted.Addr() != proxy {
		t.Errorf("%s is trusted, the proxy is %s", trusted, proxy)
	}
	if !subnet.Contains(proxy) || !subnet.Overlaps(others) || others.Bits() <= subnet.Bits() {
		t.Errorf("%s and %s are not in %s", proxy, others, subnet)
	}
	if others.Contains(proxy) {
		t.Errorf("another container may get the proxy's address %s of %s", proxy, others)
	}
}
