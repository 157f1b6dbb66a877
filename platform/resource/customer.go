package resource

import (
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

// Customer converts a customer.
func Customer(c *customerv1.Customer) *edgebv1.Customer {
	return &edgebv1.Customer{
		Id: c.GetId(), FirstName: c.GetFirstName(), LastName: c.GetLastName(), Email: c.GetEmail(), Mobile: c.GetMobile(),
		Archived: c.GetArchived(), CreatedAt: utc(c.GetCreatedAt()), UpdatedAt: utc(c.GetUpdatedAt()),
	}
}
