package resource

import (
	"reservation.dev/platform/enum"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

// LoggedRequest converts an entry of the request log.
func LoggedRequest(r *authv1.LoggedRequest) *edgebv1.LoggedRequest {
	return &edgebv1.LoggedRequest{
		Id: r.GetId(), ReceivedAt: utc(r.GetReceivedAt()), CredentialId: r.GetCredentialId(), Interface: enum.Name(r.GetInterface()),
		Method: r.GetMethod(), Path: r.GetPath(), Route: nullableText(r.GetRoute()), Status: r.GetStatus(), ErrorCode: nullableText(r.GetErrorCode()),
		RequestId: r.GetRequestId(), DurationMs: r.GetDurationMicroseconds() / 1000, ClientAddress: r.GetClientAddress(),
		RequestBytes: r.GetRequestBytes(), ResponseBytes: r.GetResponseBytes(), IdempotencyKey: r.GetIdempotencyKey(), Replayed: r.GetReplayed(),
	}
}
