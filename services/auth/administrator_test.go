package auth

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/seal"
)

func TestSignInLimits(t *testing.T) { // invariant 10
	t.Parallel()
	t.Run("doubles after the free failures, up to a limit", func(t *testing.T) {
		p := limitEmail("a@example.com", "192.0.2.1")
		want := []time.Duration{0, 0, 0, 0, 0, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 30 * time.Second, 30 * time.Second}
		for failed, gap := range want {
			if got := p.gap(failed); got != gap {
				t.Errorf("after %d failures: %v, want %v", failed, got, gap)
			}
		}
		if got := p.gap(1 << 30); got != p.longest {
			t.Errorf("after very many: %v", got)
		}
	})
	t.Run("keeps the counts separate", func(t *testing.T) {
		all := []signInLimit{limitEmail("a", "b"), limitEmail("b", "a"), limitEmail("ab", ""), limitNetwork("b"), limitNetwork("a"), limitCodes([16]byte{1}),
			limitSignedIn([16]byte{1}), limitDevice(device{nonce: [nonceSize]byte{1}}), limitDevice(device{nonce: [nonceSize]byte{2}}), limitDeviceCodes(device{nonce: [nonceSize]byte{1}})}
		seen := map[string]bool{}
		for _, p := range all {
			seen[string(p.key())] = true
		}
		if len(seen) != len(all) {
			t.Errorf("%d of %d are different", len(seen), len(all))
		}
	})
}

func TestPasswords(t *testing.T) { // invariants 1 and 10
	t.Parallel()
	p := newPasswords(passwordCost{memory: 64, passes: 1})
	kept, err := p.hash(t.Context(), "correct horse")
	must(t, err)
	other, err := p.hash(t.Context(), "correct horse")
	must(t, err)
	if kept == other || !strings.HasPrefix(kept, "$argon2id$v=19$m=64,t=1,p=1$") {
		t.Errorf("got %s and %s", kept, other)
	}
	for name, tt := range map[string]struct {
		password, kept string
		right          bool
	}{
		"the right password":                            {"correct horse", kept, true},
		"a password in another case":                    {"Correct horse", kept, false},
		"no password":                                   {"", kept, false},
		"a password of an unknown administrator":        {"correct horse", "", false},
		"an empty password of an unknown administrator": {"", "", false},
	} {
		if right, weaker, err := p.matches(t.Context(), tt.password, tt.kept); right != tt.right || weaker || err != nil {
			t.Errorf("%s: got %v, %v, %v", name, right, weaker, err)
		}
	}
	t.Run("a hash of lower cost is weaker, and one of higher cost is not", func(t *testing.T) {
		for cost, want := range map[passwordCost]bool{{128, 1}: true, {64, 2}: true, {32, 1}: false, {64, 1}: false} {
			if _, weaker, err := newPasswords(cost).matches(t.Context(), "correct horse", kept); weaker != want || err != nil {
				t.Errorf("%v: got %v, %v", cost, weaker, err)
			}
		}
	})
	t.Run("a damaged hash is an error and never matches", func(t *testing.T) {
		for _, damaged := range []string{"x", "$argon2i$v=19$m=64,t=1,p=1$AAAA$AAAA", "$argon2id$v=19$m=64,t=0,p=1$AAAA$AAAAAAAAAAAAAAAAAAAAAA", kept[:len(kept)-30], kept + "$"} {
			if right, _, err := p.matches(t.Context(), "correct horse", damaged); right || err == nil {
				t.Errorf("%q: got %v, %v", damaged, right, err)
			}
		}
	})
	t.Run("hashes nothing for callers that have disconnected, or if too many wait", func(t *testing.T) {
		busy := newPasswords(passwordCost{memory: 64, passes: 1})
		for range cap(busy.turns) {
			busy.turns <- struct{}{}
		}
		ctx, leave := context.WithCancel(t.Context())
		leave()
		if _, err := busy.hash(ctx, "x"); err == nil {
			t.Error("hashed for a caller that has gone")
		}
		busy.waiting.Store(maxHashing)
		if _, err := busy.hash(t.Context(), "x"); !errors.Is(err, errHashingBusy) || !fault.Is(err, fault.Unavailable) {
			t.Errorf("got %v", err)
		}
		if got := busy.waiting.Load(); got != maxHashing {
			t.Errorf("%d wait", got)
		}
	})
}

func TestGrouped(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 1000 {
		s := grouped(4)
		if len(s) != 23 || strings.Count(s, "-") != 3 || seen[s] {
			t.Fatalf("got %q", s)
		}
		seen[s] = true
	}
}

func FuzzCut(f *testing.F) {
	f.Add("Mozilla/5.0 (X11; \x00Linux)\xff")
	f.Fuzz(func(t *testing.T, s string) {
		got := printable(s, 10)
		if len([]rune(got)) > 10 || strings.ContainsAny(got, "\x00\n\r") {
			t.Errorf("got %q", got)
		}
	})
}

// A browser can send anything: only a token that was encrypted here is a device.
func FuzzOpenDevice(f *testing.F) {
	sealer, err := seal.New(make([]byte, seal.KeySize))
	if err != nil {
		f.Fatal(err)
	}
	d := newDevice(id.New[id.Administrator](), time.Now().UTC().Truncate(time.Microsecond))
	good := d.seal(sealer)
	for _, seed := range []string{"", good, good[1:], good + "A", strings.Repeat("A", 1000), "ü"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, token string) {
		got, ok := openDevice(sealer, token)
		if ok && got != d {
			t.Errorf("%q is accepted as %v", token, got)
		}
		if !ok && token == good {
			t.Error("the encrypted token cannot be decrypted")
		}
	})
}
