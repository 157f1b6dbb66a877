package rpc

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"reservation.dev/platform/fault"
)

// healthServer answers NOT_FOUND for a service that is not registered: the guard
// takes the status of a library for an internal error.
type healthServer struct{ grpc_health_v1.HealthServer }

func (h healthServer) Check(ctx context.Context, req *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	resp, err := h.HealthServer.Check(ctx, req)
	if status.Code(err) == codes.NotFound {
		return nil, fault.Missing("service")
	}
	return resp, err
}
