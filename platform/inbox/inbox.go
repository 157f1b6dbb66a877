// Package inbox ensures that an event takes effect once, although the bus can deliver it
// several times. A consumer records the events that it handles in the same commit as their
// effect.
//
//	err := db.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
//		fresh, err := inbox.Once(ctx, tx, "booking-customers", msgs)
//		if err != nil {
//			return err
//		}
//		return applyAll(ctx, tx, fresh)
//	})
//
// # Invariants
//
//  1. Among the commits that handle an event for one consumer, exactly one gets it as a
//     fresh event.
//  2. An event whose transaction was rolled back counts as not handled.
package inbox

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

const recordSQL = `insert into inbox (consumer, event_id)
	select $1, event_id from unnest($2::uuid[]) as event_id
	on conflict do nothing
	returning event_id`

// Once records msgs as handled by consumer in tx and returns, in order, those that were
// not recorded before. If another transaction is handling a message, Once waits for it and
// returns the message only if that transaction fails.
func Once(ctx context.Context, tx *pg.Tx, consumer string, msgs []bus.Message) ([]bus.Message, error) {
	if len(msgs) == 0 {
		return nil, nil
	}
	ids := make([]pgtype.UUID, len(msgs))
	for i, m := range msgs {
		ids[i] = pgtype.UUID{Bytes: m.ID, Valid: true}
	}
	// One order of locks prevents a deadlock between two processes with the same events.
	slices.SortFunc(ids, func(a, b pgtype.UUID) int { return bytes.Compare(a.Bytes[:], b.Bytes[:]) })
	rows, err := tx.Query(ctx, recordSQL, consumer, ids)
	if err != nil {
		return nil, fmt.Errorf("inbox: %w", err)
	}
	unseen := make(map[id.UUID]bool, len(msgs))
	for rows.Next() {
		var event id.UUID
		if err := rows.Scan(&event); err != nil {
			rows.Close()
			return nil, fmt.Errorf("inbox: %w", err)
		}
		unseen[event] = true
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("inbox: %w", err)
	}
	fresh := make([]bus.Message, 0, len(unseen))
	for _, m := range msgs {
		if unseen[m.ID] {
			delete(unseen, m.ID)
			fresh = append(fresh, m)
		}
	}
	return fresh, nil
}

// pruneBatch keeps each delete short.
const pruneBatch = 5000

// pruneSQL deletes the oldest records from $3 until before $1, and returns how many, and the time of the last of them.
// The next call starts there, because the index keeps the deleted ones for as long as a backup sees them.
const pruneSQL = `with gone as (delete from inbox where ctid = any(array(
		select ctid from inbox where processed_at >= $3 and processed_at < $1
		order by processed_at limit $2 for update skip locked)) returning processed_at)
	select count(*), coalesce(max(processed_at), $3) from gone`

// Prune deletes the records of events handled before olderThan. olderThan must be longer
// ago than the streams keep events, because an event without a record counts as new.
func Prune(ctx context.Context, db *pg.DB, olderThan time.Time) error {
	var from time.Time
	for {
		var n int64
		err := db.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
			return tx.QueryRow(ctx, pruneSQL, olderThan, pruneBatch, from).Scan(&n, &from)
		})
		if err != nil {
			return fmt.Errorf("inbox: prune: %w", err)
		}
		if n < pruneBatch {
			return nil
		}
	}
}
