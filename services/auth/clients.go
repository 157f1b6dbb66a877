package auth

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// companyCopies are the services that keep a copy of companies. A change of a company is confirmed
// only after each of them has it. Purchases after the response then use the new zone and currency,
// in every replica, even while NATS is unavailable.
type companyCopies []authv1.CompanyCopyServiceClient

// newCompanyCopies returns the services behind connections.
func newCompanyCopies(conns ...grpc.ClientConnInterface) companyCopies {
	all := make(companyCopies, len(conns))
	for i, conn := range conns {
		all[i] = authv1.NewCompanyCopyServiceClient(conn)
	}
	return all
}

// testData are the services that store test data.
type testData []authv1.TestDataServiceClient

// newTestData returns the services behind connections, which delete test data in this order.
func newTestData(conns ...grpc.ClientConnInterface) testData {
	all := make(testData, len(conns))
	for i, conn := range conns {
		all[i] = authv1.NewTestDataServiceClient(conn)
	}
	return all
}

// delete deletes the test data of a company in one service after the other, with the caller's token,
// and returns the number of rows. If a service cannot be reached, the error is fault.Unavailable. If
// data are added at the same time, it can be fault.Conflict.
func (all testData) delete(ctx context.Context, company id.Company) (deleted int64, err error) {
	ctx = rpc.WithCompany(ctx, company)
	for _, c := range all {
		resp, err := c.DeleteTestData(ctx, &authv1.DeleteTestDataRequest{})
		switch {
		case fault.Is(err, fault.Conflict), status.Code(err) == codes.Internal:
			return deleted, err
		case err != nil:
			return deleted, fault.Away(err)
		}
		deleted += resp.GetDeleted()
	}
	return deleted, nil
}

// refresh updates every copy of a company, with the caller's token. If a service cannot be reached,
// the error is fault.Unavailable. The change is stored nevertheless, and the same request can be
// repeated until it succeeds.
func (all companyCopies) refresh(ctx context.Context, company id.Company) error {
	ctx = rpc.WithCompany(ctx, company)
	failed := make(chan error, len(all))
	for _, c := range all {
		go func() {
			_, err := c.RefreshCompany(ctx, &authv1.RefreshCompanyRequest{})
			if status.Code(err) == codes.Unimplemented {
				err = nil // an earlier release, which follows the events
			}
			failed <- err
		}()
	}
	var faults []error
	for range all {
		faults = append(faults, <-failed)
	}
	if err := errors.Join(faults...); err != nil {
		return fault.Away(err)
	}
	return nil
}
