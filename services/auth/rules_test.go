package auth

import (
	"slices"
	"strings"
	"testing"
	"time"

	"reservation.dev/platform/config"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/scopes"
)

func TestGranted(t *testing.T) {
	t.Parallel()
	all := []string{"bookings:read", "customers:read", "profile:read"}
	for asked, want := range map[string]string{
		"":                                   "bookings:read customers:read profile:read",
		"profile:read":                       "profile:read",
		"  profile:read   bookings:read\t":   "bookings:read profile:read",
		"customers:read customers:read":      "customers:read",
		"profile:write":                      "refused",
		"customers:read platform:admin":      "refused",
		"customers:READ":                     "refused",
		"bookings:read\x00customers:read":    "refused",
		strings.Repeat("customers:read ", 9): "customers:read",
	} {
		t.Run("requested "+asked, func(t *testing.T) {
			scopes, err := granted(all, asked)
			got := strings.Join(scopes, " ")
			if fault.Is(err, fault.Invalid) && fault.From(err).Reason == ReasonInvalidScope && fault.From(err).Fields[0].Field == "scope" {
				got = "refused"
			}
			if got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestPermissions(t *testing.T) { // invariant 4
	t.Parallel()
	for name, tt := range map[string]struct{ in, kept, granted string }{
		"some":                            {"events:write customers:read", "customers:read events:write", "customers:read events:write"},
		"one twice":                       {"passes:read passes:read", "passes:read", "passes:read"},
		"everything":                      {"*", "*", strings.Join(scopes.InterfaceB(), " ")},
		"everything and one scope":        {"passes:read *", "*", strings.Join(scopes.InterfaceB(), " ")},
		"a scope of Interface A":          {"profile:read", "refused", ""},
		"a scope of the platform":         {"customers:read platform:admin", "refused", ""},
		"a pattern":                       {"customers:*", "refused", ""},
		"a scope in upper case":           {"EVENTS:READ", "refused", ""},
		"everything and an unknown scope": {"* x", "refused", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var c checks
			kept := c.scopes("permissions", strings.Fields(tt.in), apiKeys().scopes())
			got := strings.Join(kept, " ")
			if c.Err() != nil {
				got = "refused"
			}
			if got != tt.kept {
				t.Errorf("kept %q, want %q", got, tt.kept)
			}
			key := Credential{Kind: kindKey, Scopes: kept}
			if got := strings.Join(key.granting(), " "); tt.granted != "" && got != tt.granted {
				t.Errorf("granted %q, want %q", got, tt.granted)
			}
		})
	}
	if !slices.IsSorted(scopes.InterfaceB()) {
		t.Error("the scopes of a token are not in order")
	}
}

func TestSetScopes(t *testing.T) { // invariant 3
	t.Parallel()
	for name, tt := range map[string]struct {
		before, after string
		narrower      bool
	}{
		"the same":                         {"events:read", "events:read", false},
		"one more":                         {"events:read", "events:read passes:read", false},
		"another":                          {"events:read", "passes:read", true},
		"one less":                         {"events:read passes:read", "events:read", true},
		"all scopes instead of everything": {"*", strings.Join(scopes.InterfaceB(), " "), false},
		"everything instead of one scope":  {"events:read", "*", false},
		"all scopes except one, instead of everything": {"*", strings.Join(scopes.InterfaceB()[1:], " "), true},
	} {
		t.Run(name, func(t *testing.T) {
			c := Credential{Kind: kindKey, Scopes: strings.Fields(tt.before)}
			if got := c.setScopes(strings.Fields(tt.after)); got != tt.narrower || strings.Join(c.Scopes, " ") != tt.after {
				t.Errorf("got %v, %v", got, c.Scopes)
			}
		})
	}
}

func TestSetRateLimit(t *testing.T) { // invariant 3
	t.Parallel()
	for name, tt := range map[string]struct {
		before  *int32
		to      int32
		changed bool
	}{
		"none stays none":    {nil, 0, false},
		"a limit is added":   {nil, 5, true},
		"one stays":          {ptr(int32(5)), 5, false},
		"a limit is changed": {ptr(int32(5)), 6, true},
		"a limit is removed": {ptr(int32(5)), 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := Credential{RateLimit: tt.before}
			if got := c.setRateLimit(tt.to); got != tt.changed || (c.RateLimit == nil) != (tt.to == 0) || (tt.to != 0 && *c.RateLimit != tt.to) {
				t.Errorf("got %v, %v", got, c.RateLimit)
			}
		})
	}
}

func TestSecrets(t *testing.T) { // invariant 1
	t.Parallel()
	one, hash := newSecret()
	two, _ := newSecret()
	if len(one) != 64 || strings.Trim(one, "0123456789abcdef") != "" || one == two {
		t.Errorf("got %q and %q", one, two)
	}
	if !slices.Equal(hash, hashOf(one)) || len(hash) != 32 || strings.Contains(string(hash), one) {
		t.Error("the hash is not the secret's")
	}
}

func TestUsable(t *testing.T) { // invariant 2
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	earlier, later := now.Add(-time.Second), now.Add(time.Second)
	for name, tt := range map[string]struct {
		c    Credential
		want bool
	}{
		"an active one":                        {Credential{}, true},
		"a credential that expires later":      {Credential{ExpiresAt: &later}, true},
		"a credential at the moment of expiry": {Credential{ExpiresAt: &now}, false},
		"an expired one":                       {Credential{ExpiresAt: &earlier}, false},
		"a disabled one":                       {Credential{DisabledAt: &earlier}, false},
		"a deleted one":                        {Credential{DeletedAt: &earlier}, false},
		"a disabled credential with an expiry": {Credential{DisabledAt: &earlier, ExpiresAt: &later}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tt.c.usable(now); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestThrottle(t *testing.T) { // invariant 6
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	newOne := func() *throttle { return newThrottle(func() time.Time { return now }) }
	key := throttleKey{"m2m_x", "192.0.2.1"}
	t.Run("allows some failures, delays further ones increasingly, then refuses until the window ends", func(t *testing.T) {
		th := newOne()
		var delays []time.Duration
		for range 19 {
			delay, stayAway := th.failed(key)
			if stayAway != 0 {
				t.Fatalf("refused after %d", len(delays))
			}
			delays = append(delays, delay)
		}
		want := []time.Duration{0, 0, 0, 0, 0, 100e6, 200e6, 400e6, 800e6, 1600e6, 2e9, 2e9, 2e9, 2e9, 2e9, 2e9, 2e9, 2e9, 2e9}
		if !slices.Equal(delays, want) {
			t.Errorf("got %v", delays)
		}
		now = now.Add(4 * time.Minute)
		if delay, stayAway := th.failed(key); delay != 0 || stayAway != 6*time.Minute {
			t.Errorf("got %v, %v", delay, stayAway)
		}
		now = now.Add(6 * time.Minute)
		if delay, stayAway := th.failed(key); delay != 0 || stayAway != 0 {
			t.Errorf("after the window: got %v, %v", delay, stayAway)
		}
	})
	t.Run("counts each address and client separately, and forgets failures after a success", func(t *testing.T) {
		th := newOne()
		for range 25 {
			th.failed(key)
		}
		for _, other := range []throttleKey{{"m2m_x", "192.0.2.2"}, {"m2m_y", "192.0.2.1"}} {
			if delay, stayAway := th.failed(other); delay != 0 || stayAway != 0 {
				t.Errorf("%v: got %v, %v", other, delay, stayAway)
			}
		}
		th.passed(key)
		if delay, stayAway := th.failed(key); delay != 0 || stayAway != 0 {
			t.Errorf("got %v, %v", delay, stayAway)
		}
	})
	t.Run("limits the number of counts", func(t *testing.T) {
		th := newOne()
		for i := range maxTracked + 500 {
			th.failed(throttleKey{subject: strings.Repeat("x", i%7), address: time.Duration(i).String()})
		}
		if len(th.entries) != maxTracked || th.recent.Len() != maxTracked {
			t.Errorf("%d entries", len(th.entries))
		}
	})
}

func TestParseBootstrap(t *testing.T) {
	t.Parallel()
	const good = `{"id":"svc_01jb4x9m3vf6ksn8w2d7pq5r0t","name":"booking","secret":"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff","scopes":["platform:admin"]}`
	for name, tt := range map[string]struct {
		setting config.Secret
		want    string
	}{
		"nothing":                 {"", ""},
		"a credential":            {"[" + good + "]", ""},
		"no JSON":                 {"svc_x:secret", "is not a JSON list"},
		"a wrong id":              {config.Secret("[" + strings.Replace(good, "svc_", "m2m_", 1) + "]"), "[0].id"},
		"a short secret":          {config.Secret("[" + good + "," + strings.Replace(good, "0011", "", 1) + "]"), "[1].secret"},
		"the directory's scope":   {config.Secret("[" + strings.Replace(good, "platform:admin", "directory:read", 1) + "]"), ""},
		"it and another scope":    {config.Secret("[" + strings.Replace(good, "platform:admin", `directory:read","events:read`, 1) + "]"), "cannot be combined"},
		"it and platform:admin":   {config.Secret("[" + strings.Replace(good, "platform:admin", `directory:read","platform:admin`, 1) + "]"), ""},
		"an unknown scope":        {config.Secret("[" + strings.Replace(good, "platform:admin", "everything", 1) + "]"), "scopes[0]"},
		"two faults in one entry": {config.Secret(`[{"id":"x","secret":"y"}]`), "[0].secret"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseBootstrap(tt.setting)
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "2233445566") {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func TestScopes(t *testing.T) {
	t.Parallel()
	var c checks
	got := c.scopes("scopes", []string{"profile:read", "customers:read", "profile:read"}, scopes.InterfaceA())
	if !slices.Equal(got, []string{"customers:read", "profile:read"}) || c.Err() != nil {
		t.Errorf("got %v, %v", got, c.Err())
	}
	c.scopes("scopes", nil, scopes.InterfaceA())
	c.scopes("scopes", []string{"customers:read", "customers:write"}, scopes.InterfaceA())
	if got := c.List(); len(got) != 2 || got[0].Rule != "required" || got[1].Field != "scopes[1]" || got[1].Rule != "scope" {
		t.Errorf("got %v", got)
	}
}
