package customer

import (
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
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
	var r rehearsal
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
		var results []*customerv1.ImportCustomerResult
		if req.GetDryRun() {
			results, err = s.rehearse(stream.Context(), company, &r, req.GetCustomers())
		} else {
			results, err = s.importBatch(stream.Context(), company, req.GetCustomers())
		}
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
	lines, err := s.readBatch(ctx, in, now)
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
		o, err = s.storeBatch(ctx, tx, company, lines, now)
		return err
	})
	if err != nil {
		return nil, err
	}
	results := make([]*customerv1.ImportCustomerResult, len(lines))
	for i, line := range lines {
		results[i] = o.result(line)
	}
	return results, nil
}

// readBatch checks the lines of a batch.
func (s *Server) readBatch(ctx context.Context, in []*customerv1.ImportedCustomer, now time.Time) ([]importedLine, error) {
	lines := make([]importedLine, len(in))
	for i, line := range in {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		lines[i] = s.imported(line, now)
	}
	return lines, nil
}

// storeBatch stores the new customers of a batch and publishes their events.
func (s *Server) storeBatch(ctx context.Context, tx *pg.Tx, company tenancy.Company, lines []importedLine, now time.Time) (o importOutcome, err error) {
	if o.rules, err = s.store.lockEmails(ctx, tx, company.ID); err != nil {
		return o, err
	}
	customers, references := accepted(lines, o.rules)
	if len(customers) == 0 {
		return o, nil
	}
	if err = s.findReferences(ctx, tx, company, references, &o); err != nil {
		return o, err
	}
	customers = without(without(customers, o.erased), o.known)
	if o.rules.unique {
		if o.taken, err = s.store.takenEmails(ctx, tx, company.ID, customers); err != nil {
			return o, err
		}
		customers = without(customers, o.taken)
	}
	if o.isNew, err = s.store.importNew(ctx, tx, company.ID, customers, now); err != nil {
		return o, err
	}
	if o.stored, err = s.store.byReference(ctx, tx, company.ID, references); err != nil {
		return o, err
	}
	var events []outbox.Event
	for _, c := range customers {
		if o.isNew[c.ID] {
			events = append(events, created(company, c))
		}
	}
	if len(events) == 0 {
		return o, nil
	}
	if err := s.outbox.AppendAll(ctx, tx, events); err != nil {
		return o, err
	}
	return o, s.outbox.AppendChange(ctx, tx, company.ID, company.ID, outbox.Fact{Field: "imported", Value: strconv.Itoa(len(events))})
}

// findReferences finds the references that are of erased customers, or identifiers of customers.
func (s *Server) findReferences(ctx context.Context, tx *pg.Tx, company tenancy.Company, references []string, o *importOutcome) (err error) {
	if o.erased, err = s.store.erasedReferences(ctx, tx, company.ID, references); err != nil {
		return err
	}
	identified, deleted, err := s.store.byIdentifier(ctx, tx, company.ID, references)
	if err != nil {
		return err
	}
	o.identified, o.deleted, o.known = identified, deleted, map[string]bool{}
	for reference := range identified {
		o.known[reference] = true
	}
	return nil
}

// without returns the customers whose references are not in a set.
func without(list []Customer, references map[string]bool) []Customer {
	return slices.DeleteFunc(slices.Clone(list), func(c Customer) bool { return references[*c.Reference] })
}
