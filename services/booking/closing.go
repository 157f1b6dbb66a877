package booking

import (
	"context"
	"errors"
	"fmt"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/service"
	"reservation.dev/platform/tenancy"
	"reservation.dev/services/booking/model"
	"reservation.dev/services/booking/store"
)

// A date is cancelled in two steps. The first commit closes it: it marks the date as closing, and
// nobody can book the date from then on. Then the bookings are cancelled batch by batch. Each batch
// is a commit with its events, and the last one removes the mark. The caller waits for both steps.
// If a crash interrupts them, the first process that finds the mark finishes the work.

const (
	// cancelBatch is the number of bookings of a date that are cancelled in one commit.
	cancelBatch = 500
	// closingsEvery is the interval between searches for dates that a crash left unfinished.
	closingsEvery = 5 * time.Second
)

// emptyEvent cancels the bookings of the closed dates of an event.
func (s *Server) emptyEvent(ctx context.Context, company id.Company, e id.Event) error {
	dates, err := s.store.ClosingOf(ctx, company, e)
	if err != nil {
		return err
	}
	for _, d := range dates {
		if err := s.emptyDate(ctx, company, d, store.WaitForOthers); err != nil {
			return err
		}
	}
	return nil
}

// emptyDate cancels the bookings of a closed date, batch by batch. A purchase by pass in progress
// has spaces that are neither booked nor free; they keep the date marked, and the job checks it
// again.
func (s *Server) emptyDate(ctx context.Context, company id.Company, date id.EventDate, l store.EmptyingLock) error {
	for {
		more := false
		err := s.inCompany(ctx, company, func(ctx context.Context, tx *pg.Tx, company tenancy.Company) error {
			more = false
			locked, err := s.store.LockEmptying(ctx, tx, date, l)
			if err == nil && locked {
				more, err = s.emptyBatch(ctx, tx, company, date)
			}
			return err
		})
		if err != nil || !more {
			return err
		}
	}
}

// emptyBatch cancels a batch of bookings of a date, or releases a batch of holds, or closes a batch of
// waitlist entries, and reports whether there may be more. When nothing is left, it removes the mark of the date.
func (s *Server) emptyBatch(ctx context.Context, tx *pg.Tx, company tenancy.Company, date id.EventDate) (more bool, err error) {
	if cancelled, err := s.cancelBookings(ctx, tx, company, date); err != nil || cancelled > 0 {
		return true, err
	}
	holds, err := s.store.HoldsOf(ctx, tx, company.ID, date, releaseBatch)
	if err != nil {
		return false, err
	}
	if len(holds) > 0 {
		if released, err := s.release(ctx, tx, company, holds, model.HoldExpired, model.Held); err != nil || released > 0 {
			return true, err
		}
	}
	if closed, err := s.closeWaitlist(ctx, tx, company, date); err != nil || closed > 0 {
		return true, err
	}
	return false, s.store.FinishClosing(ctx, tx, company.ID, date)
}

// cancelBookings cancels up to one batch of a date's bookings, with one event each, and returns the
// number of bookings it cancelled.
func (s *Server) cancelBookings(ctx context.Context, tx *pg.Tx, company tenancy.Company, date id.EventDate) (int, error) {
	booked, err := s.store.LockBooked(ctx, tx, company.ID, date, cancelBatch)
	if err != nil || len(booked) == 0 {
		return 0, err
	}
	reason, err := s.store.ClosingReason(ctx, tx, company.ID, date)
	if err != nil {
		return 0, err
	}
	now := pg.Instant(s.clock(company))
	all, err := cancelAll(momentOf(ctx, company, now), booked, reason)
	if err != nil {
		return 0, err
	}
	if err := s.store.SaveCancelled(ctx, tx, company.ID, date, booked, reason, now, all.history); err != nil {
		return 0, err
	}
	if err := s.oweCredits(ctx, tx, company.ID, all.returns); err != nil {
		return 0, err
	}
	tx.AfterCommit(func() { s.returnCreditsLater(all.returns) })
	return len(booked), s.append(ctx, tx, company, now, all.events...)
}

// cancelAll cancels bookings of a date, regardless of the cancellation policy. All bookings of one
// transaction get its next version.
func cancelAll(by moment, booked []model.Registration, reason string) (all bookingEffect, err error) {
	for i := range booked {
		o := model.CancellationPolicy{}.Outcome(booked[i].Booking(), true, by.now)
		o.Waived = false // the policy does not apply
		done, err := takeSteps(by, &booked[i].Transaction, cancellation(&o, reason, by.now))
		if err != nil {
			return all, err
		}
		all.returns, all.events = append(all.returns, done.returns...), append(all.events, done.events...)
		all.history = append(all.history, done.history...)
	}
	return all, nil
}

// FinishClosings empties closed dates that a crash left unfinished, until ctx ends. Any number of
// processes can run it at the same time.
func (s *Server) FinishClosings(ctx context.Context, jobs *service.Jobs) error {
	return jobs.Every(ctx, "finish_closings", closingsEvery, s.finishClosings)
}

// finishClosings processes all closed dates once. A failure on one date does not stop the others.
func (s *Server) finishClosings(ctx context.Context) error {
	all, err := s.store.Closings(ctx)
	if err != nil {
		return err
	}
	var faults []error
	for _, c := range all {
		if err := s.emptyDate(ctx, c.Company, c.Date, store.LeaveToOthers); err != nil {
			faults = append(faults, fmt.Errorf("date %s: %w", c.Date, err))
		}
	}
	return errors.Join(faults...)
}
