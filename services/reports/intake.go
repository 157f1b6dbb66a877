package reports

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/subjects"
	"reservation.dev/platform/tenancy"
)

// Intake applies events to the read models. Applying an event again changes nothing, so it keeps no record of
// the events that it has handled. An event that cannot be read is logged, counted and not handled again: a rebuild of
// the company's read models makes up for it.
type Intake struct {
	store     *store
	companies *tenancy.Companies
	metrics   *metrics
	log       *slog.Logger
	// published returns up to when all owners have published the events of their commits.
	published func(ctx context.Context) (time.Time, error)
	marks     []mark // of Watch, ascending
	caughtUp  atomic.Pointer[time.Time]
	now       func() time.Time
}

// mark says that the events up to a sequence number have all changes up to a time.
type mark struct {
	at       time.Time
	sequence uint64
}

const (
	// intakeBatch is the number of events that are applied together.
	intakeBatch = 300
	// companiesAtOnce is the number of companies whose events are applied at the same time.
	companiesAtOnce = 4
	// lagEvery is how often the intake looks how far it is.
	lagEvery = 2 * time.Second
	// mostMarks is the number of marks that can wait for their events. When the intake is so late, it sets no
	// new ones.
	mostMarks = 1000
)

// Run consumes events until ctx ends.
func (in *Intake) Run(ctx context.Context, b *bus.Bus) error {
	return b.Consume(ctx, bus.Consumer{Name: consumer, Batch: intakeBatch, Handle: in.handle, Subjects: consumed()})
}

// portion is the events of one company in a batch, and what could be read of them.
type portion struct {
	company   id.Company
	msgs      []bus.Message
	facts     *facts
	companies []tenancy.Company
	readable  int // the number of events that could be read
}

// handle applies a batch of events, in a transaction for each company. A company whose events cannot be
// applied does not hold up the others.
func (in *Intake) handle(ctx context.Context, msgs []bus.Message) error {
	began := time.Now()
	defer func() { in.metrics.batches.Observe(time.Since(began).Seconds()) }()
	var mu sync.Mutex
	var faults []error
	var group errgroup.Group
	group.SetLimit(companiesAtOnce)
	for _, p := range in.portionsOf(msgs) {
		group.Go(func() error {
			if err := in.applyPortion(ctx, p); err != nil {
				mu.Lock()
				defer mu.Unlock()
				faults = append(faults, fmt.Errorf("%s: %w", p.company, err))
			}
			return nil
		})
	}
	_ = group.Wait()
	return errors.Join(faults...)
}

// portionsOf groups events by their company and reads them.
func (in *Intake) portionsOf(msgs []bus.Message) []*portion {
	var all []*portion
	of := map[id.Company]*portion{}
	portion := func(company id.Company) *portion {
		if of[company] == nil {
			of[company] = newPortion(company)
			all = append(all, of[company])
		}
		return of[company]
	}
	for _, m := range msgs {
		if !isAboutCompany(m) {
			p := portion(m.Company)
			p.msgs = append(p.msgs, m)
			continue
		}
		company, err := tenancy.FromEvent(m)
		if err != nil {
			in.setAside(m, err)
			continue
		}
		p := portion(company.ID)
		p.companies = append(p.companies, company)
		p.readable++
	}
	for _, p := range all {
		in.read(p)
	}
	return all
}

func newPortion(company id.Company) *portion { return &portion{company: company, facts: newFacts()} }

// read reads the facts of the events of a portion. An event that cannot be read adds none, so each is first read alone.
func (in *Intake) read(p *portion) {
	for _, m := range p.msgs {
		alone := converter{facts: newFacts()}
		if err := alone.read(m); err != nil {
			in.setAside(m, err)
			continue
		}
		conv := converter{facts: p.facts}
		_ = conv.read(m) // it has succeeded above
		p.readable++
	}
}

// setAside logs and counts an event that cannot be read.
func (in *Intake) setAside(m bus.Message, err error) {
	in.metrics.unreadable.Inc()
	in.log.Error("an event cannot be read and is left out of the reports of its company; rebuild them", "subject", m.Subject,
		"event", m.ID.String(), "company", m.Company.String(), "request_id", m.Trace[bus.RequestID], "error", err)
}

func isAboutCompany(m bus.Message) bool {
	return m.Subject == subjects.CompanyCreated || m.Subject == subjects.CompanyUpdated
}

// errNoZone says that the copy of a company is missing.
var errNoZone = errors.New("the company's time zone is not known")

// applyPortion applies events of a company in one transaction.
func (in *Intake) applyPortion(ctx context.Context, p *portion) error {
	if p.readable == 0 {
		return nil
	}
	err := in.apply(ctx, p)
	if !errors.Is(err, errNoZone) {
		return err
	}
	if _, err := in.companies.Fetch(ctx, p.company); err != nil {
		if fault.Is(err, fault.NotFound) {
			return nil // events of a company that does not exist
		}
		return err
	}
	return in.apply(ctx, p)
}

func (in *Intake) apply(ctx context.Context, p *portion) error {
	return in.store.Write(ctx, p.company, func(ctx context.Context, tx *pg.Tx) error {
		if len(p.companies) > 0 {
			if err := in.companies.Keep(ctx, tx, p.companies); err != nil {
				return err
			}
		}
		l, err := in.store.lock(ctx, tx, p.company)
		if err != nil {
			return err
		}
		if l.zone == "" {
			return errNoZone
		}
		if l.needsBuild() {
			if err := in.store.start(ctx, tx, p.company, &l, in.now()); err != nil {
				return err
			}
		}
		for _, g := range l.live {
			if err := in.store.apply(ctx, tx, p.company, g, p.facts); err != nil {
				return err
			}
		}
		return nil
	})
}

// Watch keeps the time up to which all changes are applied, until ctx ends.
func (in *Intake) Watch(ctx context.Context, b *bus.Bus) error {
	ticker := time.NewTicker(lagEvery)
	defer ticker.Stop()
	for {
		in.look(ctx, b)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// look asks the owners up to when their events are published, and then how far the stream and the consumer are.
// Each answer is older than the next one, so the result is never too late. Without an answer, it stays as it was.
func (in *Intake) look(ctx context.Context, b *bus.Bus) {
	ctx, cancel := context.WithTimeout(ctx, lagEvery)
	defer cancel()
	defer func() {
		if last := in.caughtUp.Load(); last != nil {
			in.metrics.lag.Set(in.now().Sub(*last).Seconds())
		}
	}()
	at := in.now()
	published, publishedErr := in.published(ctx)
	handled, last, err := b.Progress(ctx, consumer)
	if err != nil {
		return
	}
	if published.Before(at) {
		at = published
	}
	if publishedErr == nil && len(in.marks) < mostMarks {
		in.marks = append(in.marks, mark{at, last})
	}
	in.reach(handled)
}

// reach removes the marks whose events are all handled.
func (in *Intake) reach(handled uint64) {
	for len(in.marks) > 0 && in.marks[0].sequence <= handled {
		at := in.marks[0].at
		in.marks = in.marks[1:]
		if last := in.caughtUp.Load(); last == nil || at.After(*last) {
			in.caughtUp.Store(&at)
		}
	}
}

// complete returns up to when all changes are in a generation that reports show. Its snapshots have all changes
// from before its build.
func (in *Intake) complete(g *generation) time.Time {
	if at := in.caughtUp.Load(); at != nil && at.After(g.StartedAt) {
		return *at
	}
	return g.StartedAt
}
