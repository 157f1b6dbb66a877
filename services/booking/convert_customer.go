package booking

import (
	"reservation.dev/platform/id"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// recordOf reads a customer as the customer service publishes it.
func recordOf(company id.Company, c *customerv1.CustomerSnapshot) (customerRecord, error) {
	customer, err := id.Parse[id.Customer](c.GetId())
	if err != nil {
		return customerRecord{}, err
	}
	return customerRecord{
		company:   company,
		Customer:  Customer{ID: customer, FirstName: c.GetFirstName(), LastName: c.GetLastName(), Email: c.GetEmail()},
		reference: c.GetReference(), version: c.GetVersion(), deletedAt: instantOf(c.GetDeletedAt()),
	}, nil
}
