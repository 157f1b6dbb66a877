package jsontext

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "Zoë O'Brien", `"\`, "\x00\x1f\x7f", "\u2028\u2029", "\xff\xfe", "a\xc3", "<script>&", "日本\n\r\t", "\xf0\x9f\x98"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text := AppendString(nil, s)
		if string(AppendString(nil, []byte(s))) != string(text) {
			t.Fatalf("%q is written differently as bytes and as a string", s)
		}
		var got string
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatalf("%q is written as %s: %v", s, text, err)
		}
		if !utf8.Valid(text) {
			t.Fatalf("%q is written as %q, which is not UTF-8", s, text)
		}
		// As in encoding/json, each byte of invalid UTF-8 becomes one U+FFFD.
		if want := string([]rune(s)); got != want {
			t.Fatalf("%q is read back as %q, want %q", s, got, want)
		}
		if strings.ContainsAny(string(text), "\u2028\u2029") {
			t.Fatalf("%q is written with a line separator", s)
		}
	})
}
