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

// StatusOf returns the HTTP status that a fault is answered with.
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

// faultOf turns whatever grpc-gateway reports into a fault.
func faultOf(s *exchange, err error) *fault.Error {
	if s != nil && s.fault != nil {
		return s.fault
	}
	var routing *runtime.HTTPStatusError
	if errors.As(err, &routing) {
		return fault.New(fault.Invalid, fault.ReasonInvalidParameter, "the path is malformed").Because(err)
	}
	f := fault.From(err)
	if f.Kind == fault.Internal && status.Code(err) == codes.InvalidArgument {
		return fault.New(fault.Invalid, fault.ReasonInvalidParameter, "the request is malformed").Because(err)
	}
	return f
}

// Details returns the public details of f as both interfaces write them:
// "field" and "rule" of the first failure, "errors" for all that the fault lists,
// "more" for the number of the others, and the facts of the reason. It is never nil.
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

// setFaultHeaders sets the headers that go with a fault on either interface.
func setFaultHeaders(h http.Header, f *fault.Error) {
	h.Set("Content-Type", contentType)
	h.Del("ETag")
	h.Del("Location")
	if f.RetryAfter > 0 {
		seconds := int64((f.RetryAfter + 999_999_999) / 1_000_000_000)
		h.Set("Retry-After", strconv.FormatInt(seconds, 10))
	}
	if h.Get("WWW-Authenticate") != "" {
		return // the handler knows the scheme that its caller uses
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
		if scope := f.Meta["scope"]; scope != "" {
			h.Set("WWW-Authenticate", `Bearer realm="reservation", error="insufficient_scope", scope="`+scope+`"`)
		}
	}
}

// AppendBody writes an error's body, of structs, texts and maps, as people read it: "<"
// stays "<", because the body is never shown as HTML.
func AppendBody(b []byte, body any) []byte {
	buf := bytes.NewBuffer(b)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if enc.Encode(body) != nil { // it is always JSON
		return append(b, "{}"...)
	}
	return bytes.TrimRight(buf.Bytes(), "\n")
}
