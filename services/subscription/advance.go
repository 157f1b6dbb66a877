package subscription

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
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
	// advanceBatch is the number of subscriptions that one run moves.
	advanceBatch = 100
	// stepsAtOnce is the largest number of steps in one commit of the job.
	stepsAtOnce = 50
	// maxSteps is the largest number of steps in one commit of a request. It is more than an outage of
	// years can cause.
	maxSteps = 2000
	// callsAtOnce is the maximum number of subscriptions that a job handles at the same time.
	callsAtOnce = 8
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
	due, err := s.store.dueSubscriptions(ctx, s.now(), advanceBatch)
	if err != nil {
		return err
	}
	return s.forEach(ctx, due, s.advanceOne)
}

// forEach calls do for each subscription, several at a time.
func (s *Server) forEach(ctx context.Context, all []owned[id.Subscription], do func(context.Context, tenant, id.Subscription) error) error {
	companies := map[id.Company]tenant{}
	faults := make([]error, len(all))
	turns := make(chan struct{}, callsAtOnce)
	var wg sync.WaitGroup
	for i, one := range all {
		company, known := companies[one.Company]
		if !known {
			if company, faults[i] = s.tenantOf(ctx, one.Company); faults[i] != nil {
				continue
			}
			companies[one.Company] = company
		}
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			faults[i] = do(ctx, company, one.ID)
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
