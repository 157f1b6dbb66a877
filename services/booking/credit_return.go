package booking

import (
	"context"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

const (
	// returnAhead is the time that a request has to return credits before the job does it.
	returnAhead = 5 * time.Second
	// returnAgain is the delay before a failed return is retried.
	returnAgain = 10 * time.Second
	// returnWait is the longest time that a request waits for credits to be returned.
	returnWait = 2 * time.Second
)

// oweCredits stores in tx that the credits of bookings must be returned.
func (s *Server) oweCredits(ctx context.Context, tx *pg.Tx, company id.Company, returns []model.CreditReturn) error {
	if len(returns) == 0 {
		return nil
	}
	return s.store.OweCredits(ctx, tx, company, returns, s.now().Add(returnAhead))
}

// returnCreditsLater returns owed credits in the background.
func (s *Server) returnCreditsLater(returns []model.CreditReturn) {
	if len(returns) > 0 {
		go s.returnCredits(context.Background(), returns)
	}
}

// returnCredits returns credits that were committed as owed. It leaves a return that fails to the
// job.
func (s *Server) returnCredits(ctx context.Context, returns []model.CreditReturn) {
	if len(returns) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), returnWait)
	defer cancel()
	for _, r := range returns {
		if s.returnOne(ctx, r) != nil {
			return
		}
	}
}

func (s *Server) returnOne(ctx context.Context, r model.CreditReturn) error {
	err := s.passes.Return(ctx, r)
	if f := fault.From(err); f != nil && f.Kind != fault.NotFound && f.Kind != fault.Invalid {
		return err
	}
	// The pass service does not know the redemption, so there is nothing to return.
	return s.store.CreditsReturned(ctx, r)
}

// returnDue returns credits that their requests did not return.
func (s *Server) returnDue(ctx context.Context) error {
	now := s.now()
	due, err := s.store.ClaimReturns(ctx, now, now.Add(returnAgain), expiryBatch)
	if err != nil {
		return err
	}
	return forEachConcurrently(due, func(r model.CreditReturn) error { return s.returnOne(ctx, r) })
}
