package customer

import (
	"context"
	"errors"
	"io"
	"slices"

	"google.golang.org/grpc"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// ImportCustomers implements CustomerService: each batch is one commit and one
// answer.
func (s *Server) ImportCustomers(stream grpc.BidiStreamingServer[customerv1.ImportCustomersRequest, customerv1.ImportCustomersResponse]) error {
	company, err := rpc.Tenant(stream.Context())
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

func (s *Server) importBatch(ctx context.Context, company id.Company, in []*customerv1.ImportedCustomer) ([]*customerv1.ImportCustomerResult, error) {
	now := pg.Instant(s.now())
	results := make([]*customerv1.ImportCustomerResult, len(in))
	var list []Customer
	var references []string
	seen := map[string]bool{}
	for i, line := range in {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		results[i] = &customerv1.ImportCustomerResult{Reference: line.GetReference()}
		c, err := s.imported(line, now)
		if err != nil {
			refuse(results[i], fault.From(err))
			continue
		}
		results[i].Reference = *c.Reference
		if seen[*c.Reference] { // the first line of a reference stands
			continue
		}
		seen[*c.Reference] = true
		list, references = append(list, c), append(references, *c.Reference)
	}
	var isNew map[id.Customer]bool
	var known map[string]id.Customer
	var taken map[string]bool // references of customers whose address somebody has
	var gone map[string]bool  // references of customers who were erased
	release, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	err = s.companyStore().Write(ctx, company, func(ctx context.Context, tx *pg.Tx) (err error) {
		isNew, known, taken, gone = nil, nil, nil, nil
		if len(list) == 0 {
			return nil
		}
		if gone, err = s.store.forgotten(ctx, tx, company, references); err != nil {
			return err
		}
		list := slices.DeleteFunc(slices.Clone(list), func(c Customer) bool { return gone[*c.Reference] })
		if taken, err = s.store.takeEmails(ctx, tx, company, list); err != nil {
			return err
		}
		free := slices.DeleteFunc(slices.Clone(list), func(c Customer) bool { return taken[*c.Reference] })
		if isNew, err = s.store.importNew(ctx, tx, company, free, now); err != nil {
			return err
		}
		if known, err = s.store.byReference(ctx, tx, company, references); err != nil {
			return err
		}
		var events []outbox.Event
		for _, c := range free {
			if isNew[c.ID] {
				events = append(events, created(company, c))
			}
		}
		return s.outbox.AppendAll(ctx, tx, events)
	})
	if err != nil {
		return nil, err
	}
	for _, r := range results {
		if r.GetOutcome() == customerv1.ImportOutcome_IMPORT_OUTCOME_REFUSED {
			continue
		}
		if gone[r.GetReference()] {
			refuse(r, fault.InvalidFields(fault.Field{Field: "reference", Rule: "erased", Message: "is that of a customer who was erased"}))
			continue
		}
		if taken[r.GetReference()] {
			refuse(r, emailExists())
			continue
		}
		customer := known[r.GetReference()]
		r.Id, r.Outcome = customer.String(), customerv1.ImportOutcome_IMPORT_OUTCOME_EXISTED
		if isNew[customer] { // the first line of the reference
			r.Outcome = customerv1.ImportOutcome_IMPORT_OUTCOME_CREATED
			delete(isNew, customer)
		}
	}
	return results, nil
}
