package gatewayb

import (
	"reservation.dev/platform/edge"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

func customer(c *customerv1.Customer) *edgebv1.Customer {
	return &edgebv1.Customer{
		Id: c.GetId(), FirstName: c.GetFirstName(), LastName: c.GetLastName(), Email: c.GetEmail(), Mobile: c.GetMobile(),
		Archived: c.GetArchived(), CreatedAt: utc(c.GetCreatedAt()), UpdatedAt: utc(c.GetUpdatedAt()),
	}
}

func newCustomer(in *edgebv1.CustomerWrite) *customerv1.CreateCustomerRequest {
	return &customerv1.CreateCustomerRequest{
		FirstName: in.GetFirstName(), LastName: in.GetLastName(), Email: in.GetEmail(), Mobile: in.GetMobile(), Archived: in.GetArchived(),
	}
}

func customerUpdate(in *edgebv1.CustomerWrite) *customerv1.UpdateCustomerRequest {
	in = edge.OrEmpty(in)
	return &customerv1.UpdateCustomerRequest{
		FirstName: in.FirstName, LastName: in.LastName, Email: in.Email, Mobile: in.Mobile, Archived: in.Archived,
	}
}
