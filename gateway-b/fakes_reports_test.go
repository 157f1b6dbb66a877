package gatewayb

import (
	"context"

	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
)

type fakeReports struct {
	reportsv1.UnimplementedReportServiceServer
	*fakes
}

func (f fakeReports) GetTakings(ctx context.Context, req *reportsv1.GetTakingsRequest) (*reportsv1.GetTakingsResponse, error) {
	return reply[*reportsv1.GetTakingsResponse](ctx, f.fakes, req)
}
func (f fakeReports) GetAttendance(ctx context.Context, req *reportsv1.GetAttendanceRequest) (*reportsv1.GetAttendanceResponse, error) {
	return reply[*reportsv1.GetAttendanceResponse](ctx, f.fakes, req)
}
func (f fakeReports) GetCredits(ctx context.Context, req *reportsv1.GetCreditsRequest) (*reportsv1.GetCreditsResponse, error) {
	return reply[*reportsv1.GetCreditsResponse](ctx, f.fakes, req)
}
func (f fakeReports) GetCustomers(ctx context.Context, req *reportsv1.GetCustomersRequest) (*reportsv1.GetCustomersResponse, error) {
	return reply[*reportsv1.GetCustomersResponse](ctx, f.fakes, req)
}
func (f fakeReports) ListExpiringPasses(ctx context.Context, req *reportsv1.ListExpiringPassesRequest) (*reportsv1.ListExpiringPassesResponse, error) {
	return reply[*reportsv1.ListExpiringPassesResponse](ctx, f.fakes, req)
}
