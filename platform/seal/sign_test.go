package seal

import (
	"bytes"
	"encoding/base64"
	"slices"
	"testing"

	"reservation.dev/platform/config"
)

func TestSigner(t *testing.T) {
	t.Parallel()
	key := func(b byte) string { return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{b}, KeySize)) }
	signer := func(master, purpose string) *Signer {
		t.Helper()
		s, err := ParseSigner(config.Secret(master), purpose)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	text := []byte("a company and an item")
	signed := signer(key(1), "links").Sign(slices.Clone(text))
	for name, tt := range map[string]struct {
		master, purpose string
		want            bool
	}{
		"opens what it has signed":                 {key(1), "links", true},
		"opens what an earlier key has signed":     {key(2) + "," + key(1), "links", true},
		"refuses the signature of another key":     {key(2), "links", false},
		"refuses the signature of another purpose": {key(1), "uploads", false},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := signer(tt.master, tt.purpose).Open(signed)
			if ok != tt.want || ok && !bytes.Equal(got, text) {
				t.Errorf("got %q, %t", got, ok)
			}
		})
	}
	t.Run("refuses every changed or shortened value", func(t *testing.T) {
		s := signer(key(1), "links")
		for i := range signed {
			changed := slices.Clone(signed)
			changed[i] ^= 1
			if _, ok := s.Open(changed); ok {
				t.Errorf("byte %d was changed", i)
			}
			if _, ok := s.Open(signed[:i]); ok {
				t.Errorf("cut after %d bytes", i)
			}
		}
	})
	t.Run("refuses a master key that cannot be used", func(t *testing.T) {
		for _, bad := range []string{"", "x", base64.StdEncoding.EncodeToString([]byte("short"))} {
			if _, err := ParseSigner(config.Secret(bad), "links"); err == nil {
				t.Errorf("%q was accepted", bad)
			}
		}
	})
}
