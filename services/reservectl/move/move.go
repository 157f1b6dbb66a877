package move

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// Directory knows in which cell each company is, such as a router in front of the cells. Its methods can be called
// again.
type Directory interface {
	// Moving is called before the company's requests are refused, so that the directory can hold them back.
	Moving(ctx context.Context, company id.Company, from, to string) error
	// Moved is called when the company is open in a cell: in the new one after a move, in the old one after a
	// freeze that failed, or an abort.
	Moved(ctx context.Context, company id.Company, cell string) error
}

// Mover moves a company.
type Mover struct {
	From, To *Cell
	Company  id.Company
	// Freeze is the longest time for which the company's requests are refused before the source opens again.
	Freeze    time.Duration
	Directory Directory
	// Verify recomputes the company's numbers in a cell, and fails if some differ.
	Verify func(ctx context.Context, c *Cell, company id.Company) error
	// Keys returns the identifiers of the master keys of a cell, beginning with the one that encrypts.
	Keys func(ctx context.Context, c *Cell) ([][]byte, error)
	// Progress receives a line for each step.
	Progress io.Writer

	companies []id.Company // with the test company
	databases []*database

	mu       sync.Mutex
	compared int64
}

// Result describes a move that is complete.
type Result struct {
	Rows   int64         // compared
	Frozen time.Duration // how long no cell answered; 0 if an earlier command did the rest
}

var (
	// ErrNotMoving is returned by Abort and Finish if the company does not move.
	ErrNotMoving = errors.New("the company is not being moved between these cells")
	errSwitched  = errors.New("the company has switched to the other cell, so the move cannot be aborted; move it back instead")
	errBusy      = errors.New("another command moves this company at the moment")
)

func (m *Mover) progress(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	fmt.Fprintf(m.Progress, format+"\n", args...)
}

func (m *Mover) addCompared(rows int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.compared += rows
}

// each calls f for all databases at the same time. Errors begin with the service's name.
func (m *Mover) each(ctx context.Context, f func(d *database, ctx context.Context, m *Mover) error) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, d := range m.databases {
		g.Go(func() error {
			err := f(d, ctx, m)
			var l late
			if err == nil || errors.As(err, &l) {
				return err
			}
			return fmt.Errorf("%s: %w", d.service, err)
		})
	}
	return g.Wait()
}

// auth returns the database with the decision.
func (m *Mover) auth() *database {
	for _, d := range m.databases {
		if d.service == authService {
			return d
		}
	}
	panic("auth has a database")
}

// lockSQL lets one command at a time move a company from a cell, and one to a cell. The lock ends with the
// connection. That to the source's database of auth also makes the decision, so no command decides without the lock.
const lockSQL = `select pg_try_advisory_lock(hashtextextended('company move ' || $1::text, 0))`

// open connects to both cells. The caller calls close, also after an error.
func (m *Mover) open(ctx context.Context) error {
	if err := m.openSource(ctx); err != nil {
		return err
	}
	return m.openTarget(ctx)
}

// openSource connects to the source. The caller calls close, also after an error.
func (m *Mover) openSource(ctx context.Context) error {
	m.Company = m.Company.Live()
	m.companies = []id.Company{m.Company, m.Company.Test()}
	if m.From.Name == m.To.Name {
		return errors.New("the company moves to another cell; --from and --to name the same one")
	}
	for _, service := range Services() {
		m.databases = append(m.databases, &database{service: service, source: m.From.reachableAs(service)})
	}
	if err := m.each(ctx, (*database).connectSource); err != nil {
		return err
	}
	return m.lock(ctx, m.auth().from)
}

// openTarget connects to the target, after openSource.
func (m *Mover) openTarget(ctx context.Context) error {
	if err := m.each(ctx, (*database).connectTarget); err != nil {
		return err
	}
	return m.lock(ctx, m.auth().to)
}

const (
	// lockWait is how long a command waits for the lock of another one, because a server can notice late that a
	// command has ended and closed its connection.
	lockWait  = 5 * time.Second
	lockPause = 100 * time.Millisecond
)

// lock takes the lock of the company in a cell.
func (m *Mover) lock(ctx context.Context, auth *pgx.Conn) error {
	for until := time.Now().Add(lockWait); ; {
		free, err := one[bool](ctx, auth, lockSQL, m.Company.String())
		if err != nil || free {
			return err
		}
		if time.Now().After(until) {
			return errBusy
		}
		if err := pause(ctx, lockPause); err != nil {
			return err
		}
	}
}

func (m *Mover) close(ctx context.Context) {
	for _, d := range m.databases {
		d.close(context.WithoutCancel(ctx))
	}
	m.databases = nil
}

// state is what the marks in auth's databases say.
type state struct {
	from, to *pg.Move
	// movedOn reports that the company came to the target earlier, and has left it.
	movedOn bool
}

// switched reports whether the decision is made.
func (s state) switched() bool { return s.from != nil && s.from.State == pg.Left }

// state reads the marks, and refuses those of a move between other cells.
func (m *Mover) state(ctx context.Context) (s state, err error) {
	d := m.auth()
	if s.from, err = pg.MoveOf(ctx, d.from, m.Company); err != nil {
		return s, fmt.Errorf("cell %s: %w", m.From.Name, err)
	}
	if s.to, err = pg.MoveOf(ctx, d.to, m.Company); err != nil {
		return s, fmt.Errorf("cell %s: %w", m.To.Name, err)
	}
	switch {
	case s.from != nil && s.from.State == pg.Arriving:
		return s, fmt.Errorf("the company is moving from %s to %s: end that move first", s.from.OtherCell, m.From.Name)
	case s.from != nil && s.from.OtherCell != m.To.Name:
		return s, fmt.Errorf("the company moves from %s to %s, not to %s", m.From.Name, s.from.OtherCell, m.To.Name)
	case s.to != nil && s.to.State == pg.Left:
		// The mark outlives the rows. It says nothing if they are deleted.
		rows, err := one[int64](ctx, d.to, companiesSQL, keys(m.companies[:1]))
		if err == nil && rows == 0 {
			s.to, s.movedOn = nil, true
			return s, nil
		}
		if err != nil {
			return s, err
		}
		return s, fmt.Errorf("rows of an earlier stay of the company are in %s: finish the move to %s first (--from %[1]s --to %[2]s --finish)", m.To.Name, s.to.OtherCell)
	case s.to != nil && (s.to.State != pg.Arriving || s.to.OtherCell != m.From.Name):
		return s, fmt.Errorf("the company moves between %s and %s: end that move first", m.To.Name, s.to.OtherCell)
	}
	return s, nil
}

// Run moves the company, or continues a move. After an error, run it again, or Abort.
func (m *Mover) Run(ctx context.Context) (Result, error) {
	defer m.close(ctx)
	if err := m.open(ctx); err != nil {
		return Result{}, err
	}
	s, err := m.state(ctx)
	if err != nil {
		return Result{}, err
	}
	var began time.Time
	if !s.switched() {
		if err := m.prepare(ctx, s); err != nil {
			return Result{}, err
		}
		if began, err = m.toDecision(ctx); err != nil {
			return Result{}, err
		}
	}
	if err := m.complete(ctx); err != nil {
		return Result{}, fmt.Errorf("the company has switched to %s; repeat the command to complete the move: %w", m.To.Name, err)
	}
	r := Result{Rows: m.compared}
	if !began.IsZero() {
		r.Frozen = time.Since(began)
		m.progress("the company is open in %s; no cell answered for %s", m.To.Name, r.Frozen.Round(time.Millisecond))
	}
	if err := m.each(ctx, func(d *database, ctx context.Context, m *Mover) error { return d.stopCopy(ctx, m.Company) }); err != nil {
		return r, fmt.Errorf("the company is open in %s; repeat the command to remove the replication: %w", m.To.Name, err)
	}
	m.progress("verifying the company in %s", m.To.Name)
	if err := m.verify(ctx, m.To, m.auth().to); err != nil {
		return r, fmt.Errorf("the company is open in %s, but its numbers do not add up there: %w", m.To.Name, err)
	}
	return r, nil
}

// prepare checks a new move. Before it continues one, it opens the source, because an earlier command may have been
// killed during the freeze, and the copy may need long or fail.
func (m *Mover) prepare(ctx context.Context, s state) error {
	if s.from == nil && s.to == nil {
		return m.check(ctx)
	}
	m.progress("continuing the move")
	return m.reopen(ctx)
}

// toDecision copies the company, freezes it and makes the decision. It returns when the freeze began.
func (m *Mover) toDecision(ctx context.Context) (began time.Time, err error) {
	source, err := m.From.connect(ctx)
	if err != nil {
		return began, err
	}
	defer source.Close()
	target, err := m.To.connect(ctx)
	if err != nil {
		return began, err
	}
	defer target.Close()
	// Auth's mark comes first, because it says that there is something to continue or to abort.
	if err := mark(ctx, m.auth().to, m.companies, pg.Arriving, m.From.Name); err != nil {
		return began, fmt.Errorf("cell %s: %w", m.To.Name, err)
	}
	if err := m.each(ctx, (*database).arrive); err != nil {
		return began, err
	}
	if err := m.each(ctx, (*database).awaitCopy); err != nil {
		return began, err
	}
	if err := m.copyFiles(ctx); err != nil {
		return began, err
	}
	if err := m.each(ctx, (*database).awaitApplied); err != nil {
		return began, err
	}
	m.progress("copied; refusing the company's requests in %s", m.From.Name)
	began = time.Now()
	err = m.Directory.Moving(ctx, m.Company, m.From.Name, m.To.Name)
	if err == nil {
		err = m.freeze(ctx, source, target)
	}
	if err == nil {
		// The decision.
		err = pg.LeaveMove(ctx, m.auth().from, m.To.Name, m.companies...)
	}
	if err == nil {
		return began, nil
	}
	// A statement that was cancelled has closed its connection, and leaves open whether the decision was made.
	left, leftErr := m.hasLeft(ctx)
	switch {
	case leftErr != nil:
		return began, errors.Join(err, fmt.Errorf("repeat the command: %w", leftErr))
	case left:
		return began, m.each(ctx, (*database).connectTarget)
	}
	return began, errors.Join(err, m.reopen(ctx))
}

// hasLeft reports, after an error, whether the decision was made. It does not need the target, which may be the
// cause of the error.
func (m *Mover) hasLeft(ctx context.Context) (left bool, err error) {
	err = m.withSource(ctx, func(ctx context.Context) error {
		// A new connection needs the lock too. The server can notice late that the last one was closed.
		if err := m.lock(ctx, m.auth().from); err != nil {
			return err
		}
		now, err := pg.MoveOf(ctx, m.auth().from, m.Company)
		left = now != nil && now.State == pg.Left
		return err
	})
	return left, err
}

const (
	// reopenLimit bounds the end of a freeze that failed. It begins after ctx may have ended, and is long enough
	// for a failover of the source.
	reopenLimit = time.Minute
	reopenPause = 100 * time.Millisecond
)

// withSource calls f until it succeeds, for at most reopenLimit, and replaces closed connections to the source.
func (m *Mover) withSource(ctx context.Context, f func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reopenLimit)
	defer cancel()
	for {
		err := m.each(ctx, (*database).connectSource)
		if err == nil {
			err = f(ctx)
		}
		if err == nil || pause(ctx, reopenPause) != nil {
			return err
		}
	}
}

// complete opens the target after the decision. It can be repeated.
func (m *Mover) complete(ctx context.Context) error {
	err := m.each(ctx, func(d *database, ctx context.Context, m *Mover) error {
		if err := mark(ctx, d.from, m.companies, pg.Left, m.To.Name); err != nil {
			return err
		}
		return unmark(ctx, d.to, m.companies, pg.Arriving)
	})
	if err != nil {
		return err
	}
	return m.Directory.Moved(ctx, m.Company, m.To.Name)
}
