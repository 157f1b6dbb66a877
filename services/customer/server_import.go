package customer

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"google.golang.org/grpc"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/tenancy"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// ImportCustomers implements CustomerService. Each batch is one commit and one response.
func (s *Server) ImportCustomers(stream grpc.BidiStreamingServer[customerv1.ImportCustomersRequest, customerv1.ImportCustomersResponse]) error {
	company, err := s.companies.Clocked(stream.Context())
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
		if len(req.GetCustomers()) == 0 {
			return fault.InvalidFields(fault.Field{Field: "customers", Rule: "items", Message: "must have at least 1"})
		}
		results, err := s.importBatch(stream.Context(), company, req.GetCustomers())
		if err != nil {
			return err
		}
		if err := stream.Send(&customerv1.ImportCustomersResponse{Results: results}); err != nil {
			return err
		}
	}
}

// importBatch stores a batch and returns the result of each line.
func (s *Server) importBatch(ctx context.Context, company tenancy.Company, in []*customerv1.ImportedCustomer) ([]*customerv1.ImportCustomerResult, error) {
	now := s.clock(company)
	b, err := s.readBatch(ctx, in, now)
	if err != nil {
		return nil, err
	}
	release, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	var o importOutcome
	err = s.companyStore().Write(ctx, company.ID, func(ctx context.Context, tx *pg.Tx) (err error) {
		o, err = s.storeBatch(ctx, tx, company, b, now)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, r := range b.results {
		o.write(r)
	}
	return b.results, nil
}

// importedBatch is a batch of an import: a result for each line, and a customer for each reference
// among the valid lines.
type importedBatch struct {
	results    []*customerv1.ImportCustomerResult
	customers  []Customer
	references []string
}

// readBatch checks the lines of a batch. If several lines have the same reference, the first one
// counts.
func (s *Server) readBatch(ctx context.Context, in []*customerv1.ImportedCustomer, now time.Time) (importedBatch, error) {
	b := importedBatch{results: make([]*customerv1.ImportCustomerResult, len(in))}
	seen := map[string]bool{}
	for i, line := range in {
		if ctx.Err() != nil {
			return b, ctx.Err()
		}
		b.results[i] = &customerv1.ImportCustomerResult{Reference: line.GetReference()}
		c, err := s.imported(line, now)
		if err != nil {
			refuse(b.results[i], fault.From(err))
			continue
		}
		b.results[i].Reference = *c.Reference
		if !seen[*c.Reference] {
			seen[*c.Reference] = true
			b.customers, b.references = append(b.customers, c), append(b.references, *c.Reference)
		}
	}
	return b, nil
}

// storeBatch stores the new customers of a batch and publishes their events.
func (s *Server) storeBatch(ctx context.Context, tx *pg.Tx, company tenancy.Company, b importedBatch, now time.Time) (o importOutcome, err error) {
	if len(b.customers) == 0 {
		return o, nil
	}
	if o.erased, err = s.store.erasedReferences(ctx, tx, company.ID, b.references); err != nil {
		return o, err
	}
	customers := without(b.customers, o.erased)
	if o.taken, err = s.store.takeEmails(ctx, tx, company.ID, customers); err != nil {
		return o, err
	}
	customers = without(customers, o.taken)
	if o.isNew, err = s.store.importNew(ctx, tx, company.ID, customers, now); err != nil {
		return o, err
	}
	if o.stored, err = s.store.byReference(ctx, tx, company.ID, b.references); err != nil {
		return o, err
	}
	var events []outbox.Event
	for _, c := range customers {
		if o.isNew[c.ID] {
			events = append(events, created(company, c))
		}
	}
	return o, s.outbox.AppendAll(ctx, tx, events)
}

// without returns the customers whose references are not in a set.
func without(list []Customer, references map[string]bool) []Customer {
	return slices.DeleteFunc(slices.Clone(list), func(c Customer) bool { return references[*c.Reference] })
}
