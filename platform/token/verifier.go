package token

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"reservation.dev/platform/fault"
)

// Config holds the settings of a Verifier.
type Config struct {
	Issuer    string `env:"TOKEN_ISSUER" envDefault:"reservation" doc:"required iss claim of access tokens"`
	CacheSize int    `env:"TOKEN_CACHE_SIZE" envDefault:"16384" doc:"number of verified access tokens kept in memory"`
}

// Validate reports invalid settings.
func (c Config) Validate() error {
	if c.Issuer == "" {
		return errors.New("TOKEN_ISSUER is empty")
	}
	if c.CacheSize < 1 || c.CacheSize > 1<<22 {
		return errors.New("TOKEN_CACHE_SIZE is not between 1 and 4194304")
	}
	return nil
}

const (
	// maxLength is the length in bytes above which a token is rejected unread. Valid tokens have
	// some hundred bytes.
	maxLength = 4096
	// keyTimeout is how long a token with an unknown key waits for the event with that key.
	keyTimeout = time.Second
	// maxWaiting limits the number of waiting requests, so that invented key ids cannot accumulate.
	maxWaiting = 256
)

// Verifier checks access tokens. It is safe for concurrent use.
type Verifier struct {
	// Log receives errors about events that cannot be read; nil: slog.Default().
	Log *slog.Logger

	issuer string
	now    func() time.Time
	parser *jwt.Parser
	cache  *cache

	// epoch counts the changes of keys and revoked. A cached token that was checked in the current
	// epoch does not have to be checked against them again. epoch is raised after a change, and
	// read before a token is checked.
	epoch   atomic.Uint64
	ready   atomic.Bool
	waiting atomic.Int64

	mu      sync.RWMutex
	past    bool // the past revocations are known
	keys    map[string]ed25519.PublicKey
	version int64
	revoked map[string]int64
	changed chan struct{} // closed at the next change of keys or ready
}

// NewVerifier returns a verifier that does not accept any token yet. It learns keys and revocations
// from Run, or from SetKeys and Revoke.
func NewVerifier(cfg Config, now func() time.Time) *Verifier {
	return &Verifier{
		issuer: cfg.Issuer, now: now, cache: newCache(cfg.CacheSize),
		parser: jwt.NewParser(
			jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}),
			jwt.WithStrictDecoding(),
			jwt.WithoutClaimsValidation(), // done by wire.claims and by the clock below
		),
		revoked: map[string]int64{},
		changed: make(chan struct{}),
	}
}

// Ready reports whether the past keys and revocations are known.
func (v *Verifier) Ready() bool { return v.ready.Load() }

// WaitReady waits until Ready is true, or returns ctx's error.
func (v *Verifier) WaitReady(ctx context.Context) error {
	for {
		v.mu.RLock()
		changed := v.changed
		v.mu.RUnlock()
		if v.Ready() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Verify returns the claims of a token (without "Bearer "). Faults: UNAUTHORIZED, TOKEN_EXPIRED,
// and SERVICE_UNAVAILABLE while the past keys and revocations are not known.
func (v *Verifier) Verify(ctx context.Context, raw string) (*Claims, error) {
	if len(raw) > maxLength {
		return nil, unauthorized(errors.New("token too long"))
	}
	e := v.cache.get(raw)
	if e == nil {
		return v.admit(ctx, strings.Clone(raw))
	}
	if v.now().UnixNano() >= e.expires {
		return nil, expired(e.claims)
	}
	if epoch := v.epoch.Load(); e.epoch.Load() != epoch {
		if err := v.recheck(e); err != nil {
			return nil, err
		}
		e.epoch.Store(epoch)
	}
	return e.claims, nil
}

// admit checks a token fully and caches it.
func (v *Verifier) admit(ctx context.Context, raw string) (*Claims, error) {
	e := &entry{}
	e.epoch.Store(v.epoch.Load()) // before anything is checked, see Verifier.epoch
	var w wire
	_, err := v.parser.ParseWithClaims(raw, &w, func(t *jwt.Token) (any, error) {
		if _, critical := t.Header["crit"]; critical {
			return nil, errors.New("critical header")
		}
		if t.Header["typ"] != "JWT" { // other signed objects are not access tokens
			return nil, errors.New("not of type JWT")
		}
		kid, ok := t.Header["kid"].(string)
		if !ok || kid == "" {
			return nil, errors.New("no key id")
		}
		key, err := v.awaitKey(ctx, kid)
		e.kid, e.key = kid, key
		return key, err
	})
	if err != nil {
		var f *fault.Error
		if errors.As(err, &f) {
			return nil, f
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, unauthorized(err)
	}
	if e.claims, err = w.claims(v.issuer); err != nil {
		return nil, unauthorized(err)
	}
	now := v.now()
	if !now.Before(e.claims.ExpiresAt) {
		return nil, expired(e.claims)
	}
	if w.NotBefore != nil && now.Before(w.NotBefore.Time) {
		return nil, unauthorized(errors.New("not valid yet"))
	}
	if err := v.recheck(e); err != nil {
		return nil, err
	}
	e.claims.Raw = raw
	e.expires = e.claims.ExpiresAt.UnixNano()
	v.cache.put(e, now)
	return e.claims, nil
}

// recheck rejects a token whose key was withdrawn or whose credential was revoked.
func (v *Verifier) recheck(e *entry) error {
	v.mu.RLock()
	key, known := v.keys[e.kid]
	least := v.revoked[e.claims.Subject]
	v.mu.RUnlock()
	if !known || !key.Equal(e.key) {
		return unauthorized(errors.New("key withdrawn"))
	}
	if e.claims.Generation < least {
		return unauthorized(&refusal{claims: e.claims, reason: fmt.Sprintf("generation %d is revoked", e.claims.Generation)})
	}
	return nil
}

// awaitKey returns a key. It waits a moment for an unknown one, because its first token can arrive
// before the event.
func (v *Verifier) awaitKey(ctx context.Context, kid string) (ed25519.PublicKey, error) {
	key, changed := v.key(kid)
	if key != nil {
		return key, nil
	}
	defer v.waiting.Add(-1)
	if v.waiting.Add(1) > maxWaiting {
		return nil, v.unknown(kid)
	}
	timer := time.NewTimer(keyTimeout)
	defer timer.Stop()
	for {
		select {
		case <-changed:
		case <-timer.C:
			return nil, v.unknown(kid)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if key, changed = v.key(kid); key != nil {
			return key, nil
		}
	}
}

// key returns a key; if it is unknown, nil and a channel that closes at the next change.
func (v *Verifier) key(kid string) (ed25519.PublicKey, <-chan struct{}) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if !v.ready.Load() {
		return nil, v.changed
	}
	return v.keys[kid], v.changed
}

func (v *Verifier) unknown(kid string) error {
	if !v.Ready() {
		return fault.Away(errors.New("the verifier has not caught up with keys and revocations"))
	}
	return fmt.Errorf("unknown key %q", kid)
}

// SetKeys replaces the keys that verify tokens, and makes the verifier ready. Call Revoke for all
// past revocations first. A set with a lower version than the current one is ignored. Unusable keys
// are left out and reported; a set without a usable key is ignored and reported.
func (v *Verifier) SetKeys(version int64, keys []JWK) error {
	err := v.replaceKeys(version, keys)
	if !errors.Is(err, errNoKeys) {
		v.caughtUp()
	}
	return err
}

func (v *Verifier) replaceKeys(version int64, set []JWK) error {
	keys, err := publicKeys(set)
	if len(keys) == 0 {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.keys != nil && version < v.version {
		return nil
	}
	v.keys, v.version = keys, version
	v.epoch.Add(1)
	v.wake()
	return err
}

// Revoke revokes the tokens of subject whose generation is below minGeneration.
func (v *Verifier) Revoke(subject string, minGeneration int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.revoked[subject] >= minGeneration {
		return
	}
	v.revoked[subject] = minGeneration
	v.epoch.Add(1)
}

func (v *Verifier) caughtUp() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.past = true
	v.wake()
}

// wake updates ready and wakes the waiting requests. The caller holds v.mu.
func (v *Verifier) wake() {
	v.ready.Store(v.past && v.keys != nil)
	close(v.changed)
	v.changed = make(chan struct{})
}

func unauthorized(cause error) error {
	return fault.New(fault.Unauthenticated, fault.ReasonUnauthorized, "the access token is invalid").Because(cause)
}

func expired(claims *Claims) error {
	return fault.New(fault.Unauthenticated, fault.ReasonTokenExpired, "the access token has expired").
		Because(&refusal{claims: claims, reason: "expired"})
}

// refusal is why a token is refused although its signature is valid.
type refusal struct {
	claims *Claims
	reason string
}

func (r *refusal) Error() string { return "token of " + r.claims.Subject + ": " + r.reason }

// RefusedClaims returns the claims of a token that Verify refused because it has expired or is revoked,
// or nil. They say whose token it was, and permit nothing.
func RefusedClaims(err error) *Claims {
	var r *refusal
	if errors.As(err, &r) {
		return r.claims
	}
	return nil
}
