package edge

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	edgeav1 "reservation.dev/proto/gen/reservation/edge/a/v1"
)

func TestAppendJSON(t *testing.T) {
	gross := int64(9007199254740993) // beyond what a float64 holds
	zero := int32(0)
	tests := map[string]struct {
		in   *edgeav1.Booking
		want string
	}{
		"an unset message is absent, everything else is present": {
			&edgeav1.Booking{},
			`{"id":"","type":"","is_cancelled":false,"is_refunded":false,"spaces":0}`,
		},
		"numbers are numbers, of any size": {
			&edgeav1.Booking{Payment: &edgeav1.Payment{Method: "CARD", Base100GrossPrice: &gross}},
			`{"id":"","type":"","is_cancelled":false,"is_refunded":false,"spaces":0,"payment":{"method":"CARD","currency":"","base100gross_price":9007199254740993}}`,
		},
		"a set optional field is present though it is zero": {
			&edgeav1.Booking{Payment: &edgeav1.Payment{CreditsUsed: &zero}},
			`{"id":"","type":"","is_cancelled":false,"is_refunded":false,"spaces":0,"payment":{"method":"","currency":"","credits_used":0}}`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := string(AppendJSON(nil, tt.in)); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
	t.Run("an empty list is an empty array", func(t *testing.T) {
		if got, want := string(AppendJSON(nil, &edgeav1.ListBookingsResponse{})), `{"data":[],"total":0,"page":0,"pageSize":0}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "Zoë O'Brien", `"\`, "\x00\x1f\x7f", "\u2028\u2029", "\xff\xfe", "a\xc3", "<script>&", "日本\n\r\t"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text := AppendString(nil, s)
		var got string
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatalf("%q is written as %s: %v", s, text, err)
		}
		if !utf8.Valid(text) {
			t.Fatalf("%q is written as %q, which is not UTF-8", s, text)
		}
		// Each byte that is no UTF-8 becomes one U+FFFD, as encoding/json has it.
		want := string([]rune(s))
		if got != want {
			t.Fatalf("%q is read back as %q, want %q", s, got, want)
		}
		if strings.ContainsAny(string(text), "\u2028\u2029") {
			t.Fatalf("%q is written with a line separator", s)
		}
	})
}
