package check_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

func TestRules(t *testing.T) {
	year := func(y int) time.Time { return time.Date(y, 6, 1, 0, 0, 0, 0, time.UTC) }
	for _, c := range []struct {
		name  string
		check func(f *check.Fields)
		rule  string // the rule that the value breaks, or ""
	}{
		{"a line is trimmed before it is measured", func(f *check.Fields) { f.Line("x", "  ab ", 1, 2) }, ""},
		{"a line counts characters and not bytes", func(f *check.Fields) { f.Line("x", "Łódź", 1, 4) }, ""},
		{"a line of spaces counts as missing", func(f *check.Fields) { f.Line("x", "  ", 1, 2) }, "required"},
		{"a line that is too short", func(f *check.Fields) { f.Line("x", "a", 2, 3) }, "min_length"},
		{"a line that is too long", func(f *check.Fields) { f.Line("x", "abc", 1, 2) }, "max_length"},
		{"an optional line can be empty", func(f *check.Fields) { f.Line("x", "", 0, 2) }, ""},
		{"a line must not have a line break", func(f *check.Fields) { f.Line("x", "a\nb", 1, 9) }, "characters"},
		{"a line must be valid UTF-8", func(f *check.Fields) { f.Line("x", "a\xff", 1, 9) }, "characters"},
		{"prose can have line breaks and tabs", func(f *check.Fields) { f.Prose("x", "a\r\n\tb", 0, 9) }, ""},
		{"prose must not have other control characters", func(f *check.Fields) { f.Prose("x", "a\x00b", 0, 9) }, "characters"},
		{"untrimmed text counts the spaces around it", func(f *check.Fields) { f.Untrimmed("x", "abcd ", 0, 4) }, "max_length"},
		{"untrimmed text can be only spaces", func(f *check.Fields) { f.Untrimmed("x", " ", 1, 4) }, ""},
		{"a number within its range", func(f *check.Fields) { f.Range("x", 3, 1, 3) }, ""},
		{"a number beyond its range", func(f *check.Fields) { f.Range("x", 4, 1, 3) }, "range"},
		{"too few items", func(f *check.Fields) { f.Count("x", 0, 1, 2) }, "required"},
		{"too many items", func(f *check.Fields) { f.Count("x", 3, 1, 2) }, "max_items"},
		{"a known name", func(f *check.Fields) { f.OneOf("x", "b", []string{"a", "b"}) }, ""},
		{"an unknown name", func(f *check.Fields) { f.OneOf("x", "c", []string{"a", "b"}) }, "enum"},
		{"a time zone", func(f *check.Fields) { f.Timezone("x", "Europe/London") }, ""},
		{"no time zone", func(f *check.Fields) { f.Timezone("x", "") }, "required"},
		{"the machine's own zone", func(f *check.Fields) { f.Timezone("x", "Local") }, "timezone"},
		{"a currency", func(f *check.Fields) { f.Currency("x", "EUR") }, ""},
		{"no currency", func(f *check.Fields) { f.Currency("x", "") }, "required"},
		{"a currency that is not supported", func(f *check.Fields) { f.Currency("x", "XXX") }, "enum"},
		{"an instant", func(f *check.Fields) { f.Instant("x", year(2026)) }, ""},
		{"no instant", func(f *check.Fields) { f.Instant("x", time.Time{}) }, "required"},
		{"an instant after the year 9999", func(f *check.Fields) { f.Instant("x", year(10000)) }, "range"},
		{"half a second", func(f *check.Fields) { f.Second("x", year(2026).Add(time.Second/2)) }, "precision"},
		{"an e-mail address", func(f *check.Fields) { f.Email("x", " ada@example.org ") }, ""},
		{"an address with letters outside of ASCII", func(f *check.Fields) { f.Email("x", "björk@bücher.example") }, ""},
		{"no e-mail address", func(f *check.Fields) { f.Email("x", "") }, "required"},
		{"an address with a name", func(f *check.Fields) { f.Email("x", "Ada <ada@example.org>") }, "email"},
		{"two addresses", func(f *check.Fields) { f.Email("x", "a@example.org, b@example.org") }, "email"},
		{"a domain without a dot", func(f *check.Fields) { f.Email("x", "ada@example") }, "email"},
		{"a domain with an empty label", func(f *check.Fields) { f.Email("x", "ada@example..org") }, "email"},
		{"an address of 255 bytes", func(f *check.Fields) { f.Email("x", strings.Repeat("ä", 122)+"@example.de") }, "max_length"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var f check.Fields
			c.check(&f)
			rule := ""
			for _, failed := range f.List() {
				rule += failed.Rule
			}
			if rule != c.rule {
				t.Errorf("rule %q, want %q", rule, c.rule)
			}
		})
	}
}

func TestBound(t *testing.T) {
	if at, err := check.Bound("since", nil); err != nil || !at.IsZero() {
		t.Errorf("a bound that is not given: %v, %v", at, err)
	}
	want := time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC)
	if at, err := check.Bound("since", timestamppb.New(want)); err != nil || !at.Equal(want) {
		t.Errorf("a bound: %v, %v", at, err)
	}
	for _, bad := range []*timestamppb.Timestamp{{Nanos: -1}, {Seconds: 1 << 40}, timestamppb.New(time.Date(9999, 12, 31, 12, 0, 0, 0, time.UTC))} {
		if _, err := check.Bound("since", bad); !fault.Is(err, fault.Invalid) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

func TestID(t *testing.T) {
	want := id.New[id.Customer]()
	if got, err := check.ID[id.Customer](want.String(), "customer"); err != nil || got != want {
		t.Errorf("got %v, %v", got, err)
	}
	for _, bad := range []string{"", "x", id.New[id.Event]().String(), id.NewUUID().String()} {
		if _, err := check.ID[id.Customer](bad, "customer"); !errors.Is(err, fault.Missing("customer")) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestAfter(t *testing.T) {
	t.Parallel()
	known := id.New[id.Customer]()
	for text, want := range map[string]id.Customer{"": {}, known.String(): known} {
		if got, err := check.After[id.Customer]("after_id", text); err != nil || got != want {
			t.Errorf("%q is read as %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"x", id.New[id.Booking]().String()} {
		_, err := check.After[id.Customer]("after_id", text)
		if !fault.Is(err, fault.Invalid) {
			t.Errorf("%q is read with %v", text, err)
		}
	}
}

func TestVersion(t *testing.T) {
	if err := check.Version(3, nil, "event"); err != nil {
		t.Error(err)
	}
	if err := check.Version(3, new(int64(3)), "event"); err != nil {
		t.Error(err)
	}
	var f *fault.Error
	if err := check.Version(3, new(int64(2)), "event"); !errors.As(err, &f) || f.Kind != fault.VersionMismatch || f.Meta["version"] != "3" {
		t.Errorf("an earlier version: %v", err)
	}
}
