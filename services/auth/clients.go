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

// companyCopies are the services that keep a copy of companies. A change of a company is
// answered once each of them has it: what is sold after the answer is dated and
// priced by it, in every replica, also while NATS is away.
type companyCopies []authv1.CompanyCopyServiceClient

// newCompanyCopies returns the services behind connections.
func newCompanyCopies(conns ...grpc.ClientConnInterface) companyCopies {
	all := make(companyCopies, len(conns))
	for i, conn := range conns {
		all[i] = authv1.NewCompanyCopyServiceClient(conn)
	}
	return all
}

// refresh makes every copy of a company the present one, with the caller's token.
// Its error is fault.Unavailable; the change is stored nevertheless, and the same
// request can be repeated until it succeeds.
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
