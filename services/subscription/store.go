package subscription

import (
	"context"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/pg"
)

// store runs the SQL statements of the service. Methods with a tx run in the caller's transaction;
// the others make one round trip of their own.
type store struct{ pg.Store }

func newStore(db *pg.DB) *store {
	return &store{pg.Store{DB: db, Constraints: map[string]*fault.Error{referenceIndex: errReferenceStored}}}
}

// referenceIndex is the index that keeps the references of imported subscriptions unique.
const referenceIndex = "subscriptions_reference"

// errReferenceStored is the fault of an import that another request made at the same time.
var errReferenceStored = fault.New(fault.Conflict, fault.ReasonIdempotencyInProgress, "the subscription is being imported").After(time.Second)

// readAll runs queries of all companies in one round trip.
func (s *store) readAll(ctx context.Context, queries ...pg.Query) error {
	return s.Fault(s.Read(ctx, pg.AllCompanies(), queries...))
}
