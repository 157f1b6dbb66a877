package webhook

import (
	"net/netip"
	"regexp"
	"slices"
	"testing"
)

func TestTheChartsNetworkPolicyExcludesTheSameAddresses(t *testing.T) {
	t.Parallel()
	text := string(readFile("../../deploy/helm/reservation/templates/_network.tpl"))
	var listed []netip.Prefix
	for _, m := range regexp.MustCompile(`(?m)^ +- ([0-9.]+/[0-9]+) `).FindAllStringSubmatch(text, -1) {
		listed = append(listed, netip.MustParsePrefix(m[1]))
	}
	compare := func(a, b netip.Prefix) int { return a.Addr().Compare(b.Addr()) }
	want := refused()
	slices.SortFunc(listed, compare)
	slices.SortFunc(want, compare)
	if !slices.Equal(listed, want) {
		t.Errorf("the chart excludes %v, the service refuses %v", listed, want)
	}
}
