package subscription

import (
	"context"

	"reservation.dev/platform/id"
)

// movedBatch is the number of subscriptions in one commit that plans their next steps again.
const movedBatch = 500

// planMovedCompanies plans the next steps of companies that have changed their zone: it makes their subscriptions due
// now, so that the next run counts their days in the new zone. An interrupted run is repeated from the start.
func (s *Server) planMovedCompanies(ctx context.Context) error {
	moved, err := s.store.movedCompanies(ctx)
	if err != nil {
		return err
	}
	for _, one := range moved {
		for after := (id.Subscription{}); ; {
			last, n, err := s.store.makeDue(ctx, one.Company, after, s.now())
			if err != nil {
				return err
			}
			if n < movedBatch {
				break
			}
			after = last
		}
		if err := s.store.planned(ctx, one); err != nil {
			return err
		}
	}
	return nil
}
