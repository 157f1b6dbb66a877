package move

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/pg"
)

const (
	waitingEventsSQL = `select count(*) from outbox_events where company_id = any ($1)`

	// barrierSQL writes to the log and returns the place, which is flushed when the statement ends.
	barrierSQL = `select pg_logical_emit_message(true, 'reservation', 'company move')::text`

	confirmedSQL = `select coalesce(confirmed_flush_lsn >= $2::pg_lsn, false) from pg_replication_slots
		where slot_name = $1 and wal_status is distinct from 'lost'`

	// freezePoll is how often the state is read while the company is refused.
	freezePoll = 25 * time.Millisecond
)

// late is the error of a wait during the freeze: what was not ready when the time ended. It does not wrap the end of
// the context, which would be reported as a service that does not respond.
type late string

func (l late) Error() string { return string(l) }

// leave stops the company in a database of the source.
func (d *database) leave(ctx context.Context, m *Mover) error {
	err := mark(ctx, d.from, m.companies, pg.Leaving, m.To.Name)
	if errors.Is(err, context.DeadlineExceeded) {
		return late(d.service + ": transactions that began before the freeze have not ended")
	}
	return err
}

// settle returns when everything that requests of the companies have caused is in the databases: no event waits
// in an outbox, and the consumers have handled all of them.
func (m *Mover) settle(ctx context.Context, b *bus.Bus) error {
	for {
		if err := m.each(ctx, (*database).awaitPublished); err != nil {
			return err
		}
		last, err := b.LastEvent(ctx)
		if err != nil {
			return err
		}
		if err := b.AwaitHandled(ctx); err != nil {
			if ctx.Err() != nil {
				return late(err.Error())
			}
			return err
		}
		// Consumers may have published further events, which are still in an outbox or follow last.
		waiting, err := m.waiting(ctx)
		if err != nil {
			return err
		}
		if waiting > 0 {
			continue
		}
		more, err := b.HasAfter(ctx, last, m.companies...)
		if err != nil || !more {
			return err
		}
	}
}

// awaitPublished returns when no event of the companies waits to be published.
func (d *database) awaitPublished(ctx context.Context, m *Mover) error {
	for {
		n, err := one[int64](ctx, d.from, waitingEventsSQL, keys(m.companies))
		if err != nil || n == 0 {
			return err
		}
		if err := pause(ctx, freezePoll); err != nil {
			return late(fmt.Sprintf("%s: %d events wait to be published", d.service, n))
		}
	}
}

// waiting counts the events in all outboxes.
func (m *Mover) waiting(ctx context.Context) (all int64, err error) {
	for _, d := range m.databases {
		n, err := one[int64](ctx, d.from, waitingEventsSQL, keys(m.companies))
		if err != nil {
			return 0, fmt.Errorf("%s: %w", d.service, err)
		}
		all += n
	}
	return all, nil
}

// errNoSlot is returned if PostgreSQL no longer keeps the changes of the source for the target.
var errNoSlot = errors.New("the replication slot of the source is gone, for example after a failover; abort the move and begin again")

// awaitApplied returns when the target has everything that the source has written, on its standbys too: the target
// confirms changes as soon as its own disk has them, but a commit of its own waits for a synchronous standby.
func (d *database) awaitApplied(ctx context.Context, m *Mover) error {
	barrier, err := one[string](ctx, d.from, barrierSQL)
	if err != nil {
		return err
	}
	for {
		confirmed, err := one[bool](ctx, d.from, confirmedSQL, d.name(m.Company), barrier)
		if errors.Is(err, pgx.ErrNoRows) {
			return errNoSlot
		}
		if err != nil {
			return err
		}
		if confirmed {
			return d.awaitStandbys(ctx)
		}
		if err := pause(ctx, freezePoll); err != nil {
			return late(d.service + ": the target has not applied all changes")
		}
	}
}

// awaitStandbys returns when the target's synchronous standbys have what the target has.
func (d *database) awaitStandbys(ctx context.Context) error {
	_, err := one[string](ctx, d.to, barrierSQL)
	if ctx.Err() != nil {
		return late(d.service + ": the standby of the target has not received all changes")
	}
	return err
}

// freeze stops the company at the source until the target has everything, and compares both sides.
func (m *Mover) freeze(ctx context.Context, source, target *bus.Bus) error {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, m.Freeze)
	defer cancel()
	for _, step := range []struct {
		name string
		run  func() error
	}{
		{"requests are refused", func() error { return m.each(ctx, (*database).leave) }},
		{"events are handled", func() error { return m.settle(ctx, source) }},
		{"changes are applied", func() error { return m.each(ctx, (*database).awaitApplied) }},
		{"files are copied", func() error { return m.copyFiles(ctx) }},
		{"both sides are the same", func() error { return m.each(ctx, (*database).compare) }},
		{"revocations are published", func() error { return m.revokeAgain(ctx, target) }},
		{"sequences are raised", func() error { return m.each(ctx, (*database).raiseSequences) }},
	} {
		if err := step.run(); err != nil {
			if ctx.Err() != nil {
				return late(fmt.Sprintf("not ready within %s, in the step %q: %v", m.Freeze, step.name, err))
			}
			return err
		}
		m.progress("frozen for %s: %s", time.Since(began).Round(time.Millisecond), step.name)
	}
	return nil
}

// reopen opens the company in a database of the source again.
func (d *database) reopen(ctx context.Context, m *Mover) error {
	return unmark(ctx, d.from, m.companies, pg.Leaving)
}

// reopen opens the source again.
func (m *Mover) reopen(ctx context.Context) error {
	err := m.withSource(ctx, func(ctx context.Context) error { return m.each(ctx, (*database).reopen) })
	if err != nil {
		return fmt.Errorf("the source is still closed; repeat the command, or abort: %w", err)
	}
	if err := m.Directory.Moved(context.WithoutCancel(ctx), m.Company, m.From.Name); err != nil {
		return fmt.Errorf("the source is open again, but the directory does not know: %w", err)
	}
	m.progress("the company is open again in %s", m.From.Name)
	return nil
}
