package auth

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"

	"golang.org/x/crypto/argon2"

	"reservation.dev/platform/fault"
)

// passwordCost is what it takes to try a password, with Argon2id on one thread.
type passwordCost struct {
	memory uint32 // KiB
	passes uint32
}

// usualCost is OWASP's first choice among its equals: some 20 ms.
func usualCost() passwordCost { return passwordCost{memory: 19 * 1024, passes: 2} }

const (
	passwordSalt = 16
	passwordKey  = 32
	// mostHashing bounds the requests that wait for their turn to hash.
	mostHashing = 200
)

var errHashingBusy = errors.New("too many passwords are being checked at once")

// passwords hashes and checks passwords, as many at a time as there are
// processors: hashing takes memory and time on purpose.
type passwords struct {
	cost    passwordCost
	turns   chan struct{}
	waiting atomic.Int64
	// placeholder is the hash of no password: what a password is compared with where
	// there is no administrator, so that it takes as long.
	placeholder string
}

func newPasswords(cost passwordCost) *passwords {
	random := make([]byte, passwordSalt+passwordKey)
	_, _ = rand.Read(random) // never fails
	return &passwords{
		cost: cost, turns: make(chan struct{}, runtime.GOMAXPROCS(0)),
		placeholder: encodePassword(cost, random[:passwordSalt], random[passwordSalt:]),
	}
}

// hash returns what is kept of a password: parameters, salt and hash in PHC's
// form. Errors: ctx's, and SERVICE_UNAVAILABLE when too many wait.
func (p *passwords) hash(ctx context.Context, password string) (string, error) {
	salt := make([]byte, passwordSalt)
	_, _ = rand.Read(salt)
	key, err := p.derive(ctx, p.cost, password, salt, passwordKey)
	if err != nil {
		return "", err
	}
	return encodePassword(p.cost, salt, key), nil
}

// matches compares a password with what is kept of one, or with nobody's where
// that is "". weaker says that the kept one should be replaced. Errors as hash.
func (p *passwords) matches(ctx context.Context, password, kept string) (right, weaker bool, err error) {
	against := kept
	if kept == "" {
		against = p.placeholder
	}
	cost, salt, want, err := decodePassword(against)
	if err != nil {
		return false, false, err
	}
	got, err := p.derive(ctx, cost, password, salt, uint32(len(want)))
	if err != nil {
		return false, false, err
	}
	right = subtle.ConstantTimeCompare(got, want) == 1 && kept != ""
	return right, cost.memory < p.cost.memory || cost.passes < p.cost.passes, nil
}

func (p *passwords) derive(ctx context.Context, cost passwordCost, password string, salt []byte, length uint32) ([]byte, error) {
	defer p.waiting.Add(-1)
	if p.waiting.Add(1) > mostHashing {
		return nil, fault.Away(errHashingBusy)
	}
	select {
	case p.turns <- struct{}{}:
		defer func() { <-p.turns }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return argon2.IDKey([]byte(password), salt, cost.passes, cost.memory, 1, length), nil
}

const passwordForm = "$argon2id$v=19$m=%d,t=%d,p=1$"

func encodePassword(cost passwordCost, salt, key []byte) string {
	return fmt.Sprintf(passwordForm, cost.memory, cost.passes) +
		base64.RawStdEncoding.EncodeToString(salt) + "$" + base64.RawStdEncoding.EncodeToString(key)
}

var errPasswordForm = errors.New("a stored password is not in the form that was written")

func decodePassword(kept string) (cost passwordCost, salt, key []byte, err error) {
	parts := strings.Split(kept, "$")
	if len(parts) != 6 {
		return cost, nil, nil, errPasswordForm
	}
	if _, err := fmt.Sscanf(strings.Join(parts[:4], "$")+"$", passwordForm, &cost.memory, &cost.passes); err != nil || cost.passes == 0 {
		return cost, nil, nil, errPasswordForm
	}
	salt, saltErr := base64.RawStdEncoding.DecodeString(parts[4])
	key, keyErr := base64.RawStdEncoding.DecodeString(parts[5])
	if saltErr != nil || keyErr != nil || len(key) < 16 {
		return cost, nil, nil, errPasswordForm
	}
	return cost, salt, key, nil
}
