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

// keyring is the set of signing keys. All replicas share it through the database, and each holds a
// copy that is reloaded after every change.
type keyring struct {
	store    *store
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

// active returns the key that signs at an instant.
func (r *keyring) active(now time.Time) (signingKey, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	found := activeKey(r.keys, now)
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

// live returns the keys whose tokens are or will be accepted.
func (r *keyring) live() []signingKey {
	now := r.now()
	r.mu.RLock()
	defer r.mu.RUnlock()
	return liveKeys(r.keys, now)
}

// reload reads the keys from the database.
func (r *keyring) reload(ctx context.Context) error {
	keys, err := r.store.signingKeys(ctx)
	if err != nil {
		return err
	}
	for i := range keys {
		k := &keys[i]
		seed, err := r.sealer.Open(k.Sealed, []byte(k.KID))
		if err != nil {
			return fmt.Errorf("signing key %s: %w", k.KID, err)
		}
		k.private = ed25519.NewKeyFromSeed(seed)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys = keys
	return nil
}

// change makes one change of the key set under its lock, publishes the set even if nothing changed,
// and updates the copy of this replica.
func (r *keyring) change(ctx context.Context, decide func(ctx context.Context, tx *pg.Tx, keys []signingKey) (changed bool, err error)) error {
	err := r.store.Write(ctx, id.Company{}, func(ctx context.Context, tx *pg.Tx) error {
		version, err := r.store.lockKeySet(ctx, tx)
		if err != nil {
			return err
		}
		keys, err := r.store.signingKeysInTx(ctx, tx)
		if err != nil {
			return err
		}
		changed, err := decide(ctx, tx, keys)
		if err != nil {
			return err
		}
		if changed {
			if version, err = r.store.raiseKeySet(ctx, tx); err != nil {
				return err
			}
			if keys, err = r.store.signingKeysInTx(ctx, tx); err != nil {
				return err
			}
		}
		return r.outbox.Append(ctx, tx, keysChanged(version, liveKeys(keys, r.now())))
	})
	if err != nil {
		return err
	}
	return r.reload(ctx)
}

// start creates the first key if there is none. It always publishes the set again, because the
// stream that keeps its latest version may be new.
func (r *keyring) start(ctx context.Context) error {
	return r.change(ctx, func(ctx context.Context, tx *pg.Tx, keys []signingKey) (bool, error) {
		if len(keys) > 0 {
			return false, nil
		}
		_, err := r.add(ctx, tx, r.now())
		return true, err
	})
}

// rotate creates a key and retires the others; with revoke it deletes them. note runs in the same
// transaction.
func (r *keyring) rotate(ctx context.Context, revoke bool, note func(ctx context.Context, tx *pg.Tx, kid string) error) (kid string, err error) {
	err = r.change(ctx, func(ctx context.Context, tx *pg.Tx, _ []signingKey) (bool, error) {
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
		if err != nil {
			return "", err
		}
		return kid, r.store.deleteOtherKeys(ctx, tx, kid)
	}
	from := r.now().Add(r.delay)
	kid, err := r.add(ctx, tx, from)
	if err != nil {
		return "", err
	}
	return kid, r.store.retireOtherKeys(ctx, tx, kid, from.Add(longestToken+clockSkew))
}

// add stores a new key that signs from an instant on.
func (r *keyring) add(ctx context.Context, tx *pg.Tx, from time.Time) (kid string, err error) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return "", err
	}
	kid = "key_" + id.NewUUID().String()
	return kid, r.store.insertSigningKey(ctx, tx, signingKey{
		KID: kid, Public: public, Sealed: r.sealer.Seal(private.Seed(), []byte(kid)), CreatedAt: r.now(), ActiveFrom: from,
	})
}

// keysEvery is how often runOnce checks whether a key is due for rotation or deletion.
const keysEvery = time.Minute

// runOnce rotates the active key when it is due, and deletes retired keys whose last token has
// expired.
func (r *keyring) runOnce(ctx context.Context) error {
	now := r.now()
	if err := r.reload(ctx); err != nil {
		return err
	}
	due, stale := r.due(now)
	if !due && !stale {
		return nil
	}
	return r.change(ctx, func(ctx context.Context, tx *pg.Tx, keys []signingKey) (changed bool, err error) {
		if stale {
			if changed, err = r.store.deleteRetiredKeys(ctx, tx, now); err != nil {
				return false, err
			}
		}
		// Another replica may have rotated the key: decide again under the lock.
		if !isRotationDue(keys, now, r.interval) {
			return changed, nil
		}
		_, err = r.replace(ctx, tx, false)
		return true, err
	})
}

// due reports whether the active key is due for rotation, and whether keys are to be deleted.
func (r *keyring) due(now time.Time) (rotation, removal bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return isRotationDue(r.keys, now, r.interval), len(liveKeys(r.keys, now)) < len(r.keys)
}

// follow reloads the keys whenever a replica changes them.
func (r *keyring) follow(b *bus.Bus) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		return b.Follow(ctx, []string{subjectKeysChanged}, func(bus.Message) {
			if err := r.reload(ctx); err != nil && ctx.Err() == nil {
				r.log.Warn("signing keys are not reloaded", "error", err.Error())
			}
		}, func() {})
	}
}
