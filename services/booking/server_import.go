package booking

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime/debug"
	"slices"
	"strconv"

	"google.golang.org/grpc"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/tenancy"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/convert"
	"reservation.dev/services/booking/model"
)

// ImportTransactions implements BookingService. While it stores one batch, it reads the next one
// and looks up its customers.
func (s *Server) ImportTransactions(stream grpc.BidiStreamingServer[bookingv1.ImportTransactionsRequest, bookingv1.ImportTransactionsResponse]) error {
	company, err := s.companies.Of(stream.Context())
	if err != nil {
		return err
	}
	batches := make(chan received)
	// The goroutine ends with the stream's context, which ends when this method returns.
	go s.receive(stream, company, batches)
	rehearsal := model.NewImportRehearsal()
	for next := range batches {
		if errors.Is(next.err, io.EOF) {
			return nil
		}
		if next.err != nil {
			return next.err
		}
		do := s.storeBatch
		if next.batch.dryRun {
			do = func(ctx context.Context, b *importBatch) error { return s.rehearseBatch(ctx, b, rehearsal) }
		}
		if err := do(stream.Context(), next.batch); err != nil {
			return err
		}
		if err := stream.Send(&bookingv1.ImportTransactionsResponse{Results: next.batch.results}); err != nil {
			return err
		}
	}
	return stream.Context().Err()
}

// importStream is the receiving side of an import.
type importStream interface {
	Context() context.Context
	Recv() (*bookingv1.ImportTransactionsRequest, error)
}

// received is a batch that is ready to be stored, or the error that prevented it.
type received struct {
	batch *importBatch
	err   error
}

// receive sends batches to to until the stream ends or fails.
func (s *Server) receive(stream importStream, company tenancy.Company, to chan<- received) {
	defer close(to)
	for {
		var next received
		next.batch, next.err = s.nextBatch(stream, company)
		select {
		case to <- next:
		case <-stream.Context().Done():
			return
		}
		if next.err != nil {
			return
		}
	}
}

// nextBatch reads a batch and looks up its customers.
func (s *Server) nextBatch(stream importStream, company tenancy.Company) (b *importBatch, err error) {
	// This runs in its own goroutine, so no interceptor recovers a panic.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	req, err := stream.Recv()
	if err != nil {
		return nil, err
	}
	if len(req.GetTransactions()) == 0 {
		return nil, fault.InvalidFields(fault.Field{Field: "transactions", Rule: "required", Message: "must have at least 1"})
	}
	if b, err = newImportBatch(stream.Context(), company, req.GetTransactions()); err != nil {
		return nil, err
	}
	b.dryRun = req.GetDryRun()
	return b, s.findCustomers(stream.Context(), b)
}

// importBatch is the lines of one commit. A line with a result is complete.
type importBatch struct {
	company   tenancy.Company
	dryRun    bool
	lines     []model.ImportedTransaction
	results   []*bookingv1.ImportTransactionResult
	customers map[string]id.Customer // existing customers, by the names that lines use for them
}

// newImportBatch reads lines and refuses invalid ones.
func newImportBatch(ctx context.Context, company tenancy.Company, in []*bookingv1.ImportedTransaction) (*importBatch, error) {
	b := &importBatch{
		company: company, lines: make([]model.ImportedTransaction, len(in)), customers: map[string]id.Customer{},
		results: make([]*bookingv1.ImportTransactionResult, len(in)),
	}
	for i, t := range in {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		b.lines[i] = convert.ImportedTransaction(t, company.Timezone)
		if why := b.lines[i].Check(); why != nil {
			b.results[i] = convert.RefusedResult(b.lines[i].Reference, why)
		}
	}
	return b, nil
}

// open calls do for each line that has no result yet.
func (b *importBatch) open(do func(i int, t *model.ImportedTransaction)) {
	for i := range b.lines {
		if b.results[i] == nil {
			do(i, &b.lines[i])
		}
	}
}

// storeBatch stores b in one commit and sets the result of every line.
func (s *Server) storeBatch(ctx context.Context, b *importBatch) error {
	return s.decideBatch(ctx, b, func(ctx context.Context, tx *pg.Tx, l *model.ImportPlan, _ []*model.ImportedTransaction) (map[int]*bookingv1.ImportTransactionResult, error) {
		results := b.plan(l)
		if err := s.store.CloseImport(ctx, tx, l); err != nil {
			return nil, err
		}
		if err := s.append(ctx, tx, b.company, l.Now, importedPlan(l)...); err != nil {
			return nil, err
		}
		return results, appendImport(ctx, tx, s.outbox, b.company.ID, slices.Collect(maps.Values(results)))
	})
}

// importDecision decides the lines of a batch in the transaction that has opened the plan, and returns their results.
type importDecision func(ctx context.Context, tx *pg.Tx, l *model.ImportPlan, lines []*model.ImportedTransaction) (map[int]*bookingv1.ImportTransactionResult, error)

// decideBatch opens the plan of b and sets the results that decide returns.
func (s *Server) decideBatch(ctx context.Context, b *importBatch, decide importDecision) error {
	var lines []*model.ImportedTransaction
	b.open(func(_ int, t *model.ImportedTransaction) { lines = append(lines, t) })
	if len(lines) == 0 {
		return nil
	}
	select {
	case s.importing <- struct{}{}:
		defer func() { <-s.importing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	var results map[int]*bookingv1.ImportTransactionResult
	err := s.store.Write(ctx, b.company.ID, func(ctx context.Context, tx *pg.Tx) (err error) {
		l := model.NewImportPlan(b.company.ID, b.company.Timezone, b.company.Currency, pg.Instant(s.clock(b.company)), s.newIDs(b.company))
		maps.Copy(l.Customers, b.customers)
		if err := s.store.OpenImport(ctx, tx, l, lines); err != nil {
			return err
		}
		results, err = decide(ctx, tx, l, lines)
		return err
	})
	if err != nil && !errors.Is(err, errRehearsed) {
		return err
	}
	for i, result := range results {
		b.results[i] = result
	}
	return nil
}

// plan plans the open lines of b and returns their results.
func (b *importBatch) plan(l *model.ImportPlan) map[int]*bookingv1.ImportTransactionResult {
	results := map[int]*bookingv1.ImportTransactionResult{}
	b.open(func(i int, t *model.ImportedTransaction) { results[i] = importLine(l, t) })
	return results
}

// importResult is the result of a line of an import.
type importResult interface {
	GetOutcome() bookingv1.ImportOutcome
}

// appendImport adds the number of lines that an import creates to the audit log, if a credential imports.
func appendImport[R importResult](ctx context.Context, tx *pg.Tx, box *outbox.Outbox, company id.Company, results []R) error {
	created := 0
	for _, r := range results {
		if r.GetOutcome() == bookingv1.ImportOutcome_IMPORT_OUTCOME_CREATED {
			created++
		}
	}
	if created == 0 {
		return nil
	}
	return box.AppendChange(ctx, tx, company, company, outbox.Fact{Field: "imported", Value: strconv.Itoa(created)})
}

// importLine plans one line and returns its result.
func importLine(l *model.ImportPlan, t *model.ImportedTransaction) *bookingv1.ImportTransactionResult {
	if id, ok := l.Existing[t.Reference]; ok {
		return convert.ImportResult(t.Reference, bookingv1.ImportOutcome_IMPORT_OUTCOME_EXISTED, id.String())
	}
	transaction, why := l.Record(t)
	if why != nil {
		return convert.RefusedResult(t.Reference, why)
	}
	return convert.ImportResult(t.Reference, bookingv1.ImportOutcome_IMPORT_OUTCOME_CREATED, transaction.ID.String())
}

// findCustomers determines which of the customers in the lines exist.
func (s *Server) findCustomers(ctx context.Context, b *importBatch) error {
	var lines []*model.ImportedTransaction
	b.open(func(_ int, t *model.ImportedTransaction) { lines = append(lines, t) })
	return s.resolveCustomers(ctx, b.company.ID, model.CustomerNamesOf(lines), b.customers)
}

// resolveCustomers copies the names of customers that exist to into. It looks in the copy first, then in
// the customer service.
func (s *Server) resolveCustomers(ctx context.Context, company id.Company, names model.CustomerNames, into map[string]id.Customer) error {
	ids, references := names.Split()
	if len(names) == 0 {
		return nil
	}
	r, err := s.store.Resolve(ctx, company, ids, references)
	if err != nil {
		return err
	}
	fetched, err := s.fetchCustomers(ctx, company, model.Missing(r.ByID, ids), model.Missing(r.ByReference, references))
	if err != nil {
		return err
	}
	for _, c := range fetched {
		r.Note(c.ID, c.Reference, !c.DeletedAt.IsZero())
	}
	names.AddExisting(r, into)
	return nil
}
