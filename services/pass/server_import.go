package pass

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"google.golang.org/grpc"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

const (
	// maxRehearsed is the maximum number of passes of a stream that are imported with dry_run.
	maxRehearsed = 100_000
	// maxImporting is the number of batches that are stored at the same time.
	maxImporting = 2
)

// errRehearsed rolls back the transaction of a dry run, which has only read.
var errRehearsed = errors.New("the import is a dry run")

// ImportCustomerPasses implements PassService. Each batch is one commit and one response.
func (s *Server) ImportCustomerPasses(stream grpc.BidiStreamingServer[passv1.ImportCustomerPassesRequest, passv1.ImportCustomerPassesResponse]) error {
	company, err := s.tenant(stream.Context())
	if err != nil {
		return err
	}
	rehearsed, references := 0, map[string]bool{}
	for {
		req, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(req.GetCustomerPasses()) == 0 {
			return fault.InvalidFields(fault.Field{Field: "customer_passes", Rule: "required", Message: "must have at least 1"})
		}
		b := &passBatch{company: company, dryRun: req.GetDryRun(), earlier: references}
		if b.dryRun {
			if rehearsed += len(req.GetCustomerPasses()); rehearsed > maxRehearsed {
				return fault.New(fault.TooLarge, fault.ReasonPayloadTooLarge, fmt.Sprintf("a stream can have at most %d passes with dry_run", maxRehearsed))
			}
		}
		if err := s.importBatch(stream.Context(), b, req.GetCustomerPasses()); err != nil {
			return err
		}
		if err := stream.Send(&passv1.ImportCustomerPassesResponse{Results: b.results}); err != nil {
			return err
		}
	}
}

// passBatch is the passes of one commit.
type passBatch struct {
	company tenant
	dryRun  bool
	// earlier are the references that earlier batches with dry_run would have stored.
	earlier   map[string]bool
	lines     []importedPass
	customers []id.Customer // of the lines that are not refused, each once
	results   []*passv1.ImportCustomerPassResult
}

// read reads the lines of a batch, and refuses invalid ones.
func (b *passBatch) read(ctx context.Context, in []*passv1.ImportedCustomerPass, at moment) error {
	b.lines = make([]importedPass, len(in))
	seen := map[id.Customer]bool{}
	for i, m := range in {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		b.lines[i] = importedPassOf(m, at.now)
		if customer := b.lines[i].customer; b.lines[i].failed == nil && !seen[customer] {
			seen[customer] = true
			b.customers = append(b.customers, customer)
		}
	}
	return nil
}

// importBatch stores a batch in one commit, and sets its results.
func (s *Server) importBatch(ctx context.Context, b *passBatch, in []*passv1.ImportedCustomerPass) error {
	if err := b.read(ctx, in, s.moment(b.company)); err != nil {
		return err
	}
	missing, err := s.customers.Missing(ctx, b.company.ID, b.customers)
	if err != nil {
		return err
	}
	select {
	case s.importing <- struct{}{}:
		defer func() { <-s.importing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	err = s.store.writeRepeatedly(ctx, b.company.ID, func(ctx context.Context, tx *pg.Tx) error {
		found, err := s.store.openImport(ctx, tx, b, missing)
		if err != nil {
			return err
		}
		return s.storeImport(ctx, tx, b, found)
	})
	if errors.Is(err, errRehearsed) {
		return nil
	}
	return err
}

// storeImport decides the lines of a batch and stores the passes that it creates, with their ledgers and events.
func (s *Server) storeImport(ctx context.Context, tx *pg.Tx, b *passBatch, found importFound) error {
	at := s.moment(b.company)
	var rows importRows
	var events []outbox.Event
	b.results = make([]*passv1.ImportCustomerPassResult, len(b.lines))
	for i, line := range b.lines {
		if b.results[i] = found.known(line); b.results[i] != nil {
			continue
		}
		p, t, err := found.decide(line, at, b.company.zone)
		if err != nil {
			b.results[i] = refusedImport(line.reference, err)
			continue
		}
		if !b.dryRun {
			p.ID = id.CustomerPass(s.newID())
		}
		found.existing[line.reference] = p.ID
		b.results[i] = importResult(line.reference, passv1.ImportOutcome_IMPORT_OUTCOME_CREATED, p.ID)
		ledger := importedLedger(p, rpc.Caller(ctx), at)
		rows.add(p, line.reference, ledger)
		events = append(events, customerPassImported(b.company.ID, customerPassMessage(p, b.company.zone, at.today), passTypeMessage(t),
			ledgerMessages(ledger, b.company.zone)))
	}
	if b.dryRun {
		for _, reference := range rows.references {
			b.earlier[reference] = true
		}
		return errRehearsed
	}
	if len(events) == 0 {
		return nil
	}
	if err := tx.Pipeline(ctx, rows.insert(b.company.ID)...); err != nil {
		return err
	}
	if err := s.outbox.AppendAll(ctx, tx, events); err != nil {
		return err
	}
	return s.outbox.AppendChange(ctx, tx, b.company.ID, b.company.ID, outbox.Fact{Field: "imported", Value: strconv.Itoa(len(events))})
}

// known returns the result of a line that is refused or was imported before; nil for all others.
func (f importFound) known(line importedPass) *passv1.ImportCustomerPassResult {
	if line.failed != nil {
		return refusedImport(line.reference, line.failed)
	}
	if pass, ok := f.existing[line.reference]; ok {
		return importResult(line.reference, passv1.ImportOutcome_IMPORT_OUTCOME_EXISTED, pass)
	}
	return nil
}

// FindImportedPasses implements PassService.
func (s *Server) FindImportedPasses(ctx context.Context, req *passv1.FindImportedPassesRequest) (*passv1.FindImportedPassesResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	if len(req.GetReferences()) == 0 {
		return nil, fault.InvalidFields(fault.Field{Field: "references", Rule: "required", Message: "must have at least 1"})
	}
	passes, err := s.store.importedPasses(ctx, company.ID, req.GetReferences())
	if err != nil {
		return nil, err
	}
	resp := &passv1.FindImportedPassesResponse{}
	for _, reference := range req.GetReferences() {
		if pass, ok := passes[reference]; ok {
			resp.Passes = append(resp.Passes, &passv1.ImportedPass{Reference: reference, CustomerPassId: pass.String()})
			delete(passes, reference)
		}
	}
	return resp, nil
}
