package edge

import (
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"reservation.dev/platform/fault"
)

// FuzzQueryValues checks that each value is either read correctly or refused with a fault that names
// the parameter.
func FuzzQueryValues(f *testing.F) {
	for _, s := range []string{
		"", "0", "-1", "+5", "007", "2147483648", "-99999999999999999999", "1-2", "--1", "１", "1_000", "0x10",
		"true", "false", "TRUE", "False", "fal\u017fe", "1", "t", "2026-03-29T08:30:00Z", "2026-03-29T09:30:00 01:00", "2026-03-29T08:30:00.123456789+14:00",
		"0000-01-01T00:00:00Z", "2026-02-30T00:00:00Z", "9999-12-31T23:59:60Z", "2026-03-29T24:00:00Z", "\x00", "\xff",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		refused := func(name string, err error) bool {
			if err == nil {
				return false
			}
			e := fault.From(err)
			if e.Kind != fault.Invalid || e.Reason != fault.ReasonInvalidParameter || len(e.Fields) != 1 || e.Fields[0].Field != name || !utf8.ValidString(e.Message) {
				t.Fatalf("%s=%q: %v", name, s, err)
			}
			return true
		}
		var page, archived, since Query
		n := page.Int("page", &s)
		if !refused("page", page.Err()) {
			if want, err := strconv.ParseInt(s, 10, 32); err != nil || want != int64(*n) {
				t.Fatalf("%q is read as %d", s, *n)
			}
		}
		b := archived.Bool("archived", &s)
		if !refused("archived", archived.Err()) && strconv.FormatBool(*b) != strings.ToLower(s) {
			t.Fatalf("%q is read as %t", s, *b)
		}
		at := since.Instant("since", &s)
		if !refused("since", since.Err()) {
			written := at.AsTime().Format(time.RFC3339Nano)
			again := since.Instant("since", &written)
			if since.Err() != nil || !again.AsTime().Equal(at.AsTime()) {
				t.Fatalf("%q is read as %s, and that as %v (%v)", s, written, again, since.Err())
			}
		}
	})
}

// FuzzClientAddress checks that no header makes an untrusted peer a trusted proxy, and that the client
// is always an address from the request.
func FuzzClientAddress(f *testing.F) {
	trusted := Proxies{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	for _, s := range []string{"", "198.51.100.1", "1.1.1.1, 10.9.9.9", "10.1.1.1,10.2.2.2", "nonsense", ",,", "::ffff:10.0.0.1", "fe80::1%eth0", "[::1]:80", "\x00"} {
		f.Add("10.1.2.3:99", s)
		f.Add("203.0.113.9:99", s)
		f.Add("[::1]:99", s)
	}
	f.Add("@", "198.51.100.1")
	f.Fuzz(func(t *testing.T, peer, forwarded string) {
		r := &http.Request{RemoteAddr: peer, Header: http.Header{"X-Forwarded-For": {forwarded}}}
		got := trusted.ClientAddress(r)
		own := trusted.ClientAddress(&http.Request{RemoteAddr: peer, Header: http.Header{}})
		if got == own {
			return
		}
		addr, err := netip.ParseAddr(own)
		if err != nil || !trusted.trusts(addr) {
			t.Fatalf("%q from %q is trusted: %q", forwarded, peer, got)
		}
		for item := range strings.SplitSeq(forwarded, ",") {
			if named, err := netip.ParseAddr(strings.TrimSpace(item)); err == nil && named.Unmap().String() == got {
				return
			}
		}
		t.Fatalf("%q from %q is read as %q", forwarded, peer, got)
	})
}
