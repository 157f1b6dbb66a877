package gatewayb

import (
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

func customer(c *customerv1.Customer) *edgebv1.Customer {
	return &edgebv1.Customer{
		Id: c.GetId(), FirstName: c.GetFirstName(), LastName: c.GetLastName(), Email: c.GetEmail(), Mobile: c.GetMobile(),
		Archived: c.GetArchived(), CreatedAt: utc(c.GetCreatedAt()), UpdatedAt: utc(c.GetUpdatedAt()),
	}
}

// noIdentifier stands for an empty text where an identifier is expected. It is none,
// so services answer it like one that does not exist.
const noIdentifier = "-"

// identifier returns an optional identifier; "": the caller gives none. An empty text
// is not taken for none: a client whose variable is empty must not get what it would
// get without the member.
func identifier(given *string) string {
	if given != nil && *given == "" {
		return noIdentifier
	}
	if given == nil {
		return ""
	}
	return *given
}
