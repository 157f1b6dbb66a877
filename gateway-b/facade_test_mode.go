package gatewayb

import (
	"context"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/resource"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

// GetTestClock is GET /test-clock.
func (f *facade) GetTestClock(ctx context.Context, _ *edgebv1.GetTestClockRequest) (*edgebv1.GetTestClockResponse, error) {
	res, err := f.testMode.GetTestClock(ctx, &authv1.GetTestClockRequest{})
	if err != nil {
		return nil, err
	}
	return &edgebv1.GetTestClockResponse{Clock: resource.TestClock(res.GetClock())}, nil
}

// AdvanceTestClock is POST /test-clock/advance.
func (f *facade) AdvanceTestClock(ctx context.Context, req *edgebv1.AdvanceTestClockRequest) (*edgebv1.AdvanceTestClockResponse, error) {
	var b body
	advance := &authv1.AdvanceTestClockRequest{To: b.instant("to", edge.OrEmpty(req.GetAdvance()).To)}
	if err := b.Err(); err != nil {
		return nil, err
	}
	res, err := f.testMode.AdvanceTestClock(ctx, advance)
	if err != nil {
		return nil, err
	}
	return &edgebv1.AdvanceTestClockResponse{Clock: resource.TestClock(res.GetClock())}, nil
}

// ResetTestData is POST /test-data/reset.
func (f *facade) ResetTestData(ctx context.Context, _ *edgebv1.ResetTestDataRequest) (*edgebv1.ResetTestDataResponse, error) {
	res, err := f.testMode.ResetTestData(ctx, &authv1.ResetTestDataRequest{})
	if err != nil {
		return nil, err
	}
	return &edgebv1.ResetTestDataResponse{Deleted: res.GetDeleted(), Clock: resource.TestClock(res.GetClock())}, nil
}
