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

// passwordCost is the cost of checking one password, with Argon2id on one thread.
type passwordCost struct {
	memory uint32 // KiB
	passes uint32
}

// usualCost is the first of OWASP's equivalent recommendations: about 20 ms.
func usualCost() passwordCost { return passwordCost{memory: 19 * 1024, passes: 2} }

const (
	passwordSalt = 16
	passwordKey  = 32
	// maxHashing limits the requests that wait for hashing.
	maxHashing = 200
)

var errHashingBusy = errors.New("too many passwords are being checked at the same time")

// passwords hashes and checks passwords. At most as many run at a time as there are processors,
// because hashing deliberately takes memory and time.
type passwords struct {
	cost    passwordCost
	turns   chan struct{}
	waiting atomic.Int64
	// placeholder is a hash that no password has. It is compared if there is no administrator, so
	// that the response takes as long.
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

// hash returns the stored form of a password: parameters, salt and hash in the PHC format. Errors:
// ctx's, and SERVICE_UNAVAILABLE if too many requests wait.
func (p *passwords) hash(ctx context.Context, password string) (string, error) {
	salt := make([]byte, passwordSalt)
	_, _ = rand.Read(salt)
	key, err := p.derive(ctx, p.cost, password, salt, passwordKey)
	if err != nil {
		return "", err
	}
	return encodePassword(p.cost, salt, key), nil
}

// matches compares a password with its stored form; "" stands for an unknown administrator. weaker
// reports that the stored form should be replaced. Errors: as of hash.
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
	if p.waiting.Add(1) > maxHashing {
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

var errPasswordForm = errors.New("a stored password has an invalid form")

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
