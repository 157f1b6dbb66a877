package customer

import (
	"context"

	"google.golang.org/grpc"

	"reservation.dev/platform/check"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/rpc"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// snapshotPage is the number of customers in a message of a snapshot.
const snapshotPage = 1000

// StreamCustomers implements CustomerSnapshotService.
func (s *Server) StreamCustomers(req *customerv1.StreamCustomersRequest, out grpc.ServerStreamingServer[customerv1.StreamCustomersResponse]) error {
	company, err := rpc.Tenant(out.Context())
	if err != nil {
		return err
	}
	after, err := check.After[id.Customer]("after_id", req.GetAfterId())
	if err != nil {
		return err
	}
	return page.Keyset[id.Customer, Customer]{
		Size: snapshotPage, Key: func(c *Customer) id.Customer { return c.ID },
		Read: func(ctx context.Context, after id.Customer) ([]Customer, error) {
			return s.store.snapshot(ctx, company, after, snapshotPage)
		},
		Send: func(all []Customer) error {
			resp := &customerv1.StreamCustomersResponse{Customers: make([]*customerv1.CustomerSnapshot, len(all))}
			for i, c := range all {
				resp.Customers[i] = snapshot(c)
			}
			return out.Send(resp)
		},
	}.Stream(out.Context(), after)
}
