package booking

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/service"
	"reservation.dev/platform/tenancy"
	"reservation.dev/services/booking/convert"
	"reservation.dev/services/booking/model"
	"reservation.dev/services/booking/store"
)

// Spaces of transactions that are not confirmed in time are freed.

const (
	// expiriesEvery is the interval between searches for expired transactions.
	expiriesEvery = time.Second
	// removalsEvery is the interval between removals of old released transactions.
	removalsEvery = time.Minute
	// expiryBatch is the number of expired transactions that one run releases.
	expiryBatch = 200
	// releaseBatch is the number of holds that are released in one commit. A hold has up to 200
	// bookings, which are read and announced.
	releaseBatch = 50
	// callsAtOnce is the maximum number of concurrent calls to the pass service.
	callsAtOnce = 8
	// undoTime is how long a process has to undo a purchase before another process can claim it.
	undoTime = 30 * time.Second
	// keptReleased is how long released transactions are kept.
	keptReleased = 24 * time.Hour
	// keptHolds is how long holds can be read after they have ended.
	keptHolds = 30 * 24 * time.Hour
	// closeBatch is the number of waitlist entries that are closed in one commit.
	closeBatch = 500
	// closingDates is the number of dates whose waitlists are closed in one run.
	closingDates = 100
)

// release frees the spaces of the transactions that have one of the statuses, and returns their
// number. It reduces the use counts of their discount codes, and the freed spaces go to the
// waitlist. Holds among them end with the status end.
func (s *Server) release(ctx context.Context, tx *pg.Tx, company tenancy.Company, all []id.Transaction, end model.HoldStatus, from ...model.TransactionStatus) (int, error) {
	now := s.now()
	done, err := s.store.Release(ctx, tx, company.ID, all, from, now)
	if err != nil || done.Count() == 0 {
		return 0, err
	}
	if err := s.endHolds(ctx, tx, company, done.Holds, end, now); err != nil {
		return 0, err
	}
	return done.Count(), s.promoteReleased(ctx, tx, company, done.Dates, done.Waiters)
}

// endHolds keeps holds whose spaces are free, so that they can still be read, and publishes the
// expired ones. The end of an offer is published as the end of its waitlist entry. now is the real time,
// by which ended holds are removed.
func (s *Server) endHolds(ctx context.Context, tx *pg.Tx, company tenancy.Company, holds []*model.Hold, end model.HoldStatus, now time.Time) error {
	ended := make([]store.EndedHold, len(holds))
	var events []outbox.Event
	for i, h := range holds {
		after := h.Ended(end)
		content, err := convert.EndedHold(after)
		if err != nil {
			return err
		}
		ended[i] = store.EndedHold{Hold: after, Content: content}
		if end == model.HoldExpired && !h.Offer {
			events = append(events, holdExpired(after, h))
		}
	}
	store.KeepEndedHolds(tx, company.ID, ended, pg.Instant(now))
	return s.append(ctx, tx, company, company.Now(now), events...)
}

// inCompany runs fn in one transaction of a company, with the company's test clock. fn must be
// repeatable.
func (s *Server) inCompany(ctx context.Context, company id.Company, fn func(ctx context.Context, tx *pg.Tx, company tenancy.Company) error) error {
	return s.store.Write(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		clocked, err := s.companies.ClockedInTx(ctx, tx, company)
		if err != nil {
			return err
		}
		return fn(ctx, tx, clocked)
	})
}

// releaseUndone releases a transaction whose redemption is cancelled.
func (s *Server) releaseUndone(ctx context.Context, company id.Company, t id.Transaction) error {
	return s.inCompany(ctx, company, func(ctx context.Context, tx *pg.Tx, company tenancy.Company) error {
		_, err := s.release(ctx, tx, company, []id.Transaction{t}, model.HoldExpired, model.Undoing)
		return err
	})
}

// Expire releases expired holds, undoes purchases and moves by pass that were interrupted, returns owed
// credits, and closes the waitlists of dates that have started, until ctx ends. Any number of
// processes can run it at the same time. A slow pass service delays only the work that needs it.
func (s *Server) Expire(ctx context.Context, jobs *service.Jobs) error {
	var wg sync.WaitGroup
	wg.Go(func() { _ = jobs.Every(ctx, "remove_released", removalsEvery, s.removeReleased) })
	err := jobs.WhenDue(ctx, expiriesEvery, func(ctx context.Context) ([]bool, error) {
		d, err := s.store.Due(ctx, s.now(), s.now().Add(-retryAfter))
		return []bool{d.Holds, d.Undoing, d.Returns, d.Promotions, d.Closings, d.Changes}, err
	}, service.Task{Name: "expire_holds", Once: s.expireHolds}, service.Task{Name: "undo_pending", Once: s.undoPending},
		service.Task{Name: "return_credits", Once: s.returnDue}, service.Task{Name: "promote_waiting", Once: s.promoteDue},
		service.Task{Name: "close_waitlists", Once: s.closeWaitlists}, service.Task{Name: "end_credit_changes", Once: s.endCreditChanges})
	wg.Wait()
	return err
}

func (s *Server) expireOnce(ctx context.Context) error {
	return errors.Join(s.expireHolds(ctx), s.undoPending(ctx), s.returnDue(ctx), s.endCreditChanges(ctx), s.removeReleased(ctx), s.promoteDue(ctx), s.closeWaitlists(ctx))
}

// forEachConcurrently calls f for each element of all, several at a time.
func forEachConcurrently[T any](all []T, f func(T) error) error {
	faults := make([]error, len(all))
	turns := make(chan struct{}, callsAtOnce)
	var wg sync.WaitGroup
	for n, one := range all {
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			faults[n] = f(one)
		})
	}
	wg.Wait()
	return errors.Join(faults...)
}

// expireHolds releases expired holds.
func (s *Server) expireHolds(ctx context.Context) error {
	due, err := s.store.ExpiredHolds(ctx, s.now(), expiryBatch)
	if err != nil {
		return err
	}
	byCompany := map[id.Company][]id.Transaction{}
	for _, o := range due {
		byCompany[o.Company] = append(byCompany[o.Company], o.ID)
	}
	var faults []error
	for company, ids := range byCompany {
		for batch := range slices.Chunk(ids, releaseBatch) {
			faults = append(faults, s.expireTogether(ctx, company, batch))
		}
	}
	return errors.Join(faults...)
}

// expireTogether releases expired holds of a company in one commit.
func (s *Server) expireTogether(ctx context.Context, company id.Company, holds []id.Transaction) error {
	released := 0
	err := s.inCompany(ctx, company, func(ctx context.Context, tx *pg.Tx, company tenancy.Company) (err error) {
		released, err = s.release(ctx, tx, company, holds, model.HoldExpired, model.Held)
		return err
	})
	if err == nil {
		s.metrics.expired.Add(float64(released))
	}
	return err
}

// undoPending undoes purchases by pass that have timed out: it returns the credits first and then
// frees the spaces.
func (s *Server) undoPending(ctx context.Context) error {
	now := s.now()
	due, err := s.store.ClaimUndoing(ctx, now, now.Add(undoTime), expiryBatch)
	if err != nil {
		return err
	}
	return forEachConcurrently(due, func(o store.OwnedTransaction) error {
		if err := s.passes.Cancel(ctx, o.Company, o.ID); err != nil {
			return err
		}
		err := s.releaseUndone(ctx, o.Company, o.ID)
		if err == nil {
			s.metrics.undone.Inc()
		}
		return err
	})
}

func (s *Server) removeReleased(ctx context.Context) error {
	now := s.now()
	return s.store.RemoveReleased(ctx, now.Add(-keptReleased), now.Add(-2*keptReleased), now.Add(-keptHolds))
}
