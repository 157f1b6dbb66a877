package fault

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"
)

// domain is the domain of ErrorInfo in the platform's faults.
const domain = "reservation.dev"

// previousKind is the metadata key in which the previous release sends the number of the kind. It is
// not a fact of the reason, so it is ignored.
const previousKind = "faultKind"

// moreKey is the metadata key of Error.More.
const moreKey = "more"

// code returns the gRPC code of a kind. An unknown kind is Internal, never OK.
func (k Kind) code() codes.Code {
	switch k {
	case Invalid:
		return codes.InvalidArgument
	case Unauthenticated:
		return codes.Unauthenticated
	case Forbidden:
		return codes.PermissionDenied
	case NotFound:
		return codes.NotFound
	case Refused:
		return codes.FailedPrecondition
	case VersionMismatch:
		return codes.Aborted
	case Conflict:
		return codes.AlreadyExists
	case RateLimited, TooLarge:
		return codes.ResourceExhausted
	case Unavailable:
		return codes.Unavailable
	}
	return codes.Internal
}

// kindOf returns the kind of a code and a reason. TooLarge shares its code with
// RateLimited, but always has the reason PAYLOAD_TOO_LARGE.
func kindOf(c codes.Code, reason string) Kind {
	if c == TooLarge.code() && reason == ReasonPayloadTooLarge {
		return TooLarge
	}
	for k := Invalid; k <= last; k++ {
		if k.code() == c {
			return k
		}
	}
	return Internal
}

// Status returns the gRPC status that the caller gets for err. An error that is neither a fault nor
// the end of a context becomes just "internal error". The texts of wrapped errors and of Internal
// faults are never sent.
func Status(err error) *status.Status {
	if err == nil {
		return status.New(codes.OK, "")
	}
	if _, ok := find(err); !ok {
		switch {
		case errors.Is(err, context.Canceled):
			return status.New(codes.Canceled, "the caller cancelled the request")
		case errors.Is(err, context.DeadlineExceeded):
			return status.New(codes.DeadlineExceeded, "the deadline was exceeded")
		}
	}
	e := From(err)
	if e.Kind.code() == codes.Internal {
		e = internal(nil)
	}
	e = e.limited()
	details := []protoadapt.MessageV1{e.info()}
	if len(e.Fields) > 0 {
		details = append(details, e.badRequest())
	}
	if e.RetryAfter > 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(e.RetryAfter)})
	}
	st, detailErr := status.New(e.Kind.code(), e.Message).WithDetails(details...)
	if detailErr != nil { // cannot happen: the code is not OK and all texts are UTF-8
		return status.New(codes.Internal, "internal error")
	}
	return st
}

func (e *Error) info() *errdetails.ErrorInfo {
	meta := make(map[string]string, len(e.Meta))
	for k, v := range e.Meta {
		meta[k] = v
	}
	if e.More > 0 {
		meta[moreKey] = strconv.Itoa(e.More)
	}
	return &errdetails.ErrorInfo{Reason: e.Reason, Domain: domain, Metadata: meta}
}

func (e *Error) badRequest() *errdetails.BadRequest {
	bad := &errdetails.BadRequest{FieldViolations: make([]*errdetails.BadRequest_FieldViolation, 0, len(e.Fields))}
	for _, f := range e.Fields {
		bad.FieldViolations = append(bad.FieldViolations, &errdetails.BadRequest_FieldViolation{
			Field: f.Field, Reason: f.Rule, Description: f.Message,
		})
	}
	return bad
}

// statusOf returns the gRPC status in the chain of err. It does not use status.FromError, which adds
// the texts of the wrapping errors to the message.
func statusOf(err error) (*status.Status, bool) {
	var carrier interface{ GRPCStatus() *status.Status }
	if !errors.As(err, &carrier) {
		return nil, false
	}
	st := carrier.GRPCStatus()
	return st, st != nil && st.Code() != codes.OK
}

// fromStatus reads the fault in a gRPC status. A status without one is converted by its code.
func fromStatus(err error) (*Error, bool) {
	st, ok := statusOf(err)
	if !ok {
		return nil, false
	}
	e := &Error{Message: st.Message()}
	for _, d := range st.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			if d.GetDomain() != domain {
				continue
			}
			e.readInfo(d)
		case *errdetails.BadRequest:
			for _, v := range d.GetFieldViolations() {
				e.Fields = append(e.Fields, Field{Field: v.GetField(), Rule: v.GetReason(), Message: v.GetDescription()})
			}
		case *errdetails.RetryInfo:
			e.RetryAfter = max(0, d.GetRetryDelay().AsDuration())
		}
	}
	if e.Reason != "" {
		e.Kind = kindOf(st.Code(), e.Reason)
		return e, true
	}
	switch st.Code() {
	case codes.Unavailable, codes.DeadlineExceeded:
		return Away(err), true
	case codes.ResourceExhausted:
		if strings.Contains(st.Message(), "larger than max") { // a message of grpc-go
			return New(TooLarge, ReasonPayloadTooLarge, "the request is too large").Because(err), true
		}
		return New(RateLimited, ReasonRateLimitExceeded, "too many requests").After(time.Second).Because(err), true
	case codes.Canceled:
		return cancelled(err), true
	}
	return internal(err), true
}

// readInfo sets the reason and its facts.
func (e *Error) readInfo(d *errdetails.ErrorInfo) {
	e.Reason = d.GetReason()
	for k, v := range d.GetMetadata() {
		if k == previousKind {
			continue
		}
		if n, err := strconv.Atoi(v); k == moreKey && err == nil && n > 0 {
			e.More = n
			continue
		}
		if e.Meta == nil {
			e.Meta = map[string]string{}
		}
		e.Meta[k] = v
	}
}
