package booking

import (
	"context"
	"errors"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/tenancy"
	"reservation.dev/services/booking/model"
	"reservation.dev/services/booking/store"
)

// Every change that frees spaces of a date serves the waitlist in its own commit, under the lock of
// the date. Therefore no entry waits while spaces that fit it are free, except an entry whose pass
// was refused. Such an entry is tried again the next time spaces become free.

// promote gives free spaces of dates, which tx has locked, to waiting customers.
// It cancels the dates of appointments that nobody takes.
func (s *Server) promote(ctx context.Context, tx *pg.Tx, company tenancy.Company, dates ...id.EventDate) error {
	return s.promoteFrom(ctx, tx, company, model.Promotions(dates))
}

const (
	// promotionBatch is the number of entries of one date that are tried at a time.
	promotionBatch = 200
	// promotionRounds is the number of batches in one commit, under the lock of the dates. The job
	// serves the remaining entries.
	promotionRounds = 5
)

// promoteFrom serves the waitlists of dates, and then cancels those that are free dates of appointments.
func (s *Server) promoteFrom(ctx context.Context, tx *pg.Tx, company tenancy.Company, from []model.Promotion) error {
	dates := make([]id.EventDate, len(from))
	for i := range from {
		dates[i] = from[i].Date
	}
	if err := s.serveAll(ctx, tx, company, from); err != nil {
		return err
	}
	store.Vacate(tx, company.ID, dates, pg.Instant(s.now()))
	return nil
}

// serveAll gives free spaces of dates to waiting customers, batch by batch.
func (s *Server) serveAll(ctx context.Context, tx *pg.Tx, company tenancy.Company, from []model.Promotion) error {
	for round := 0; len(from) > 0; round++ {
		if round == promotionRounds {
			return s.store.PromoteLater(ctx, tx, company.ID, from)
		}
		candidates, err := s.store.WaitlistCandidates(ctx, tx, company.ID, from, promotionBatch, s.clock(company))
		if err != nil || len(candidates) == 0 {
			return err
		}
		if err := s.serve(ctx, tx, company, candidates); err != nil {
			return err
		}
		from = model.RemainingPromotions(from, candidates, promotionBatch)
	}
	return nil
}

// serve settles the purchases of waitlist entries in their order and appends their events.
func (s *Server) serve(ctx context.Context, tx *pg.Tx, company tenancy.Company, candidates []*model.WaitlistEntry) error {
	now := s.clock(company)
	purchases := make([]*purchase, len(candidates))
	for i, w := range candidates {
		purchases[i] = &purchase{Purchase: w.Purchase(now), company: tenancy.Company{ID: company.ID, Timezone: w.Timezone, ClockOffset: company.ClockOffset}}
	}
	if err := s.settle(ctx, tx, company.ID, purchases); err != nil {
		return err
	}
	var changed []*model.WaitlistEntry
	var events []outbox.Event
	var unpaid []*purchase
	last := map[id.EventDate]int64{} // the last entry served, by date
	for i, w := range candidates {
		p, before := purchases[i], *w
		if p.Bought != nil {
			w.Takes(&p.Purchase, now)
			last[w.Date] = w.Seq
			changed = append(changed, w)
			switch p.Status {
			case model.Held:
				events = append(events, waitlistOffered(w, &before, now))
			case model.Pending:
				unpaid = append(unpaid, p)
			default:
				events = append(events, waitlistEnded(w, &before, now))
			}
			continue
		}
		// An entry that no longer fits is passed over only if a later one is served.
		if reason := model.WhyNotServed(p.Refused); reason != model.ReasonEventFull && reason != w.PassedOver {
			w.PassOver(reason, now)
			changed = append(changed, w)
			events = append(events, waitlistPassedOver(w, &before, now))
		}
	}
	if err := s.store.SaveWaitlistEntries(ctx, tx, company.ID, changed); err != nil {
		return err
	}
	over, err := s.passOver(ctx, tx, company.ID, last, now)
	if err != nil {
		return err
	}
	events = append(events, over...)
	tx.AfterCommit(func() { s.payLater(unpaid) })
	return s.append(ctx, tx, company, now, events...)
}

// passOver marks the waiting entries before the last one served of each date, except those that were
// passed over before, and returns their events.
func (s *Server) passOver(ctx context.Context, tx *pg.Tx, company id.Company, last map[id.EventDate]int64, now time.Time) ([]outbox.Event, error) {
	over, err := s.store.OvertakenEntries(ctx, tx, company, last)
	if err != nil {
		return nil, err
	}
	events := make([]outbox.Event, len(over))
	for i, w := range over {
		before := *w
		w.PassOver(model.PassedOverTooFew, now)
		events[i] = waitlistPassedOver(w, &before, now)
	}
	return events, s.store.SaveWaitlistEntries(ctx, tx, company, over)
}

// payLater takes the credits of purchases by pass for waiting customers in the background.
// A purchase that it does not finish is undone when it times out, and its entry is tried again.
func (s *Server) payLater(unpaid []*purchase) {
	if len(unpaid) == 0 {
		return
	}
	go func() {
		_ = forEachConcurrently(unpaid, func(p *purchase) error {
			ctx, cancel := context.WithTimeout(context.Background(), model.PendingTime/2)
			defer cancel()
			return s.payPending(ctx, p.company, p.Bought, p.Order.Payment.Pass)
		})
	}()
}

// promoteReleased updates the entries whose transactions were released in tx, appends their events,
// and gives the spaces of dates to the next entries.
func (s *Server) promoteReleased(ctx context.Context, tx *pg.Tx, company tenancy.Company, dates []id.EventDate, released []*model.WaitlistEntry) error {
	from := model.Promotions(dates)
	now := s.clock(company)
	events := make([]outbox.Event, len(released))
	for i, w := range released {
		before := *w
		w.Free(now)
		if w.State != model.EntryWaiting {
			events[i] = waitlistEnded(w, &before, now)
			continue
		}
		events[i] = waitlistPassedOver(w, &before, now)
		// Purchases by pass are released one by one, and the entries before this one have already
		// been tried. With the spaces that became free in between, its spaces can be enough for an
		// earlier entry that needed more.
		for j := range from {
			if from[j].Date == w.Date {
				from[j].Refused = w.Seq
			}
		}
	}
	if err := s.store.SaveWaitlistEntries(ctx, tx, company.ID, released); err != nil {
		return err
	}
	if err := s.append(ctx, tx, company, now, events...); err != nil {
		return err
	}
	return s.promoteFrom(ctx, tx, company, from)
}

// promotionsAtOnce is the number of dates that the job processes in one round.
const promotionsAtOnce = 100

// retryAfter is how long an entry waits after its pass could not be checked.
const retryAfter = 30 * time.Second

// promoteDue continues with waitlists that were too long for one commit, and retries entries whose
// passes could not be checked.
func (s *Server) promoteDue(ctx context.Context) error {
	due, err := s.store.ToPromote(ctx, s.now(), s.now().Add(-retryAfter), promotionsAtOnce)
	if err != nil {
		return err
	}
	var faults []error
	for _, d := range due {
		faults = append(faults, s.inCompany(ctx, d.Company, func(ctx context.Context, tx *pg.Tx, company tenancy.Company) error {
			if err := s.store.LockPromoting(ctx, tx, d.Company, d.Date); err != nil {
				return err
			}
			return s.promote(ctx, tx, company, d.Date)
		}))
	}
	return errors.Join(faults...)
}
