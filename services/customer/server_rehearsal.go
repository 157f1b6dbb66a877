package customer

import (
	"context"
	"fmt"
	"strings"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/tenancy"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// maxRehearsed is the maximum number of customers of a stream that are imported with dry_run.
const maxRehearsed = 100_000

// rehearsal is what an import with dry_run would have stored so far.
type rehearsal struct {
	read       int
	references map[string]bool
	emails     map[string]bool // in lower case
}

// rehearse returns the results that importBatch would return, and stores nothing.
func (s *Server) rehearse(ctx context.Context, company tenancy.Company, r *rehearsal, in []*customerv1.ImportedCustomer) ([]*customerv1.ImportCustomerResult, error) {
	if r.read += len(in); r.read > maxRehearsed {
		return nil, fault.New(fault.TooLarge, fault.ReasonPayloadTooLarge, fmt.Sprintf("a stream can have at most %d customers with dry_run", maxRehearsed))
	}
	lines, err := s.readBatch(ctx, in, s.clock(company))
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
		o, err = s.foresee(ctx, tx, company, lines)
		return err
	})
	if err != nil {
		return nil, err
	}
	if r.references == nil {
		r.references, r.emails = map[string]bool{}, map[string]bool{}
	}
	results := make([]*customerv1.ImportCustomerResult, len(lines))
	for i, line := range lines {
		results[i] = r.result(line, o)
	}
	return results, nil
}

// foresee reads what storeBatch reads, and changes nothing.
func (s *Server) foresee(ctx context.Context, tx *pg.Tx, company tenancy.Company, lines []importedLine) (o importOutcome, err error) {
	if o.rules, err = s.store.emailRules(ctx, tx, company.ID); err != nil {
		return o, err
	}
	customers, references := accepted(lines, o.rules)
	if len(customers) == 0 {
		return o, nil
	}
	if err = s.findReferences(ctx, tx, company, references, &o); err != nil {
		return o, err
	}
	if o.rules.unique {
		if o.taken, err = s.store.takenEmails(ctx, tx, company.ID, without(without(customers, o.erased), o.known)); err != nil {
			return o, err
		}
	}
	o.stored, err = s.store.byReference(ctx, tx, company.ID, references)
	return o, err
}

// result returns the result of a line, and remembers the customer that it would create.
func (r *rehearsal) result(line importedLine, o importOutcome) *customerv1.ImportCustomerResult {
	result := o.result(line)
	if result.GetOutcome() == customerv1.ImportOutcome_IMPORT_OUTCOME_REFUSED {
		return result
	}
	reference, email := *line.customer.Reference, strings.ToLower(line.customer.Email)
	_, stored := o.stored[reference]
	switch {
	case stored || o.known[reference]:
	case r.references[reference]:
		result.Id = ""
	case o.rules.unique && r.emails[email]:
		return refused(reference, emailExists())
	default:
		r.references[reference] = true
		if email != "" {
			r.emails[email] = true
		}
		result.Id, result.Outcome = "", customerv1.ImportOutcome_IMPORT_OUTCOME_CREATED
	}
	return result
}
