package booking

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// ImportTransactions implements BookingService.
func (s *Server) ImportTransactions(stream grpc.BidiStreamingServer[bookingv1.ImportTransactionsRequest, bookingv1.ImportTransactionsResponse]) error {
	company, err := s.tenant(stream.Context())
	if err != nil {
		return err
	}
	for {
		req, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var faults fields
		if !faults.count("transactions", len(req.GetTransactions()), 1, maxImportBatch) {
			return faults.err()
		}
		b := newImportBatch(company, req.GetTransactions())
		if err := s.importBatch(stream.Context(), b); err != nil {
			return err
		}
		if err := stream.Send(&bookingv1.ImportTransactionsResponse{Results: b.results}); err != nil {
			return err
		}
	}
}

// importBatch is the lines of one commit on their way; a line with a result has
// arrived.
type importBatch struct {
	company   Company
	lines     []imported
	results   []*bookingv1.ImportTransactionResult
	customers map[string]id.Customer // who exists, by what lines call them
}

// newImportBatch reads lines and refuses those that are wrong in themselves.
func newImportBatch(company Company, in []*bookingv1.ImportedTransaction) *importBatch {
	b := &importBatch{
		company: company, lines: make([]imported, len(in)), customers: map[string]id.Customer{},
		results: make([]*bookingv1.ImportTransactionResult, len(in)),
	}
	for i, t := range in {
		b.lines[i] = importedOf(t, company.Timezone)
		if why := b.lines[i].check(); why != nil {
			b.results[i] = refusedResult(b.lines[i].reference, why)
		}
	}
	return b
}

// open calls do for each line that has no result yet.
func (b *importBatch) open(do func(i int, t *imported)) {
	for i := range b.lines {
		if b.results[i] == nil {
			do(i, &b.lines[i])
		}
	}
}

// settle gives the lines whose references exist their result.
func (b *importBatch) settle(existing map[string]id.Transaction) {
	b.open(func(i int, t *imported) {
		if id, ok := existing[t.reference]; ok {
			b.results[i] = importResult(t.reference, bookingv1.ImportOutcome_IMPORT_OUTCOME_EXISTED, id.String())
		}
	})
}

// importBatch gives every line of b its result. Everything that takes another
// service is done before the one transaction that stores the lines.
func (s *Server) importBatch(ctx context.Context, b *importBatch) error {
	if err := s.know(ctx, b); err != nil {
		return err
	}
	var lines []*imported
	b.open(func(_ int, t *imported) { lines = append(lines, t) })
	if len(lines) == 0 {
		return nil
	}
	select {
	case s.importing <- struct{}{}:
		defer func() { <-s.importing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	results := make(map[int]*bookingv1.ImportTransactionResult, len(lines))
	err := s.store.inTx(ctx, b.company.ID, func(ctx context.Context, tx *pg.Tx) error {
		l := newLedger(b.company, s.now(), s.newID)
		l.customers = b.customers
		if err := openLedger(ctx, tx, l, lines); err != nil {
			return err
		}
		var stored purchases
		b.open(func(i int, t *imported) { results[i] = l.result(t, &stored) })
		return closeLedger(ctx, tx, l, &stored)
	})
	if err != nil {
		return err
	}
	for i, result := range results {
		b.results[i] = result
	}
	return nil
}

// result plans one line and says what becomes of it.
func (l *ledger) result(t *imported, stored *purchases) *bookingv1.ImportTransactionResult {
	if id, ok := l.existing[t.reference]; ok {
		return importResult(t.reference, bookingv1.ImportOutcome_IMPORT_OUTCOME_EXISTED, id.String())
	}
	transaction, why := l.record(t)
	if why != nil {
		return refusedResult(t.reference, why)
	}
	stored.add(&transaction, t.reference)
	return importResult(t.reference, bookingv1.ImportOutcome_IMPORT_OUTCOME_CREATED, transaction.ID.String())
}

// know settles the lines that were imported before and finds out which of the
// customers that the others name exist: in the copy, else from the customer
// service.
func (s *Server) know(ctx context.Context, b *importBatch) error {
	names := b.names()
	var references []string
	b.open(func(_ int, t *imported) { references = append(references, t.reference) })
	if len(references) == 0 {
		return nil
	}
	stored := map[string]id.Transaction{}
	ids, customerReferences := names.split()
	r, err := s.store.resolve(ctx, b.company.ID, ids, customerReferences, existing(b.company.ID, references, stored))
	if err != nil {
		return err
	}
	names.note(r, b.customers)
	b.settle(stored)

	unknownIDs, unknownReferences := b.names().missing(r)
	met, err := s.meet(ctx, b.company.ID, unknownIDs, unknownReferences)
	if err != nil {
		return err
	}
	for _, c := range met {
		r.byID[c.ID] = c.deletedAt.IsZero()
		if c.reference != "" {
			r.note(c.reference, c.ID, !c.deletedAt.IsZero())
		}
	}
	names.note(r, b.customers)
	return nil
}

// names are what the lines of an import call customers: each text once, with the
// identifier that it is, or zero for a reference.
type names map[string]id.Customer

func (b *importBatch) names() names {
	n := names{}
	b.open(func(_ int, t *imported) {
		n.add(t.customer)
		for i := range t.bookings {
			if forWhom := t.bookings[i].boughtFor; forWhom != "" {
				n.add(forWhom)
			}
		}
	})
	return n
}

func (n names) add(text string) {
	if _, ok := n[text]; ok {
		return
	}
	c, err := id.Parse[id.Customer](text)
	if err != nil {
		c = id.Customer{}
	}
	n[text] = c
}

func (n names) split() (ids []id.Customer, references []string) {
	for text, c := range n {
		if c.IsZero() {
			references = append(references, text)
		} else {
			ids = append(ids, c)
		}
	}
	return ids, references
}

// missing lists those of whom r knows nothing.
func (n names) missing(r resolved) (ids []id.Customer, references []string) {
	for text, c := range n {
		if c.IsZero() {
			if _, ok := r.byReference[text]; !ok {
				references = append(references, text)
			}
		} else if _, ok := r.byID[c]; !ok {
			ids = append(ids, c)
		}
	}
	return ids, references
}

// note records who of n exists and is not deleted.
func (n names) note(r resolved, into map[string]id.Customer) {
	for text, c := range n {
		if c.IsZero() {
			if known := r.byReference[text]; !known.IsZero() {
				into[text] = known
			}
		} else if r.byID[c] {
			into[text] = c
		}
	}
}
