package convert

import (
	"reservation.dev/platform/id"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	"reservation.dev/services/booking/model"
)

// CustomerRecord reads a customer from an event of the customer service.
func CustomerRecord(company id.Company, c *customerv1.CustomerSnapshot) (model.CustomerRecord, error) {
	customer, err := id.Parse[id.Customer](c.GetId())
	if err != nil {
		return model.CustomerRecord{}, err
	}
	return model.CustomerRecord{
		Company:   company,
		Customer:  model.Customer{ID: customer, FirstName: c.GetFirstName(), LastName: c.GetLastName(), Email: c.GetEmail()},
		Reference: c.GetReference(), Version: c.GetVersion(), DeletedAt: Instant(c.GetDeletedAt()),
	}, nil
}
