package gatewaya

import (
	"strings"

	"reservation.dev/platform/enum"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	edgeav1 "reservation.dev/proto/gen/reservation/edge/a/v1"
)

// typeCustomer is the value of type for customers on Interface A.
const typeCustomer = "customer"

func profile(c *customerv1.Customer) *edgeav1.Profile {
	return &edgeav1.Profile{
		Id: c.GetId(), Type: typeCustomer, Firstname: c.GetFirstName(), Lastname: c.GetLastName(),
		Email: c.GetEmail(), Mobile: c.GetMobile(),
	}
}

func listedCustomer(c *customerv1.Customer) *edgeav1.ListedCustomer {
	return &edgeav1.ListedCustomer{
		Id: c.GetId(), Type: typeCustomer, Firstname: c.GetFirstName(), Lastname: c.GetLastName(),
		Email: c.GetEmail(), Mobile: c.GetMobile(), Archived: c.GetArchived(),
	}
}

// exportedMembers returns the members of an exported customer: those of ListedCustomer. The value of
// each member is the customer's field of the same name without underscores, except for type, which is
// a constant. The customer service writes the members when it renders the export.
func exportedMembers() []*customerv1.ExportMember {
	fields := map[string]customerv1.CustomerField{}
	for i, name := range enum.Names[customerv1.CustomerField]() {
		fields[strings.ReplaceAll(name, "_", "")] = customerv1.CustomerField(i + 1)
	}
	listed := (&edgeav1.ListedCustomer{}).ProtoReflect().Descriptor().Fields()
	members := make([]*customerv1.ExportMember, listed.Len())
	for i := range members {
		name := listed.Get(i).JSONName()
		members[i] = &customerv1.ExportMember{Name: name, Value: &customerv1.ExportMember_Constant{Constant: typeCustomer}}
		if field, ok := fields[name]; ok {
			members[i].Value = &customerv1.ExportMember_Field{Field: field}
		}
	}
	return members
}

// profileUpdate converts the body of PUT /customer/{id}/profile. The interface requires first name,
// last name and e-mail address, but the service leaves them unchanged if they are unset. They are
// therefore always set, and the service reports an empty one. An empty address is also reported for a company that
// allows customers without one.
func profileUpdate(in *edgeav1.ProfileUpdate) *customerv1.UpdateCustomerRequest {
	firstName, lastName, email := in.GetFirstname(), in.GetLastname(), in.GetEmail()
	update := &customerv1.UpdateCustomerRequest{FirstName: &firstName, LastName: &lastName, Email: &email}
	update.RequireEmail = strings.TrimSpace(email) == ""
	if in != nil {
		update.Mobile = in.Mobile
	}
	return update
}
