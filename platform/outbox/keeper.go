package outbox

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
)

const (
	// beginSQL lets the relay see the events of all companies. It also turns off
	// synchronous commits, because the relay's writes can be lost in a crash of the server:
	// the row then still exists, and its event is published again under the same id. And it has
	// each statement planned for the present size of the table: a plan for the table while it is
	// almost empty would read all of it when it is full of dead rows.
	beginSQL = `select set_config('synchronous_commit', 'off', true), set_config('app.company_id', '*', true), set_config('plan_cache_mode', 'force_custom_plan', true), set_config('enable_seqscan', 'off', true)`

	// claimSQL leases the oldest events after a place that no relay holds.
	claimSQL = `update outbox_events set lease = $1, lease_until = now() + make_interval(secs => $2), attempt = attempt + 1
		where id in (
			select id from outbox_events where (lease_until is null or lease_until <= now()) and (created_at, id) > ($4, $5)
			order by created_at, id limit $3 for update skip locked)
		returning id, company_id, subject, payload, trace, occurred_at, created_at, attempt`

	deleteSQL = `delete from outbox_events where lease = $1 and id = any($2)`

	// releaseSQL releases events, each to be tried again after its own delay.
	releaseSQL = `update outbox_events o set lease = null, lease_until = now() + make_interval(secs => r.delay)
		from unnest($2::uuid[], $3::float8[]) as r (id, delay)
		where o.id = r.id and o.lease = $1`
)

// place is a place in the order in which rows are claimed. Its zero value is the beginning.
type place struct {
	createdAt time.Time
	id        id.UUID
}

// keeper records outcomes and searches the table for rows without a lease: those of commits
// while the queue was closed, of imports, and of crashed relays.
type keeper struct {
	*Outbox
	search     *place    // where the search continues; nil: none is in progress
	pollAt     time.Time // when to search the recent rows
	completeAt time.Time // when to search all rows
	retryAt    time.Time // when to search for released rows; zero: there are none
}

// keep runs a keeper until ctx ends.
func (o *Outbox) keep(ctx context.Context) {
	k := keeper{Outbox: o, search: new(place)}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for trouble := 0; ; {
		again := o.bus.Reconnected()
		wait, err := k.step(ctx)
		work := o.queue.work
		if err == nil {
			trouble = 0
		} else {
			if trouble++; trouble%logEvery == 1 {
				o.log.Warn("outbox relay failed, trying again", "error", err, "tries", trouble)
			}
			wait = min(troublePause<<min(trouble-1, 3), pollEvery)
			work = nil // every commit would repeat a try that has just failed
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-again:
		case <-work:
		}
	}
}

// step does what is due, in at most one round trip, and returns when to call it again if
// the queue does not signal work.
func (k *keeper) step(ctx context.Context) (wait time.Duration, err error) {
	now := time.Now()
	k.begin(now)
	var claim *place
	if k.search != nil && k.queue.hasRoom() {
		if claim = k.search; !k.bus.Connected() {
			claim, err = nil, k.bus.Ready(ctx)
		}
	}
	done, settleAt := k.queue.takeOutcome(now, claim != nil)
	if claim == nil && done.len() == 0 {
		return time.Until(k.next(now, settleAt)), err
	}
	rows, failure := k.settleAndClaim(ctx, done, claim)
	if failure != nil {
		k.queue.giveBack(done)
		return 0, failure
	}
	k.retryLater(done)
	if claim != nil {
		k.pollAt = now.Add(pollEvery)
		k.queue.feed(rows)
		k.advance(rows)
	}
	return 0, cmp.Or(done.unavailable, err)
}

// next returns the time of the next step, if the next outcomes are to be recorded at settleAt.
func (k *keeper) next(now, settleAt time.Time) time.Time {
	at := k.pollAt
	if k.search != nil { // it waits for room in the queue
		at = now.Add(pollEvery)
	}
	for _, other := range []time.Time{settleAt, k.retryAt} {
		if !other.IsZero() && other.Before(at) {
			at = other
		}
	}
	return at
}

// retryLater begins a new search for events that were released, now or when the first of them
// is to be tried again.
func (k *keeper) retryLater(done outcome) {
	for _, delay := range done.delays {
		at := time.Now().Add(time.Duration(delay * float64(time.Second)))
		if k.retryAt.IsZero() || at.Before(k.retryAt) {
			k.retryAt = at
		}
	}
}

// begin begins a search if one is due.
func (k *keeper) begin(now time.Time) {
	switch {
	case !k.retryAt.IsZero() && now.After(k.retryAt):
		k.search, k.retryAt = new(place), time.Time{}
	case k.search != nil:
	case k.queue.takeWanted(), now.After(k.completeAt):
		k.search, k.completeAt = new(place), now.Add(searchEvery)
	case now.After(k.pollAt):
		k.search = &place{createdAt: now.Add(-recent)}
	}
}

// advance continues the search after rows, which were claimed. If there are no more rows, it
// opens the queue, and searches once more for rows of commits before that.
func (k *keeper) advance(rows []leased) {
	switch {
	case len(rows) == batchSize:
		last := &rows[len(rows)-1]
		k.search = &place{createdAt: last.createdAt, id: last.ID}
	case !k.queue.isOpen():
		k.queue.setOpen()
		k.search = new(place)
	default:
		k.search = nil
	}
}

// settleAndClaim records outcomes and leases rows after a place, in one round trip. It does
// not claim if from is nil.
func (o *Outbox) settleAndClaim(ctx context.Context, done outcome, from *place) (rows []leased, err error) {
	// A lease must not be lost because ctx ends during the round trip.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	batch := &pgx.Batch{}
	batch.Queue(beginSQL)
	if len(done.published) > 0 {
		batch.Queue(deleteSQL, o.lease, done.published)
	}
	if len(done.unpublished) > 0 {
		batch.Queue(releaseSQL, o.lease, done.unpublished, done.delays)
	}
	if from != nil {
		expires := time.Now().Add(leaseTime - publishTime)
		batch.Queue(claimSQL, o.lease, leaseTime.Seconds(), batchSize, from.createdAt, from.id).Query(func(r pgx.Rows) (err error) {
			rows, err = pgx.CollectRows(r, func(r pgx.CollectableRow) (leased, error) { return scanLeased(r, expires) })
			return err
		})
	}
	if batch.Len() == 1 {
		return nil, nil
	}
	// The statements run as one implicit transaction that sees all companies.
	if err := o.db.Job(ctx, batch); err != nil {
		return nil, fmt.Errorf("outbox: %w", err)
	}
	slices.SortFunc(rows, func(a, b leased) int {
		return cmp.Or(a.createdAt.Compare(b.createdAt), bytes.Compare(a.ID[:], b.ID[:]))
	})
	return rows, nil
}

func scanLeased(r pgx.CollectableRow, expires time.Time) (leased, error) {
	l := leased{expires: expires}
	var trace []byte
	err := r.Scan(&l.ID, &l.Company, &l.Subject, &l.Payload, &trace, &l.OccurredAt, &l.createdAt, &l.attempt)
	if err == nil && trace != nil {
		err = json.Unmarshal(trace, &l.Trace)
	}
	return l, err
}
