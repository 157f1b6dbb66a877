package customer

import (
	"context"

	"reservation.dev/platform/check"
	"reservation.dev/platform/id"
	"reservation.dev/platform/tenancy"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// exceptMissingEmail returns the failed checks of a request with an empty address, without that of the address if
// the company allows it. If nothing else failed, it returns nil, and the transaction decides.
func (s *Server) exceptMissingEmail(ctx context.Context, failed *check.Fields) error {
	others := exceptEmail(failed)
	if others == nil {
		return nil
	}
	company, err := s.companies.Of(ctx)
	if err != nil || !company.OptionalEmails {
		return failed.Err()
	}
	return others
}

// checkNew trims and checks the fields of a new customer.
func (s *Server) checkNew(ctx context.Context, c *Customer) error {
	var failed check.Fields
	c.check(&failed)
	if c.Email == "" {
		return s.exceptMissingEmail(ctx, &failed)
	}
	return failed.Err()
}

// checkChange trims and checks the fields that an update sets. A customer without an address can stay without one,
// even if the company does not allow it.
func (s *Server) checkChange(
	ctx context.Context, company tenancy.Company, customer id.Customer, change Change, req *customerv1.UpdateCustomerRequest,
) error {
	var failed check.Fields
	change.check(&failed)
	empties := change.emptiesEmail() && !req.GetRequireEmail()
	if failed.Len() == 0 || empties && exceptEmail(&failed) == nil {
		return nil
	}
	// A missing customer is reported before invalid fields.
	c, err := s.store.get(ctx, company.ID, customer)
	switch {
	case err != nil:
		return err
	case empties && c.Email == "":
		return exceptEmail(&failed)
	case empties:
		return s.exceptMissingEmail(ctx, &failed)
	}
	return failed.Err()
}
