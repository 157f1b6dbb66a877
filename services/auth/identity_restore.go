package auth

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// A database that was restored from a backup is behind the verifiers: the identity stream has later
// generations and a later set of keys, so verifiers refuse tokens of earlier ones. When auth
// starts, it therefore raises the database to what was published last. Revoked tokens stay revoked,
// and new tokens are accepted. The stream is never ahead of a database that was not restored,
// because an event is published after its commit.

const (
	// restoreBatch is the number of generations that one statement compares with the database.
	restoreBatch = 5000
	// restoreTimeout limits the reading of the whole stream.
	restoreTimeout = 2 * time.Minute
)

// restore raises the generations and the version of the key set in the database to those that were
// published last, and returns how many it raised.
func (f *identityFeed) restore(ctx context.Context, b *bus.Bus) (raised int, err error) {
	ctx, cancel := context.WithTimeout(ctx, restoreTimeout)
	defer cancel()
	generations := map[string]int64{} // by holder, not yet compared with the database
	var keySet int64                  // the version of the set of signing keys; 0: there is none
	flush := func() {
		if err == nil && len(generations) > 0 {
			var n int
			n, err = f.raise(ctx, generations)
			raised += n
			clear(generations)
		}
	}
	followErr := f.readAll(ctx, b, func(m bus.Message, order int64) {
		if m.Subject == subjectKeysChanged {
			keySet = max(keySet, order)
			return
		}
		generations[m.Subject[len(subjectRevoked):]] = order
		if len(generations) == restoreBatch {
			flush()
		}
	})
	flush()
	if err == nil {
		err = followErr
	}
	if err != nil {
		return raised, fmt.Errorf("identity events: %w", err)
	}
	keySetRaised, err := f.raiseKeySet(ctx, keySet)
	if keySetRaised {
		raised++
	}
	return raised, err
}

// readAll calls each for every event that is in the identity stream now.
func (f *identityFeed) readAll(ctx context.Context, b *bus.Bus, each func(m bus.Message, order int64)) error {
	following, stop := context.WithCancel(ctx)
	defer stop()
	var complete atomic.Bool
	err := b.Follow(following, []string{keysSubjects, subjectRevoked + "*"}, func(m bus.Message) {
		if order, err := orderOf(m); err == nil { // follow logs the others
			each(m, order)
		}
	}, func() {
		complete.Store(true)
		stop()
	})
	if err == nil && !complete.Load() {
		err = ctx.Err()
	}
	return err
}

// raise raises the generations that are behind the published ones, and adds each to the audit log.
// published is by holder.
func (f *identityFeed) raise(ctx context.Context, published map[string]int64) (raised int, err error) {
	holders := map[id.UUID]string{}
	var ids []id.UUID
	var generations []int64
	for holder, generation := range published {
		if u, ok := subjectUUID(holder); ok {
			holders[u] = holder
			ids, generations = append(ids, u), append(generations, generation)
		}
	}
	err = f.store.Write(ctx, id.Company{}, func(ctx context.Context, tx *pg.Tx) error {
		list, err := f.store.raiseGenerations(ctx, tx, ids, generations, f.now())
		if err != nil {
			return err
		}
		for _, r := range list {
			err := f.store.audit(ctx, tx, r.Company, f.now(), "restore", "credential.revoke_again", holders[r.ID],
				Detail{Field: "generation", After: fmt.Sprint(r.Generation)})
			if err != nil {
				return err
			}
		}
		raised = len(list)
		return nil
	})
	return raised, err
}

// raiseKeySet raises the version of the key set if it is behind the published version.
func (f *identityFeed) raiseKeySet(ctx context.Context, published int64) (raised bool, err error) {
	if published == 0 {
		return false, nil
	}
	err = f.store.Write(ctx, id.Company{}, func(ctx context.Context, tx *pg.Tx) error {
		raised, err = f.store.raiseKeySetAbove(ctx, tx, published)
		return err
	})
	return raised, err
}
