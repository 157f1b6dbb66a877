package seal_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"reservation.dev/platform/config"
	"reservation.dev/platform/seal"
)

func key(fill byte) []byte { return bytes.Repeat([]byte{fill}, seal.KeySize) }

func sealer(t testing.TB, keys ...[]byte) *seal.Sealer {
	t.Helper()
	s, err := seal.New(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSeal(t *testing.T) {
	t.Parallel()
	s := sealer(t, key(1))
	aad := []byte("endpoint/1")

	t.Run("a sealed value opens in the same context", func(t *testing.T) {
		t.Parallel()
		for _, plain := range [][]byte{nil, {}, []byte("x"), bytes.Repeat([]byte("long"), 10_000)} {
			sealed := s.Seal(plain, aad)
			got, err := s.Open(sealed, aad)
			if err != nil || !bytes.Equal(got, plain) {
				t.Fatalf("%d bytes: %q, %v", len(plain), got, err)
			}
			if len(plain) > 2 && bytes.Contains(sealed, plain) {
				t.Fatal("the sealed value shows the plain one")
			}
		}
	})
	t.Run("sealing a value twice gives different results", func(t *testing.T) {
		t.Parallel()
		if bytes.Equal(s.Seal([]byte("secret"), aad), s.Seal([]byte("secret"), aad)) {
			t.Fatal("equal")
		}
	})
	t.Run("a sealed value does not open in another context", func(t *testing.T) {
		t.Parallel()
		sealed := s.Seal([]byte("secret"), aad)
		for _, other := range []string{"", "endpoint/2", "endpoint/1 "} {
			if _, err := s.Open(sealed, []byte(other)); !errors.Is(err, seal.ErrTampered) {
				t.Errorf("%q: %v", other, err)
			}
		}
	})
	t.Run("rejects a value with a changed byte or a missing end", func(t *testing.T) {
		t.Parallel()
		sealed := s.Seal([]byte("secret"), aad)
		for i := range sealed {
			bad := bytes.Clone(sealed)
			bad[i] ^= 1
			if got, err := s.Open(bad, aad); err == nil {
				t.Errorf("byte %d: opened as %q", i, got)
			}
			if got, err := s.Open(sealed[:i], aad); err == nil {
				t.Errorf("cut at %d: opened as %q", i, got)
			}
		}
	})
	t.Run("sealing does not write into the caller's context", func(t *testing.T) {
		t.Parallel()
		long := append(make([]byte, 0, 100), aad...)
		s.Seal([]byte("secret"), long)
		if !bytes.Equal(long[:cap(long)][len(aad):], make([]byte, cap(long)-len(aad))) {
			t.Fatal("the caller's slice was changed")
		}
	})
}

func TestRotation(t *testing.T) {
	t.Parallel()
	before, during, after := sealer(t, key(1)), sealer(t, key(2), key(1)), sealer(t, key(2))
	old := before.Seal([]byte("secret"), nil)

	t.Run("an old value opens and is stale while its key is listed", func(t *testing.T) {
		t.Parallel()
		got, err := during.Open(old, nil)
		if err != nil || string(got) != "secret" || !during.IsStale(old) {
			t.Fatalf("%q %v", got, err)
		}
	})
	t.Run("a value begins with the identifier of its key", func(t *testing.T) {
		t.Parallel()
		ids := during.KeyIDs()
		if len(ids) != 2 || !bytes.Equal(ids[1], old[1:5]) || !bytes.Equal(ids[0], during.Seal(nil, nil)[1:5]) {
			t.Errorf("%x, and the old value begins with %x", ids, old[:5])
		}
	})
	t.Run("a new value is sealed with the first key", func(t *testing.T) {
		t.Parallel()
		sealed := during.Seal([]byte("secret"), nil)
		if during.IsStale(sealed) {
			t.Error("stale")
		}
		if _, err := after.Open(sealed, nil); err != nil {
			t.Error(err)
		}
		if _, err := before.Open(sealed, nil); !errors.Is(err, seal.ErrUnknownKey) {
			t.Errorf("without the key: %v", err)
		}
	})
}

func TestParse(t *testing.T) {
	t.Parallel()
	one, two := base64.StdEncoding.EncodeToString(key(1)), base64.StdEncoding.EncodeToString(key(2))
	for name, text := range map[string]string{
		"one key": one, "new and old": two + "," + one, "spaces around": " " + two + " , " + one + "\n",
	} {
		t.Run("accepts "+name, func(t *testing.T) {
			t.Parallel()
			s, err := seal.Parse(config.Secret(text))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Open(sealer(t, key(1)).Seal([]byte("x"), nil), nil); err != nil {
				t.Fatal(err)
			}
		})
	}
	for name, text := range map[string]string{
		"nothing": "", "invalid base64": "!!hunter2!!", "a short key": base64.StdEncoding.EncodeToString(key(1)[:31]),
		"a long key": base64.StdEncoding.EncodeToString(append(key(1), 0)), "the same key twice": one + "," + one, "an empty second key": one + ",",
	} {
		t.Run("rejects "+name+" without showing it", func(t *testing.T) {
			t.Parallel()
			_, err := seal.Parse(config.Secret(text))
			if err == nil || (len(text) > 3 && strings.Contains(err.Error(), text[:4])) {
				t.Fatalf("got %v", err)
			}
		})
	}
	t.Run("an invalid MASTER_KEY is rejected when the settings are read", func(t *testing.T) {
		t.Parallel()
		var cfg seal.Config
		if err := config.Read(config.Env{"MASTER_KEY": "short"}, &cfg); err == nil {
			t.Fatal("accepted")
		}
		if err := config.Read(config.Env{"MASTER_KEY": one}, &cfg); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzOpen(f *testing.F) {
	s := sealer(f, key(1), key(2))
	f.Add(s.Seal([]byte("secret"), []byte("a")), []byte("a"))
	f.Add([]byte{1}, []byte{})
	f.Fuzz(func(t *testing.T, sealed, aad []byte) {
		plain, err := s.Open(sealed, aad)
		if err == nil {
			again, err := s.Open(s.Seal(plain, aad), aad)
			if err != nil || !bytes.Equal(again, plain) {
				t.Fatalf("%q does not survive: %v", plain, err)
			}
		}
	})
}
