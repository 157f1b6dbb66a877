package reports

import (
	"context"
	"errors"
	"fmt"
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
// the events that it has handled.
type Intake struct {
	store     *store
	companies *tenancy.Companies
	metrics   *metrics
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

// portion is the events of one company in a batch.
type portion struct {
	company id.Company
	msgs    []bus.Message
}

// handle applies a batch of events, in a transaction for each company. A company whose events cannot be
// applied does not hold up the others.
func (in *Intake) handle(ctx context.Context, msgs []bus.Message) error {
	portions, err := portionsOf(msgs)
	if err != nil {
		return err
	}
	began := time.Now()
	defer func() { in.metrics.batches.Observe(time.Since(began).Seconds()) }()
	var mu sync.Mutex
	var faults []error
	var group errgroup.Group
	group.SetLimit(companiesAtOnce)
	for _, p := range portions {
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

// portionsOf groups events by their company.
func portionsOf(msgs []bus.Message) ([]*portion, error) {
	var all []*portion
	of := map[id.Company]*portion{}
	for _, m := range msgs {
		company := m.Company
		if isAboutCompany(m) {
			c, err := tenancy.FromEvent(m)
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", m.Subject, m.ID, err)
			}
			company = c.ID
		}
		p := of[company]
		if p == nil {
			p = &portion{company: company}
			of[company], all = p, append(all, p)
		}
		p.msgs = append(p.msgs, m)
	}
	return all, nil
}

func isAboutCompany(m bus.Message) bool {
	return m.Subject == subjects.CompanyCreated || m.Subject == subjects.CompanyUpdated
}

// errNoZone says that the copy of a company is missing.
var errNoZone = errors.New("the company's time zone is not known")

// applyPortion applies events of a company in one transaction.
func (in *Intake) applyPortion(ctx context.Context, p *portion) error {
	c := newFacts()
	var companies []tenancy.Company
	for _, m := range p.msgs {
		if isAboutCompany(m) {
			company, err := tenancy.FromEvent(m)
			if err != nil {
				return err
			}
			companies = append(companies, company)
			continue
		}
		conv := converter{facts: c}
		if err := conv.read(m); err != nil {
			return err
		}
	}
	err := in.apply(ctx, p, c, companies)
	if !errors.Is(err, errNoZone) {
		return err
	}
	if _, err := in.companies.Fetch(ctx, p.company); err != nil {
		if fault.Is(err, fault.NotFound) {
			return nil // events of a company that does not exist
		}
		return err
	}
	return in.apply(ctx, p, c, companies)
}

func (in *Intake) apply(ctx context.Context, p *portion, c *facts, companies []tenancy.Company) error {
	return in.store.Write(ctx, p.company, func(ctx context.Context, tx *pg.Tx) error {
		if len(companies) > 0 {
			if err := in.companies.Keep(ctx, tx, companies); err != nil {
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
			if err := in.store.apply(ctx, tx, p.company, g, c); err != nil {
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
