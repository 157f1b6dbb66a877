package auth

import (
	"math"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

func requestMessages(list []LoggedRequest) []*authv1.LoggedRequest {
	messages := make([]*authv1.LoggedRequest, len(list))
	for i := range list {
		messages[i] = requestMessage(&list[i])
	}
	return messages
}

func requestMessage(r *LoggedRequest) *authv1.LoggedRequest {
	return &authv1.LoggedRequest{
		Id: r.ID.String(), ReceivedAt: timestamppb.New(r.ID.UUID().Time()), CredentialId: r.subject(),
		Interface: authv1.PublicInterface(r.Interface), Method: r.Method, Path: r.Path, Route: r.Route, Status: int32(r.Status),
		ErrorCode: r.ErrorCode, RequestId: r.requestID(), DurationMicroseconds: r.DurationUS, ClientAddress: r.ClientAddress,
		RequestBytes: r.RequestBytes, ResponseBytes: r.ResponseBytes, IdempotencyKey: r.IdempotencyKey, Replayed: r.Replayed,
	}
}

// receivedRequest converts a request of a batch. ok is false if the request cannot be in the log.
func receivedRequest(m *authv1.ReceivedRequest) (r LoggedRequest, ok bool) {
	in := m.GetRequest()
	request, err := id.Parse[id.LoggedRequest](in.GetId())
	credential, kind, known := loggedCredential(in.GetCredentialId())
	if err != nil || !known || len(m.GetCompanyId()) != len(r.Company) && len(m.GetCompanyId()) != 0 {
		return r, false
	}
	r = LoggedRequest{
		ID: request, Credential: credential, Kind: kind, Interface: int16(in.GetInterface()), Status: int16(min(in.GetStatus(), math.MaxInt16)),
		IdempotencyKey: in.GetIdempotencyKey(), Replayed: in.GetReplayed(), Method: in.GetMethod(), Path: in.GetPath(), Route: in.GetRoute(),
		ErrorCode: in.GetErrorCode(), ClientAddress: in.GetClientAddress(), DurationUS: in.GetDurationMicroseconds(),
		RequestBytes: in.GetRequestBytes(), ResponseBytes: in.GetResponseBytes(),
	}
	copy(r.Company[:], m.GetCompanyId())
	if in.GetRequestId() != request.UUID().String() {
		r.RequestID = &in.RequestId
	}
	return r, true
}

// requestFilterOf checks the filter of a request and returns it.
func requestFilterOf(req *authv1.ListRequestsRequest) (requestFilter, error) {
	f := requestFilter{
		interfaceID: int16(req.GetInterface()), method: req.GetMethod(), requestID: req.GetRequestId(),
		since: instantOf(req.GetSince()), until: instantOf(req.GetUntil()),
	}
	for _, text := range []struct{ parameter, value string }{{"method", f.method}, {"request_id", f.requestID}} {
		if !storable(text.value) {
			return f, fault.InvalidParameter(text.parameter, "characters", "must not contain control characters")
		}
	}
	if authv1.PublicInterface_name[int32(req.GetInterface())] == "" {
		return f, fault.InvalidParameter("interface", "enum", "must be a or b")
	}
	var err error
	if f.minStatus, err = statusOf("min_status", req.GetMinStatus()); err != nil {
		return f, err
	}
	if f.maxStatus, err = statusOf("max_status", req.GetMaxStatus()); err != nil {
		return f, err
	}
	if req.GetCredentialId() != "" {
		credential, kind, _ := loggedCredential(req.GetCredentialId())
		f.credential, f.kind = &credential, kind // null, which no row has, if it is malformed
	}
	return f, nil
}

// statusOf checks a limit of the status; 0 is none.
func statusOf(parameter string, status int32) (int16, error) {
	if status != 0 && (status < 100 || status > highestStatus) {
		return 0, fault.InvalidParameter(parameter, "range", "must be 100 to 599")
	}
	return int16(status), nil
}

func instantOf(t *timestamppb.Timestamp) *time.Time {
	if t == nil {
		return nil
	}
	return new(t.AsTime())
}
