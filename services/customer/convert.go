package customer

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

func message(c Customer) *customerv1.Customer {
	return &customerv1.Customer{
		Id: c.ID.String(), FirstName: c.FirstName, LastName: c.LastName, Email: c.Email, Mobile: c.Mobile,
		Archived: c.Archived, CreatedAt: timestamppb.New(c.CreatedAt), UpdatedAt: timestamppb.New(c.UpdatedAt),
		Version: c.Version, DeletedAt: optional(c.DeletedAt), Reference: referenceOf(c),
	}
}

func snapshot(c Customer) *customerv1.CustomerSnapshot {
	return &customerv1.CustomerSnapshot{
		Id: c.ID.String(), FirstName: c.FirstName, LastName: c.LastName, Email: c.Email, Mobile: c.Mobile,
		Archived: c.Archived, CreatedAt: timestamppb.New(c.CreatedAt), UpdatedAt: timestamppb.New(c.UpdatedAt),
		DeletedAt: optional(c.DeletedAt), Version: c.Version, Reference: referenceOf(c),
	}
}

func referenceOf(c Customer) string {
	if c.Reference == nil {
		return ""
	}
	return *c.Reference
}

func optional(t *time.Time) *timestamppb.Timestamp {
	if t == nil {
		return nil
	}
	return timestamppb.New(*t)
}

func changeOf(req *customerv1.UpdateCustomerRequest) Change {
	return Change{FirstName: req.FirstName, LastName: req.LastName, Email: req.Email, Mobile: req.Mobile, Archived: req.Archived}
}

// since returns the instant of an optional timestamp; zero: none.
func since(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime()
}
