package edge

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"reservation.dev/platform/fault"
)

// StatusOf returns the HTTP status of a fault.
func StatusOf(f *fault.Error) int {
	switch f.Reason {
	case fault.ReasonMethodNotAllowed:
		return http.StatusMethodNotAllowed
	case fault.ReasonUnsupportedMediaType:
		return http.StatusUnsupportedMediaType
	}
	switch f.Kind {
	case fault.Invalid, fault.Refused:
		return http.StatusBadRequest
	case fault.Unauthenticated:
		return http.StatusUnauthorized
	case fault.Forbidden:
		return http.StatusForbidden
	case fault.NotFound:
		return http.StatusNotFound
	case fault.VersionMismatch:
		return http.StatusPreconditionFailed
	case fault.Conflict:
		return http.StatusConflict
	case fault.RateLimited:
		return http.StatusTooManyRequests
	case fault.TooLarge:
		return http.StatusRequestEntityTooLarge
	case fault.Unavailable:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// faultOf converts an error from grpc-gateway to a fault.
func faultOf(s *exchange, err error) *fault.Error {
	if s != nil && s.fault != nil {
		return s.fault
	}
	var routing *runtime.HTTPStatusError
	if errors.As(err, &routing) {
		return fault.New(fault.Invalid, fault.ReasonInvalidParameter, "the path is not valid").Because(err)
	}
	f := fault.From(err)
	if f.Kind == fault.Internal && status.Code(err) == codes.InvalidArgument {
		return fault.New(fault.Invalid, fault.ReasonInvalidParameter, "the request is malformed").Because(err)
	}
	return f
}

// Details returns the details of f for the error body: "field" and "rule" of the first failure,
// "errors" with all listed failures, "more" with the number of the others, and the facts of the
// reason. It is never nil.
func Details(f *fault.Error) map[string]any {
	details := map[string]any{}
	for k, v := range f.Meta {
		details[k] = v
	}
	if len(f.Fields) > 0 {
		details["field"], details["rule"] = f.Fields[0].Field, f.Fields[0].Rule
		all := make([]map[string]string, 0, len(f.Fields))
		for _, field := range f.Fields {
			all = append(all, map[string]string{
				"field": field.Field, "rule": field.Rule, "message": field.Field + " " + field.Message,
			})
		}
		details["errors"] = all
	}
	if f.More > 0 {
		details["more"] = f.More
	}
	return details
}

// setFaultHeaders sets the response headers of a fault, which are the same on both interfaces.
func setFaultHeaders(h http.Header, f *fault.Error) {
	h.Set("Content-Type", contentType)
	h.Del("Location")
	if f.RetryAfter > 0 {
		seconds := int64((f.RetryAfter + 999_999_999) / 1_000_000_000)
		h.Set("Retry-After", strconv.FormatInt(seconds, 10))
	}
	if h.Get("WWW-Authenticate") != "" {
		return // the handler set the scheme that the client uses
	}
	switch f.Kind {
	case fault.Unauthenticated:
		challenge := `Bearer realm="reservation"`
		if f.Reason == fault.ReasonTokenExpired {
			challenge += `, error="invalid_token", error_description="the access token expired"`
		} else if f.Meta["token"] == "invalid" {
			challenge += `, error="invalid_token"`
		}
		h.Set("WWW-Authenticate", challenge)
	case fault.Forbidden:
		if f.Reason == fault.ReasonNetworkNotAllowed {
			h.Set("WWW-Authenticate", `Bearer realm="reservation"`) // another token or scope does not help
			return
		}
		challenge := `Bearer realm="reservation", error="insufficient_scope"`
		if scope := f.Meta["scope"]; scope != "" {
			challenge += `, scope="` + scope + `"`
		}
		h.Set("WWW-Authenticate", challenge)
	}
}

// AppendBody appends an error body to b as JSON. It does not escape "<", ">" and "&", because the
// body is never shown as HTML.
func AppendBody(b []byte, body any) []byte {
	buf := bytes.NewBuffer(b)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if enc.Encode(body) != nil { // cannot happen: bodies contain only structs, strings and maps
		return append(b, "{}"...)
	}
	return bytes.TrimRight(buf.Bytes(), "\n")
}
