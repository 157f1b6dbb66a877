package subscription

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/service"
	"reservation.dev/services/subscription/model"
)

const (
	// jobsEvery is the interval between searches for due work.
	jobsEvery = time.Second
	// advanceBatch is the number of subscriptions that are looked up at once.
	advanceBatch = 100
	// stepsAtOnce is the largest number of steps in one commit of the job.
	stepsAtOnce = 50
	// maxSteps is the largest number of steps in one commit of a request. It is more than an outage of
	// years can cause.
	maxSteps = 2000
	// runTime is how long one run of a job continues while it finds more work.
	runTime = 5 * time.Second
	// callsAtOnce is the maximum number of subscriptions that a job handles at the same time, and
	// callsOfCompany how many of them are those of one company.
	callsAtOnce    = 8
	callsOfCompany = 4
)

// Advance moves subscriptions whose next step is due and sends states to the pass service, until ctx ends. Any
// number of processes can run it at the same time.
func (s *Server) Advance(ctx context.Context, jobs *service.Jobs) error {
	return jobs.WhenDue(ctx, jobsEvery, s.due,
		service.Task{Name: "advance_subscriptions", Once: s.advanceDue},
		service.Task{Name: "sync_passes", Once: s.syncDuePasses},
		service.Task{Name: "sync_plans", Once: s.syncDuePlans})
}

// due reports which of the tasks of Advance have something to do.
func (s *Server) due(ctx context.Context) ([]bool, error) {
	d, err := s.store.due(ctx, s.now())
	return []bool{d.Steps, d.Passes, d.Plans}, err
}

// runOnce runs each task once.
func (s *Server) runOnce(ctx context.Context) error {
	return errors.Join(s.advanceDue(ctx), s.syncDuePasses(ctx), s.syncDuePlans(ctx))
}

// advance makes the steps of a locked subscription that are due at now, up to limit.
func (s *Server) advance(ctx context.Context, tx *pg.Tx, company tenant, r record, now time.Time, limit int) (steps []model.Step, err error) {
	for len(steps) < limit {
		next, err := s.nextPlan(ctx, tx, company.ID, r)
		if err != nil {
			return nil, err
		}
		more, err := r.Advance(now, company.zone, r.settings, next, limit-len(steps))
		if err != nil {
			return nil, err
		}
		if len(more) == 0 {
			break
		}
		steps = append(steps, more...)
	}
	return steps, nil
}

// advanceDue moves due subscriptions of all companies, which take turns.
func (s *Server) advanceDue(ctx context.Context) error {
	return repeat(func() (int, error) {
		due, err := s.store.dueSubscriptions(ctx, s.now(), advanceBatch)
		if err != nil {
			return 0, err
		}
		return len(due), s.forEach(ctx, due, s.advanceOne)
	})
}

// repeat calls once until it finds nothing to do, fails, or has run for runTime.
func repeat(once func() (int, error)) error {
	for began := time.Now(); time.Since(began) < runTime; {
		if found, err := once(); err != nil || found == 0 {
			return err
		}
	}
	return nil
}

// forEach calls do for each subscription, several at a time. One company has only a part of the calls, so that
// slow ones do not delay other companies.
func (s *Server) forEach(ctx context.Context, all []owned[id.Subscription], do func(context.Context, tenant, id.Subscription) error) error {
	byCompany := map[id.Company][]id.Subscription{}
	for _, one := range all {
		byCompany[one.Company] = append(byCompany[one.Company], one.ID)
	}
	turns := make(chan struct{}, callsAtOnce)
	var mu sync.Mutex
	var faults []error
	var wg sync.WaitGroup
	for company, list := range byCompany {
		wg.Go(func() {
			err := s.forCompany(ctx, company, list, turns, do)
			mu.Lock()
			defer mu.Unlock()
			faults = append(faults, err)
		})
	}
	wg.Wait()
	return errors.Join(faults...)
}

// forCompany calls do for subscriptions of one company. When a service or the database is unavailable, it leaves
// the rest to a later run.
func (s *Server) forCompany(ctx context.Context, company id.Company, list []id.Subscription, turns chan struct{},
	do func(context.Context, tenant, id.Subscription) error) error {
	t, err := s.tenantOf(ctx, company)
	if err != nil {
		return err
	}
	faults := make([]error, len(list))
	var isAway atomic.Bool
	own := make(chan struct{}, callsOfCompany)
	var wg sync.WaitGroup
	for i, one := range list {
		own <- struct{}{}
		if isAway.Load() {
			break
		}
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns; <-own }()
			if faults[i] = do(ctx, t, one); fault.Is(faults[i], fault.Unavailable) {
				isAway.Store(true)
			}
		})
	}
	wg.Wait()
	return errors.Join(faults...)
}

// advanceOne makes the steps of a subscription that are due. If that fails, it is tried again later, so that
// it does not stop the others.
func (s *Server) advanceOne(ctx context.Context, company tenant, subscription id.Subscription) error {
	made, err := s.makeSteps(ctx, company, subscription)
	s.metrics.steps.Add(float64(made))
	if err == nil || ctx.Err() != nil || fault.Is(err, fault.Unavailable) {
		return err // the database is away: nothing is wrong with the subscription
	}
	s.metrics.failures.Inc()
	s.log.ErrorContext(ctx, "the next step of a subscription failed", slog.String("company", company.ID.String()),
		slog.String("subscription", subscription.String()), slog.String("error", err.Error()))
	return s.store.delayAdvance(ctx, company.ID, subscription, s.clock(company))
}

// makeSteps makes the due steps of a subscription in one commit, and returns their number.
func (s *Server) makeSteps(ctx context.Context, company tenant, subscription id.Subscription) (made int, err error) {
	// This runs in its own goroutine, so no interceptor recovers a panic.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	err = s.store.Write(ctx, company.ID, func(ctx context.Context, tx *pg.Tx) error {
		made = 0
		now := s.clock(company)
		r, err := s.store.lockDue(ctx, tx, company.ID, subscription, now)
		if fault.Is(err, fault.NotFound) {
			return nil // another process has moved it
		}
		if err != nil {
			return err
		}
		steps, err := s.advance(ctx, tx, company, r, now, stepsAtOnce)
		if err != nil {
			return err
		}
		if made = len(steps); made == 0 {
			s.store.planAdvance(tx, company.ID, r.Record)
			return nil
		}
		return s.save(ctx, tx, company, r.Record, steps, saveRecord, nil)
	})
	if err != nil {
		made = 0
	}
	return made, err
}
