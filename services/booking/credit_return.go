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
	// returnAhead is how long the request that owes credits has to return them itself.
	returnAhead = 5 * time.Second
	// returnAgain is after how long a return that failed is tried again.
	returnAgain = 10 * time.Second
	// returnWait is how long a request waits for credits to be returned.
	returnWait = 2 * time.Second
)

// oweCredits stores in tx that bookings give their credits back.
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

// returnCredits returns credits that were committed as owed, if it can be done at once;
// what fails is left to the job.
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
	// What the pass service does not know cannot be returned to it.
	return s.store.CreditsReturned(ctx, r)
}

// returnDue returns credits whose request did not.
func (s *Server) returnDue(ctx context.Context) error {
	now := s.now()
	due, err := s.store.ClaimReturns(ctx, now, now.Add(returnAgain), expiryBatch)
	if err != nil {
		return err
	}
	return atOnce(due, func(r model.CreditReturn) error { return s.returnOne(ctx, r) })
}
