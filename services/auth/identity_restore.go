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

const (
	// adoptBatch is how many last words one statement compares with the database.
	adoptBatch = 5000
	// adoptLimit is how long reading all last words may take.
	adoptLimit = 2 * time.Minute
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
