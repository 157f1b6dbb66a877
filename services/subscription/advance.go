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
		service.Task{Name: "sync_plans", Once: s.syncDuePlans},
		service.Task{Name: "plan_steps_of_moved_companies", Once: s.planMovedCompanies})
}

// due reports which of the tasks of Advance have something to do.
func (s *Server) due(ctx context.Context) ([]bool, error) {
	d, err := s.store.due(ctx, s.now())
	return []bool{d.Steps, d.Passes, d.Plans, d.Moved}, err
}

// runOnce runs each task once.
func (s *Server) runOnce(ctx context.Context) error {
	return errors.Join(s.planMovedCompanies(ctx), s.advanceDue(ctx), s.syncDuePasses(ctx), s.syncDuePlans(ctx))
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

// advanceDue moves due subscriptions of all companies, which take turns. It stops if it can move none, because other
// transactions have locked them.
func (s *Server) advanceDue(ctx context.Context) error {
	return s.repeat(func() (int, error) {
		due, err := s.store.dueSubscriptions(ctx, s.now(), advanceBatch)
		if err != nil {
			return 0, err
		}
		var moved atomic.Int64
		advance := func(ctx context.Context, company tenant, subscription id.Subscription) error {
			isMoved, err := s.advanceOne(ctx, company, subscription)
			if isMoved {
				moved.Add(1)
			}
			return err
		}
		err = forEach(ctx, s, due, work[id.Subscription]{do: advance, delay: s.delayCompany})
		return int(moved.Load()), err
	})
}

// delayCompany delays subscriptions of a company whose copy or zone cannot be read.
func (s *Server) delayCompany(ctx context.Context, company id.Company, due []id.Subscription) error {
	return s.store.delayAdvance(ctx, company, due, s.now())
}

// limits are the longest times of parts of the service's work.
type limits struct {
	syncWait time.Duration // of a request's wait for the pass service
	syncTime time.Duration // of a job's call of the pass service
	runTime  time.Duration // of one run of a job that finds more and more work
}

// usualLimits returns the limits of a process.
func usualLimits() limits {
	return limits{syncWait: 2 * time.Second, syncTime: 5 * time.Second, runTime: 5 * time.Second}
}

// repeat calls once until it finds nothing to do, fails, or has run for the time of a run.
func (s *Server) repeat(once func() (int, error)) error {
	for began := time.Now(); time.Since(began) < s.limits.runTime; {
		if found, err := once(); err != nil || found == 0 {
			return err
		}
	}
	return nil
}

// work is what a job does with rows of companies.
type work[T any] struct {
	do    func(context.Context, tenant, T) error
	delay func(context.Context, id.Company, []T) error // if the company cannot be read; nil: a claim has delayed them
}

// forEach does the work for each row, several at a time. One company has only a part of the calls, so that slow ones
// do not delay other companies.
func forEach[T any](ctx context.Context, s *Server, all []owned[T], w work[T]) error {
	byCompany := map[id.Company][]T{}
	for _, one := range all {
		byCompany[one.Company] = append(byCompany[one.Company], one.ID)
	}
	turns := make(chan struct{}, callsAtOnce)
	var mu sync.Mutex
	var faults []error
	var wg sync.WaitGroup
	for company, list := range byCompany {
		wg.Go(func() {
			err := forCompany(ctx, s, company, list, turns, w)
			mu.Lock()
			defer mu.Unlock()
			faults = append(faults, err)
		})
	}
	wg.Wait()
	return errors.Join(faults...)
}

// forCompany does the work for rows of one company. When a service or the database is unavailable, it leaves the
// rest to a later run.
func forCompany[T any](ctx context.Context, s *Server, company id.Company, list []T, turns chan struct{}, w work[T]) error {
	t, err := s.tenantOf(ctx, company)
	if err != nil {
		return leaveCompany(ctx, s, company, list, err, w)
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
			if faults[i] = w.do(ctx, t, one); fault.Is(faults[i], fault.Unavailable) {
				isAway.Store(true)
			}
		})
	}
	wg.Wait()
	return errors.Join(faults...)
}

// leaveCompany logs why a company cannot be read, and delays its rows, so that they do not stop other companies.
func leaveCompany[T any](ctx context.Context, s *Server, company id.Company, list []T, err error, w work[T]) error {
	if ctx.Err() != nil {
		return err
	}
	s.metrics.failures.Inc()
	s.log.ErrorContext(ctx, "a company cannot be read", slog.String("company", company.String()), slog.String("error", err.Error()))
	if w.delay == nil {
		return nil
	}
	return w.delay(ctx, company, list)
}

// advanceOne makes the steps of a subscription that are due, and reports whether they are not due any more. If a
// step fails, it is tried again later, so that it does not stop the others.
func (s *Server) advanceOne(ctx context.Context, company tenant, subscription id.Subscription) (isMoved bool, err error) {
	made, isMoved, err := s.makeSteps(ctx, company, subscription)
	s.metrics.steps.Add(float64(made))
	if err == nil || ctx.Err() != nil || fault.Is(err, fault.Unavailable) {
		return isMoved, err // the database is away: nothing is wrong with the subscription
	}
	s.metrics.failures.Inc()
	s.log.ErrorContext(ctx, "the next step of a subscription failed", slog.String("company", company.ID.String()),
		slog.String("subscription", subscription.String()), slog.String("error", err.Error()))
	return true, s.store.delayAdvance(ctx, company.ID, []id.Subscription{subscription}, s.now())
}

// makeSteps makes the due steps of a subscription in one commit, and returns their number. It moves nothing if
// another process has moved or locked the subscription.
func (s *Server) makeSteps(ctx context.Context, company tenant, subscription id.Subscription) (made int, isMoved bool, err error) {
	// This runs in its own goroutine, so no interceptor recovers a panic.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	err = s.store.Write(ctx, company.ID, func(ctx context.Context, tx *pg.Tx) error {
		made, isMoved = 0, false
		now := s.clock(company)
		r, err := s.store.lockDue(ctx, tx, company.ID, subscription, now)
		if fault.Is(err, fault.NotFound) {
			return nil // another process has moved it
		}
		if err != nil {
			return err
		}
		isMoved = true
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
		made, isMoved = 0, false
	}
	return made, isMoved, err
}
