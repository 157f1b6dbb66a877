package booking

import (
	"context"

	"google.golang.org/grpc"

	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
	"reservation.dev/services/booking/store"
)

// CompareCustomers implements VerificationService. A customer whose event has not been consumed yet
// is reported as a difference; if it is repaired, the event repeats the repair.
func (s *Server) CompareCustomers(req *bookingv1.CompareCustomersRequest, out grpc.ServerStreamingServer[bookingv1.CompareCustomersResponse]) error {
	ctx := out.Context()
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return err
	}
	var checked int64
	for after := (id.Customer{}); ; {
		copies, err := s.store.CopiesAfter(ctx, company.ID, after, maxLookup)
		if err != nil {
			return err
		}
		if len(copies) == 0 {
			return out.Send(&bookingv1.CompareCustomersResponse{Checked: checked})
		}
		checked += int64(len(copies))
		after = copies[len(copies)-1].ID
		differences, err := s.compareCustomers(ctx, company.ID, copies, req.GetRepair())
		if err != nil {
			return err
		}
		for _, d := range differences {
			if err := out.Send(&bookingv1.CompareCustomersResponse{Difference: d}); err != nil {
				return err
			}
		}
	}
}

func (s *Server) compareCustomers(ctx context.Context, company id.Company, copies []store.CustomerCopy, repair bool) ([]*bookingv1.CustomerDifference, error) {
	ids := make([]id.Customer, len(copies))
	for i, c := range copies {
		ids[i] = c.ID
	}
	found, err := s.customers.Lookup(ctx, company, ids, nil)
	if err != nil {
		return nil, err
	}
	records := make(map[id.Customer]model.CustomerRecord, len(found))
	for _, r := range found {
		records[r.ID] = r
	}
	var differences []*bookingv1.CustomerDifference
	for i := range copies {
		c := &copies[i]
		r, known := records[c.ID]
		if known && !c.Differs(r) {
			continue
		}
		d := &bookingv1.CustomerDifference{CustomerId: c.ID.String(), CopiedVersion: c.Version, Version: r.Version}
		if known && repair {
			if d.Repaired, err = s.store.RepairCopy(ctx, company, c, r); err != nil {
				return nil, err
			}
		}
		differences = append(differences, d)
	}
	return differences, nil
}
