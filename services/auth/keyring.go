package auth

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/seal"
	"reservation.dev/platform/token"
)

// keyring is the set of signing keys, which all replicas share through the
// database. Each holds a copy, renewed at every change.
type keyring struct {
	db       *pg.DB
	outbox   *outbox.Outbox
	sealer   *seal.Sealer
	issuer   string
	interval time.Duration // between rotations
	delay    time.Duration // before a new key signs
	now      func() time.Time
	log      *slog.Logger

	mu   sync.RWMutex
	keys []signingKey
}

// active returns the key that signs at an instant: the one that became active last.
func (r *keyring) active(now time.Time) (signingKey, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var found *signingKey
	for i := range r.keys {
		k := &r.keys[i]
		if !k.ActiveFrom.After(now) && k.live(now) && (found == nil || k.ActiveFrom.After(found.ActiveFrom)) {
			found = k
		}
	}
	if found == nil {
		return signingKey{}, fault.Away(errors.New("there is no active signing key"))
	}
	return *found, nil
}

// sign returns a token with the given claims.
func (r *keyring) sign(c token.Claims) (string, error) {
	k, err := r.active(r.now())
	if err != nil {
		return "", err
	}
	return token.Sign(k.private, k.KID, r.issuer, c)
}

// live returns the keys whose tokens are accepted, or will be.
func (r *keyring) live() []signingKey {
	now := r.now()
	r.mu.RLock()
	defer r.mu.RUnlock()
	var list []signingKey
	for _, k := range r.keys {
		if k.live(now) {
			list = append(list, k)
		}
	}
	return list
}

// reload takes the keys from the database.
func (r *keyring) reload(ctx context.Context) error {
	keys, err := pg.Rows[storedKey](ctx, r.db, pg.AllCompanies(), keysSQL)
	if err != nil {
		return pg.Fault(err, nil)
	}
	opened := make([]signingKey, 0, len(keys))
	for _, stored := range keys {
		k, err := r.open(stored)
		if err != nil {
			return err
		}
		opened = append(opened, k)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys = opened
	return nil
}

func (r *keyring) open(s storedKey) (signingKey, error) {
	seed, err := r.sealer.Open(s.Sealed, []byte(s.KID))
	if err != nil {
		return signingKey{}, fmt.Errorf("signing key %s: %w", s.KID, err)
	}
	return signingKey{
		KID: s.KID, Public: s.Public, CreatedAt: s.CreatedAt, ActiveFrom: s.ActiveFrom,
		RetiredUntil: s.RetiredUntil, private: ed25519.NewKeyFromSeed(seed),
	}, nil
}

// change runs one change of the key set under its lock, and publishes the set
// where the change says so. It leaves this replica's copy up to date.
func (r *keyring) change(ctx context.Context, decide func(ctx context.Context, tx *pg.Tx, keys []storedKey) (changed bool, err error)) error {
	err := r.db.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		var version int64
		if err := tx.QueryRow(ctx, lockKeysSQL).Scan(&version); err != nil {
			return err
		}
		keys, err := collectKeys(ctx, tx)
		if err != nil {
			return err
		}
		changed, err := decide(ctx, tx, keys)
		if err != nil {
			return err
		}
		if changed {
			if err := tx.QueryRow(ctx, raiseVersionSQL).Scan(&version); err != nil {
				return err
			}
			if keys, err = collectKeys(ctx, tx); err != nil {
				return err
			}
		}
		return r.outbox.Append(ctx, tx, keysChanged(version, r.publishable(keys)))
	})
	if err != nil {
		return pg.Fault(err, nil)
	}
	return r.reload(ctx)
}

// publishable are the public halves of the keys that are accepted.
func (r *keyring) publishable(stored []storedKey) []signingKey {
	var list []signingKey
	for _, s := range stored {
		k := signingKey{KID: s.KID, Public: s.Public, RetiredUntil: s.RetiredUntil}
		if k.live(r.now()) {
			list = append(list, k)
		}
	}
	return list
}

// start makes the first key where there is none, and publishes the set again in
// any case: the stream that keeps its last word may be a new one.
func (r *keyring) start(ctx context.Context) error {
	return r.change(ctx, func(ctx context.Context, tx *pg.Tx, keys []storedKey) (bool, error) {
		if len(keys) > 0 {
			return false, nil
		}
		_, err := r.add(ctx, tx, r.now())
		return true, err
	})
}

// rotate makes a new key and retires the others; with revoke it drops them.
func (r *keyring) rotate(ctx context.Context, revoke bool, note func(ctx context.Context, tx *pg.Tx, kid string) error) (kid string, err error) {
	err = r.change(ctx, func(ctx context.Context, tx *pg.Tx, _ []storedKey) (bool, error) {
		if kid, err = r.replace(ctx, tx, revoke); err != nil {
			return false, err
		}
		return true, note(ctx, tx, kid)
	})
	return kid, err
}

func (r *keyring) replace(ctx context.Context, tx *pg.Tx, revoke bool) (string, error) {
	if revoke {
		kid, err := r.add(ctx, tx, r.now())
		if err == nil {
			_, err = tx.Exec(ctx, dropKeysSQL, kid)
		}
		return kid, err
	}
	from := r.now().Add(r.delay)
	kid, err := r.add(ctx, tx, from)
	if err == nil {
		_, err = tx.Exec(ctx, retireKeysSQL, kid, from.Add(longestToken+clockSkew))
	}
	return kid, err
}

// add stores a fresh key that signs from an instant on.
func (r *keyring) add(ctx context.Context, tx *pg.Tx, from time.Time) (kid string, err error) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return "", err
	}
	kid = "key_" + id.NewUUID().String()
	_, err = tx.Exec(ctx, insertKeySQL, kid, []byte(public), r.sealer.Seal(private.Seed(), []byte(kid)), r.now(), from)
	return kid, err
}

// keysEvery is how often it is looked whether a key is to be rotated or dropped.
const keysEvery = time.Minute

// runOnce keeps the keys: it rotates the active key when it is old, and drops
// retired ones when their time has come.
func (r *keyring) runOnce(ctx context.Context) error {
	now := r.now()
	if err := r.reload(ctx); err != nil {
		return err
	}
	due, stale := r.due(now)
	if !due && !stale {
		return nil
	}
	return r.change(ctx, func(ctx context.Context, tx *pg.Tx, keys []storedKey) (bool, error) {
		changed := false
		if stale {
			tag, err := tx.Exec(ctx, dropRetiredSQL, now)
			if err != nil {
				return false, err
			}
			changed = tag.RowsAffected() > 0
		}
		// Another replica may have rotated since: decide again under the lock.
		for _, k := range keys {
			if k.RetiredUntil == nil && now.Sub(k.CreatedAt) < r.interval {
				due = false
			}
		}
		if !due {
			return changed, nil
		}
		_, err := r.replace(ctx, tx, false)
		return true, err
	})
}

// due reports whether the newest key is old enough to be replaced, and whether
// there are retired ones to drop.
func (r *keyring) due(now time.Time) (rotation, removal bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	rotation = true
	for _, k := range r.keys {
		if k.RetiredUntil == nil && now.Sub(k.CreatedAt) < r.interval {
			rotation = false
		}
		removal = removal || !k.live(now)
	}
	return rotation, removal
}

// follow reloads the keys whenever a replica has changed them.
func (r *keyring) follow(b *bus.Bus) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		return b.Follow(ctx, []string{subjectKeysChanged}, func(bus.Message) {
			if err := r.reload(ctx); err != nil && ctx.Err() == nil {
				r.log.Warn("signing keys", "error", err.Error())
			}
		}, func() {})
	}
}
