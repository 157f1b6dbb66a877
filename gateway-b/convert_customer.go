package gatewayb

import (
	"reservation.dev/platform/edge"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

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
