package edge

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"reservation.dev/platform/bounds"
	"reservation.dev/platform/fault"
)

func TestInt(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		want int32
		rule string
	}{
		"0": {0, ""}, "30": {30, ""}, "-1": {-1, ""}, "2147483647": {2147483647, ""}, "+5": {5, ""},
		"2147483648": {0, "range"}, "99999999999999999999999": {0, "range"}, "-99999999999999999999999": {0, "range"},
		"": {0, "type"}, "x": {0, "type"}, "1.5": {0, "type"}, "1e3": {0, "type"}, " 1": {0, "type"}, "-": {0, "type"}, "0x10": {0, "type"}, "１": {0, "type"}, "1-2": {0, "type"},
	}
	for in, tt := range tests {
		t.Run("reads "+in, func(t *testing.T) {
			var q Query
			got, err := q.Int("page", &in), q.Err()
			if tt.rule == "" {
				if err != nil || *got != tt.want {
					t.Fatalf("got %v, %v, want %d", got, err, tt.want)
				}
				return
			}
			f := fault.From(err)
			if f == nil || f.Reason != fault.ReasonInvalidParameter || f.Fields[0].Field != "page" || f.Fields[0].Rule != tt.rule {
				t.Fatalf("got %v, %v, want the rule %s", got, err, tt.rule)
			}
		})
	}
	t.Run("an absent parameter is nil", func(t *testing.T) {
		var q Query
		if got := q.Int("page", nil); got != nil || q.Err() != nil {
			t.Fatalf("got %v, %v", got, q.Err())
		}
	})
}

func TestPageSize(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		want int32
		rule string
	}{
		"30": {30, ""}, "-1": {-1, ""}, "2147483648": {2147483647, ""}, "99999999999999999999999": {2147483647, ""},
		"-99999999999999999999999": {0, "range"}, "-2147483649": {0, "range"}, "": {0, "type"}, "1e99": {0, "type"},
	}
	for in, tt := range tests {
		t.Run("reads "+in, func(t *testing.T) {
			var q Query
			got, err := q.PageSize("pageSize", &in), q.Err()
			if tt.rule == "" {
				if err != nil || *got != tt.want {
					t.Fatalf("got %v, %v, want %d", got, err, tt.want)
				}
				return
			}
			if f := fault.From(err); f == nil || f.Fields[0].Field != "pageSize" || f.Fields[0].Rule != tt.rule {
				t.Fatalf("got %v, %v, want the rule %s", got, err, tt.rule)
			}
		})
	}
	t.Run("an absent parameter is nil", func(t *testing.T) {
		var q Query
		if got := q.PageSize("pageSize", nil); got != nil || q.Err() != nil {
			t.Fatalf("got %v, %v", got, q.Err())
		}
	})
}

func TestInstant(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"2026-03-29T08:30:00Z", "2026-03-29T09:30:00+01:00", "2026-03-29T09:30:00 01:00", "2026-03-29T08:30:00.5Z"} {
		var q Query
		if q.Instant("updated_since", &in); q.Err() != nil {
			t.Errorf("%q: %v", in, q.Err())
		}
	}
	for _, in := range []string{"", "2026-03-29", "yesterday", "2026-02-30T00:00:00Z", "0000-01-01T00:00:00Z"} {
		var q Query
		if q.Instant("updated_since", &in); !fault.Is(q.Err(), fault.Invalid) {
			t.Errorf("%q: got %v, want it refused", in, q.Err())
		}
	}
}

func TestQueryKeepsTheFirstFault(t *testing.T) {
	t.Parallel()
	bad, good := "x", "5"
	var q Query
	size := q.Int("perPage", &good)
	q.Int("page", &bad)
	q.Bool("archived", &bad)
	if f := fault.From(q.Err()); f == nil || f.Fields[0].Field != "page" || size == nil || *size != 5 {
		t.Errorf("got %v and the fault %v", size, f)
	}
}

func TestClientAddress(t *testing.T) {
	t.Parallel()
	var trusted Proxies
	if err := trusted.UnmarshalText([]byte("10.0.0.0/8, ::1/128")); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		peer, forwarded, want string
	}{
		"the header of an untrusted peer is ignored":     {"203.0.113.9:99", "198.51.100.1", "203.0.113.9"},
		"a trusted proxy names the client":               {"10.1.2.3:99", "198.51.100.1", "198.51.100.1"},
		"a client cannot add an address in front":        {"10.1.2.3:99", "1.1.1.1, 198.51.100.1, 10.9.9.9", "198.51.100.1"},
		"an invalid address from a proxy ends the chain": {"10.1.2.3:99", "nonsense", "10.1.2.3"},
		"a proxy that sends no header is the client":     {"[::1]:99", "", "::1"},
		"an IPv4 address in IPv6 notation becomes IPv4":  {"[::ffff:203.0.113.9]:99", "", "203.0.113.9"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := &http.Request{RemoteAddr: tt.peer, Header: http.Header{}}
			if tt.forwarded != "" {
				r.Header.Set("X-Forwarded-For", tt.forwarded)
			}
			if got := trusted.ClientAddress(r); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
	t.Run("refuses an invalid network", func(t *testing.T) {
		var p Proxies
		if err := p.UnmarshalText([]byte("10.0.0.0/99")); err == nil {
			t.Error("accepted")
		}
	})
}

func TestReadQuery(t *testing.T) {
	t.Parallel()
	for raw, ok := range map[string]bool{
		"": true, "page=1": true, "another=1&another=2": true, "page=": true,
		"page=1&page=2": false, "page=%zz": false, "page=%ff": false, "page=%00": false, "page=1;x=2": false,
		"page=" + strings.Repeat("1", 5): true, "page=" + strings.Repeat("1", 6): false,
		"other=" + strings.Repeat("1", 100): true, "other=" + strings.Repeat("1", 101): false,
	} {
		t.Run(raw, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/?"+raw, nil)
			if err := readQuery(r, &Route{Query: []string{"page", "other"}}, map[string]bounds.Bound{"page": {Characters: 5}}); (err == nil) != ok {
				t.Fatalf("got %v", err)
			}
		})
	}
}

func TestExpectedVersion(t *testing.T) {
	t.Parallel()
	for tag, want := range map[string]int64{
		`"7"`: 7, `"x"`: -1, `7`: -1, `W/"7"`: -1, `"7`: -1, `"`: -1, `""`: -1, `"-1"`: -1,
		`"5", "7"`: 7, `"7","x"`: 7, `"7" , "5"`: 7, `W/"9", "7"`: 7, `"a,b", "7"`: 7, `*, "x"`: -1,
		`"7-00ff00ff00ff00ff"`: 7, `"7-00ff00ff00ff00ff-gzip"`: 7, `"0-00ff00ff00ff00ff"`: 0, `"7-"`: 7, `"-7"`: -1, `"-"`: -1, `W/"7-00ff00ff00ff00ff"`: -1,
	} {
		ctx := context.WithValue(t.Context(), exchangeKey{}, &exchange{request: http.Header{"If-Match": {tag}}})
		if got := ExpectedVersion(ctx); got == nil || *got != want {
			t.Errorf("If-Match: %s: got %v, want %d", tag, got, want)
		}
	}
	lines := &exchange{request: http.Header{"If-Match": {`"x"`, `"7"`}}}
	if got := ExpectedVersion(context.WithValue(t.Context(), exchangeKey{}, lines)); got == nil || *got != 7 {
		t.Errorf("two lines of If-Match: got %v, want 7", got)
	}
	for _, tag := range []string{"", "*"} {
		ctx := context.WithValue(t.Context(), exchangeKey{}, &exchange{request: http.Header{"If-Match": {tag}}})
		if got := ExpectedVersion(ctx); got != nil {
			t.Errorf("If-Match: %q: got %d, want any", tag, *got)
		}
	}
}

func FuzzReadQuery(f *testing.F) {
	f.Add("page=1&pageSize=%zz")
	f.Add("startDate=2026-01-01T00:00:00+01:00")
	f.Fuzz(func(t *testing.T, raw string) {
		if strings.ContainsAny(raw, " \n\r#") {
			return
		}
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL.RawQuery = raw
		if err := readQuery(r, &Route{Query: []string{"page", "startDate"}}, nil); err != nil {
			if !fault.Is(err, fault.Invalid) {
				t.Fatalf("%q: %v", raw, err)
			}
			return
		}
		for name := range r.Form {
			if name != "page" && name != "startDate" {
				t.Fatalf("%q let %q through", raw, name)
			}
		}
	})
}
