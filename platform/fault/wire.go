package fault

import (
	"context"
	"errors"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"
)

// domain marks the ErrorInfo details that are ours.
const domain = "reservation.dev"

// kindKey is the metadata key under which the kind travels: gRPC has fewer
// codes than we have kinds.
const kindKey = "kind"

var codeOf = map[Kind]codes.Code{
	Internal:        codes.Internal,
	Invalid:         codes.InvalidArgument,
	Unauthenticated: codes.Unauthenticated,
	Forbidden:       codes.PermissionDenied,
	NotFound:        codes.NotFound,
	Refused:         codes.FailedPrecondition,
	VersionMismatch: codes.Aborted,
	Conflict:        codes.AlreadyExists,
	RateLimited:     codes.ResourceExhausted,
	Unavailable:     codes.Unavailable,
	TooLarge:        codes.ResourceExhausted,
}

// Status returns err as the gRPC status that the caller gets. What is not a
// fault becomes "internal error" and nothing else: the text of wrapped errors
// stays here.
func Status(err error) *status.Status {
	switch {
	case err == nil:
		return status.New(codes.OK, "")
	case errors.Is(err, context.Canceled):
		return status.New(codes.Canceled, "the caller went away")
	case errors.Is(err, context.DeadlineExceeded):
		return status.New(codes.DeadlineExceeded, "the deadline passed")
	}
	e := From(err)
	meta := make(map[string]string, len(e.Meta)+1)
	for k, v := range e.Meta {
		meta[k] = v
	}
	meta[kindKey] = strconv.Itoa(int(e.Kind))
	details := []protoadapt.MessageV1{&errdetails.ErrorInfo{Reason: e.Reason, Domain: domain, Metadata: meta}}
	if len(e.Fields) > 0 {
		bad := &errdetails.BadRequest{}
		for _, f := range e.Fields {
			bad.FieldViolations = append(bad.FieldViolations, &errdetails.BadRequest_FieldViolation{
				Field: f.Field, Reason: f.Rule, Description: f.Message,
			})
		}
		details = append(details, bad)
	}
	if e.RetryAfter > 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(e.RetryAfter)})
	}
	st, detailErr := status.New(codeOf[e.Kind], e.Message).WithDetails(details...)
	if detailErr != nil { // a field or message that is not UTF-8
		return status.New(codeOf[e.Kind], e.Reason)
	}
	return st
}

// fromStatus reads the fault that a gRPC status carries. A status that is not
// ours is translated by its code alone.
func fromStatus(err error) (*Error, bool) {
	st, ok := status.FromError(err)
	if !ok || st.Code() == codes.OK {
		return nil, false
	}
	e := &Error{Message: st.Message()}
	for _, d := range st.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			if d.GetDomain() != domain {
				continue
			}
			e.Reason = d.GetReason()
			for k, v := range d.GetMetadata() {
				if k == kindKey {
					n, _ := strconv.ParseUint(v, 10, 8)
					e.Kind = Kind(n)
					continue
				}
				if e.Meta == nil {
					e.Meta = map[string]string{}
				}
				e.Meta[k] = v
			}
		case *errdetails.BadRequest:
			for _, v := range d.GetFieldViolations() {
				e.Fields = append(e.Fields, Field{Field: v.GetField(), Rule: v.GetReason(), Message: v.GetDescription()})
			}
		case *errdetails.RetryInfo:
			e.RetryAfter = d.GetRetryDelay().AsDuration()
		}
	}
	if e.Reason != "" {
		return e, true
	}
	switch st.Code() {
	case codes.Unavailable, codes.DeadlineExceeded:
		return Away(err), true
	case codes.ResourceExhausted:
		return New(RateLimited, ReasonRateLimitExceeded, "too many requests").After(time.Second).Because(err), true
	case codes.Canceled:
		return New(Unavailable, ReasonServiceUnavailable, "the request was cancelled").Because(err), true
	}
	return New(Internal, ReasonInternal, "internal error").Because(err), true
}
