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
)

// Whatever frees places of a date asks, in its own commit and under the date's
// lock, who waits for them. So nobody waits for places that are free and fit, but
// for those whose pass was refused: they are asked again when places become free
// the next time.

// promote gives free places of dates, which tx has locked, to those who wait.
func (s *Server) promote(ctx context.Context, tx *pg.Tx, company id.Company, dates ...id.EventDate) error {
	return s.promoteFrom(ctx, tx, company, model.Promotions(dates))
}

const (
	// promotionBatch is how many of those who wait for one date are asked at a time.
	promotionBatch = 200
	// promotionRounds is how often that is in one commit, under the lock of the
	// dates. Whoever is left is asked by the job.
	promotionRounds = 5
)

func (s *Server) promoteFrom(ctx context.Context, tx *pg.Tx, company id.Company, from []model.Promotion) error {
	for round := 0; len(from) > 0; round++ {
		if round == promotionRounds {
			return s.store.PromoteLater(ctx, tx, company, from)
		}
		candidates, err := s.store.WaitlistCandidates(ctx, tx, company, from, promotionBatch, s.now())
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

// serve settles what those who wait buy, in their order, and tells of it.
func (s *Server) serve(ctx context.Context, tx *pg.Tx, company id.Company, candidates []*model.WaitlistEntry) error {
	now := s.now()
	purchases := make([]*purchase, len(candidates))
	for i, w := range candidates {
		purchases[i] = &purchase{Purchase: w.Purchase(now), company: tenancy.Company{ID: company, Timezone: w.Timezone}}
	}
	if err := s.settle(ctx, tx, company, purchases); err != nil {
		return err
	}
	var changed []*model.WaitlistEntry
	var events []outbox.Event
	var unpaid []*purchase
	last := map[id.EventDate]int64{} // who was served last, by date
	for i, w := range candidates {
		p := purchases[i]
		if p.Bought != nil {
			w.Takes(&p.Purchase)
			last[w.Date] = w.Seq
			changed = append(changed, w)
			switch p.Status {
			case model.Held:
				events = append(events, waitlistOffered(w, now))
			case model.Pending:
				unpaid = append(unpaid, p)
			}
			continue
		}
		// Who does not fit any more is passed over only if somebody behind is served.
		if reason := model.WhyNotServed(p.Refused); reason != model.ReasonEventFull && reason != w.PassedOver {
			w.PassedOver, w.PassedOverAt = reason, now
			changed = append(changed, w)
			events = append(events, waitlistPassedOver(w, now))
		}
	}
	if err := s.store.SaveWaitlistEntries(ctx, tx, company, changed); err != nil {
		return err
	}
	over, err := s.store.PassOver(ctx, tx, company, last, now)
	if err != nil {
		return err
	}
	for _, w := range over {
		events = append(events, waitlistPassedOver(w, now))
	}
	tx.AfterCommit(func() { s.payLater(company, unpaid) })
	return s.append(ctx, tx, company, now, events...)
}

// payLater takes the credits of purchases by pass for waiting customers in the
// background. What it does not finish is undone when its time is up, and tried again.
func (s *Server) payLater(company id.Company, unpaid []*purchase) {
	if len(unpaid) == 0 {
		return
	}
	go func() {
		_ = atOnce(unpaid, func(p *purchase) error {
			ctx, cancel := context.WithTimeout(context.Background(), model.PendingTime/2)
			defer cancel()
			return s.payByPass(ctx, company, p.Bought, p.Order.Payment.Pass, confirmAlone)
		})
	}()
}

// promoteReleased tells those whose transactions were released in tx, and gives the
// places of dates to the next.
func (s *Server) promoteReleased(ctx context.Context, tx *pg.Tx, company id.Company, dates []id.EventDate, released []*model.WaitlistEntry) error {
	from := model.Promotions(dates)
	now := s.now()
	events := make([]outbox.Event, len(released))
	for i, w := range released {
		if w.State != model.EntryWaiting {
			events[i] = waitlistEnded(w, now)
			continue
		}
		events[i] = waitlistPassedOver(w, now)
		// Purchases by pass are released one by one, and whoever is in front of him
		// was asked before him. With what became free meanwhile, his places may be
		// enough for those in front for whom there were too few.
		for j := range from {
			if from[j].Date == w.Date {
				from[j].Refused = w.Seq
			}
		}
	}
	if err := s.append(ctx, tx, company, now, events...); err != nil {
		return err
	}
	return s.promoteFrom(ctx, tx, company, from)
}

// promotionsAtOnce is how many dates the job looks at in a round.
const promotionsAtOnce = 100

// retryAfter is how long somebody waits whose pass could not be asked.
const retryAfter = 30 * time.Second

// promoteDue goes on with waitlists that were too long for a commit, and asks those
// again whose passes could not be asked.
func (s *Server) promoteDue(ctx context.Context) error {
	due, err := s.store.ToPromote(ctx, s.now().Add(-retryAfter), s.now(), promotionsAtOnce)
	if err != nil {
		return err
	}
	var faults []error
	for _, d := range due {
		faults = append(faults, s.store.Write(ctx, d.Company, func(ctx context.Context, tx *pg.Tx) error {
			if err := s.store.LockPromoting(ctx, tx, d.Company, d.Date); err != nil {
				return err
			}
			return s.promote(ctx, tx, d.Company, d.Date)
		}))
	}
	return errors.Join(faults...)
}
