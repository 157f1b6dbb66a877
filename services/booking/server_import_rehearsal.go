package booking

import (
	"context"
	"errors"
	"fmt"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// maxRehearsed is the maximum number of transactions of a stream that are imported with dry_run.
const maxRehearsed = 100_000

// errRehearsed rolls back the transaction of a dry run, which has only read and locked rows.
var errRehearsed = errors.New("the import is a dry run")

// rehearseBatch sets the results that storeBatch would set, and stores nothing.
func (s *Server) rehearseBatch(ctx context.Context, b *importBatch, r *model.ImportRehearsal) error {
	if r.Lines += len(b.lines); r.Lines > maxRehearsed {
		return fault.New(fault.TooLarge, fault.ReasonPayloadTooLarge, fmt.Sprintf("a stream can have at most %d transactions with dry_run", maxRehearsed))
	}
	var plan *model.ImportPlan
	err := s.decideBatch(ctx, b, func(_ context.Context, _ *pg.Tx, l *model.ImportPlan, lines []*model.ImportedTransaction) (map[int]*bookingv1.ImportTransactionResult, error) {
		r.Begin(l, lines)
		plan = l
		return b.plan(l), errRehearsed
	})
	if err != nil || plan == nil {
		return err
	}
	given := r.End(plan)
	for _, result := range b.results {
		if which, err := id.Parse[id.Transaction](result.GetId()); err == nil && given[which] {
			result.Id = ""
		}
	}
	return nil
}
