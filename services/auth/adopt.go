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

// A database that was restored to an earlier moment knows less than verifiers do:
// they follow a stream whose last words name later generations and a later set of
// keys, and take no token of an earlier one. So at its start auth takes over what
// was said last: what was revoked stays so, and what is issued from now on counts.
// Nothing of that can be ahead of a database that was not set back, for a word is
// published after its commit.

const (
	// adoptBatch is how many last words one statement compares with the database.
	adoptBatch = 5000
	// adoptLimit is how long reading all last words may take.
	adoptLimit = 2 * time.Minute
)

// What is raised counts as revoked now: it is said again for as long as tokens of
// before may live.
const (
	adoptCredentialsSQL = `update credentials c set generation = w.generation, revoked_at = $3
		from unnest($1::uuid[], $2::bigint[]) w(id, generation)
		where c.id = w.id and c.generation < w.generation returning c.company_id, c.id, w.generation`

	adoptAdministratorsSQL = `update administrators a set generation = w.generation, revoked_at = $3
		from unnest($1::uuid[], $2::bigint[]) w(id, generation)
		where a.id = w.id and a.generation < w.generation returning a.company_id, a.id, w.generation`

	// One more than was heard: the same number may have been of other keys.
	adoptVersionSQL = `update signing_key_set set version = $1 + 1 where version < $1`
)

// adopt raises the generations in the database, and the version of the key set, to
// the last words of the stream, and returns how many it raised.
func (l *lastWords) adopt(ctx context.Context, s *Server, b *bus.Bus) (raised int, err error) {
	ctx, cancel := context.WithTimeout(ctx, adoptLimit)
	defer cancel()
	following, stop := context.WithCancel(ctx)
	defer stop()
	words := map[string]int64{} // by subject
	var version int64
	flush := func() {
		if err != nil || len(words) == 0 {
			return
		}
		var n int
		n, err = l.adoptSome(ctx, s, words)
		raised += n
		clear(words)
	}
	var complete atomic.Bool
	each := func(m bus.Message) {
		order, fault := orderOf(m)
		if fault != nil {
			return // follow tells of it
		}
		if m.Subject == subjectKeysChanged {
			version = max(version, order)
			return
		}
		words[m.Subject[len(subjectRevoked):]] = order
		if len(words) == adoptBatch {
			flush()
		}
	}
	followErr := b.Follow(following, []string{keysSubjects, subjectRevoked + "*"}, each, func() {
		complete.Store(true)
		stop()
	})
	flush()
	switch {
	case err != nil:
		return raised, fmt.Errorf("last words: %w", err)
	case followErr != nil:
		return raised, fmt.Errorf("last words: %w", followErr)
	case !complete.Load():
		return raised, fmt.Errorf("last words: %w", ctx.Err())
	}
	if version == 0 {
		return raised, nil
	}
	err = l.db.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		tag, err := tx.Exec(ctx, adoptVersionSQL, version)
		raised += int(tag.RowsAffected())
		return err
	})
	return raised, pg.Fault(err, nil)
}

// adoptSome compares some last words with the database, and notes in the audit log
// what it raises.
func (l *lastWords) adoptSome(ctx context.Context, s *Server, words map[string]int64) (raised int, err error) {
	subjects := map[[16]byte]string{}
	var ids [][16]byte
	var generations []int64
	for subject, generation := range words {
		u, ok := subjectUUID(subject)
		if !ok {
			continue
		}
		subjects[u] = subject
		ids, generations = append(ids, u), append(generations, generation)
	}
	err = l.db.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		raised = 0
		for _, sql := range []string{adoptCredentialsSQL, adoptAdministratorsSQL} {
			rows, err := tx.Query(ctx, sql, ids, generations, s.instant())
			if err != nil {
				return err
			}
			type row struct {
				company    id.Company
				id         [16]byte
				generation int64
			}
			var list []row
			for rows.Next() {
				var r row
				if err := rows.Scan(&r.company, &r.id, &r.generation); err != nil {
					rows.Close()
					return err
				}
				list = append(list, r)
			}
			if err := rows.Err(); err != nil {
				return err
			}
			for _, r := range list {
				raised++
				err := s.store.audit(ctx, tx, r.company, s.instant(), "restore", "credential.revoke_again", subjects[r.id],
					Detail{Field: "generation", After: fmt.Sprint(r.generation)})
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
	return raised, pg.Fault(err, nil)
}
