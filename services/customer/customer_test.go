package customer

import (
	"strings"
	"testing"
	"time"

	"reservation.dev/platform/check"
)

func TestEmail(t *testing.T) {
	good := []string{"a@example.com", "zoë@bücher.example", "o'brien+yoga@mail.example.co.uk", "李@例子.公司", "a.b-c_d@x-y.example", strings.Repeat("a", 64) + "@example.com"}
	bad := []string{"", " ", "a", "a@", "@b.example", "a@b", "a b@example.com", "a@exa mple.com", "Zoë <z@example.com>", "a@example.com, b@example.com",
		"a@@example.com", "a@example..com", "a@.example.com", "a@-x.example", "a@example.com\x00", "a@[127.0.0.1]", "a@ex_ample.com", "\"a\"@", strings.Repeat("a", 250) + "@example.com"}
	for _, s := range good {
		t.Run("accepts "+s, func(t *testing.T) {
			var f check.Fields
			if got := f.Email("email", "  "+s+"\t"); got != s || f.Err() != nil {
				t.Errorf("got %q, %v", got, f.Err())
			}
		})
	}
	for _, s := range bad {
		t.Run("refuses "+s, func(t *testing.T) {
			var f check.Fields
			if f.Email("email", s); f.Err() == nil {
				t.Error("it was taken")
			}
		})
	}
}

func TestText(t *testing.T) {
	tests := map[string]struct{ in, rule string }{
		"a name":                {"Zoë", ""},
		"a name of 100 letters": {strings.Repeat("é", 100), ""},
		"white space around":    {"\t Zoë \n", ""},
		"nothing":               {"", "required"},
		"white space":           {" \u00a0\u2003 ", "required"},
		"101 letters":           {strings.Repeat("é", 101), "max_length"},
		"a NUL":                 {"a\x00b", "characters"},
		"a line break":          {"a\nb", "characters"},
		"a C1 control":          {"a\u0085b", "characters"},
		"invalid UTF-8":         {"a\xffb", "characters"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var f check.Fields
			f.Line("first_name", tt.in, 1, maxName)
			got := ""
			if f.Len() > 0 {
				got = f.List()[0].Rule
			}
			if got != tt.rule {
				t.Errorf("got the rule %q, want %q", got, tt.rule)
			}
		})
	}
}

func TestApply(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	fields := func(pairs ...string) Change {
		c := Change{Fields: map[string]string{}}
		for i := 0; i < len(pairs); i += 2 {
			c.Fields[pairs[i]] = pairs[i+1]
		}
		return c
	}
	yes := true
	base := Customer{FirstName: "A", LastName: "B", Email: "c@example.com", Mobile: "1", Version: 4}
	tests := map[string]struct {
		change  Change
		want    Customer
		changed bool
	}{
		"nothing set changes nothing":    {Change{}, base, false},
		"the same values change nothing": {fields("first_name", "A", "mobile", "1"), base, false},
		"only what is set changes":       {fields("email", "d@example.com"), Customer{FirstName: "A", LastName: "B", Email: "d@example.com", Mobile: "1", Version: 5, UpdatedAt: now}, true},
		"an empty mobile clears":         {fields("mobile", ""), Customer{FirstName: "A", LastName: "B", Email: "c@example.com", Version: 5, UpdatedAt: now}, true},
		"archiving is a change":          {Change{Archived: &yes}, Customer{FirstName: "A", LastName: "B", Email: "c@example.com", Mobile: "1", Archived: true, Version: 5, UpdatedAt: now}, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := base
			if changed := got.Apply(tt.change, now); changed != tt.changed || got != tt.want {
				t.Errorf("got %+v, %v, want %+v", got, changed, tt.want)
			}
		})
	}
}
