package move

import (
	"context"
	"errors"
	"fmt"
	"time"

	"reservation.dev/platform/pg"
)

// Abort ends a move before the decision: the source is open, and nothing of the company is at the target,
// except the mark of an earlier stay, which refuses its tokens.
func (m *Mover) Abort(ctx context.Context) error {
	defer m.close(ctx)
	if err := m.openSource(ctx); err != nil {
		return err
	}
	if err := m.each(ctx, (*database).connectTarget); err != nil {
		return errors.Join(err, m.reopenAlone(ctx))
	}
	if err := m.lock(ctx, m.auth().to); err != nil {
		return err
	}
	s, err := m.state(ctx)
	switch {
	case err != nil:
		return err
	case s.switched():
		return errSwitched
	case s.from == nil && s.to == nil:
		return ErrNotMoving
	}
	if err := m.reopen(ctx); err != nil {
		return err
	}
	m.progress("removing the copy from %s", m.To.Name)
	err = m.each(ctx, func(d *database, ctx context.Context, m *Mover) error {
		if err := d.stopCopy(ctx, m.Company); err != nil {
			return err
		}
		_, err := d.deleteRows(ctx, d.to, m.companies)
		return err
	})
	if err != nil {
		return err
	}
	if err := m.removeFiles(ctx, m.To); err != nil {
		return err
	}
	// Auth's mark goes last, because it says that there is something to abort.
	for _, d := range append(m.others(), m.auth()) {
		for _, company := range m.companies {
			if err := pg.AbortArrival(ctx, d.to, company); err != nil {
				return fmt.Errorf("%s: %w", d.service, err)
			}
		}
	}
	return nil
}

// reopenAlone opens a frozen company at the source while the target cannot be reached. The copy stays at the target.
func (m *Mover) reopenAlone(ctx context.Context) error {
	now, err := pg.MoveOf(ctx, m.auth().from, m.Company)
	if err != nil || now != nil && (now.State != pg.Leaving || now.OtherCell != m.To.Name) {
		return err
	}
	if err := m.reopen(ctx); err != nil {
		return err
	}
	return fmt.Errorf("the copy stays in %s: repeat --abort when the cell can be reached", m.To.Name)
}

// others returns the databases except that of auth.
func (m *Mover) others() (all []*database) {
	for _, d := range m.databases {
		if d.service != authService {
			all = append(all, d)
		}
	}
	return all
}

const (
	// tokenLife is the longest lifetime of an access token. Until the last one has expired, a mark keeps its company
	// from coming into being again at the source.
	tokenLife = 24 * time.Hour
	// clockSkew is how much the clocks of services differ at most.
	clockSkew = time.Minute
)

// Finished describes what Finish has removed.
type Finished struct {
	Rows int64
	// MarkUntil is when another Finish can remove the mark; zero: it is removed.
	MarkUntil time.Time
}

// Finish deletes the company's rows, files and events at the source, after a move that is complete.
func (m *Mover) Finish(ctx context.Context) (f Finished, err error) {
	defer m.close(ctx)
	if err := m.open(ctx); err != nil {
		return f, err
	}
	s, err := m.state(ctx)
	if err != nil {
		return f, err
	}
	if !s.switched() {
		return f, ErrNotMoving
	}
	arrived, err := one[int64](ctx, m.auth().to, companiesSQL, keys(m.companies[:1]))
	if err != nil {
		return f, err
	}
	if s.to != nil || arrived == 0 && !s.movedOn {
		return f, fmt.Errorf("the company is not open in %s: repeat the move first", m.To.Name)
	}
	for _, d := range m.databases {
		subscribed, err := one[bool](ctx, d.to, hasSubscriptionSQL, d.name(m.Company))
		if err != nil {
			return f, fmt.Errorf("%s: %w", d.service, err)
		}
		if subscribed { // it would delete the rows at the target too
			return f, fmt.Errorf("%s: the target still follows the source: repeat the move first", d.service)
		}
	}
	for _, d := range m.databases {
		n, err := d.deleteRows(ctx, d.from, m.companies)
		f.Rows += n
		if err != nil {
			return f, err
		}
		m.progress("%s: %d rows deleted in %s", d.service, n, m.From.Name)
	}
	if err := m.removeFiles(ctx, m.From); err != nil {
		return f, err
	}
	events, err := m.removeEvents(ctx)
	if err != nil {
		return f, err
	}
	m.progress("%d events removed in %s", events, m.From.Name)
	now, err := one[time.Time](ctx, m.auth().from, `select clock_timestamp()`)
	if err != nil {
		return f, err
	}
	if until := s.from.EffectiveAt.Add(tokenLife + clockSkew); now.Before(until) {
		f.MarkUntil = until
		return f, nil
	}
	for _, d := range append(m.others(), m.auth()) {
		if err := unmark(ctx, d.from, m.companies, pg.Left); err != nil {
			return f, fmt.Errorf("%s: %w", d.service, err)
		}
	}
	return f, nil
}
