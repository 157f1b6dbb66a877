package rpc

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"reservation.dev/platform/fault"
)

// healthServer converts the library's NOT_FOUND status for an unregistered service to a fault. The
// guard would treat the status as an internal error.
type healthServer struct{ grpc_health_v1.HealthServer }

func (h healthServer) Check(ctx context.Context, req *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	resp, err := h.HealthServer.Check(ctx, req)
	if status.Code(err) == codes.NotFound {
		return nil, fault.Missing("service")
	}
	return resp, err
}
