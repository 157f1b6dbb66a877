package booking

import (
	"context"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// promote gives places that became free in tx to those who wait for them. There
// is no waitlist to ask yet.
func (s *Server) promote(context.Context, *pg.Tx, id.Company, []id.EventDate) error { return nil }
