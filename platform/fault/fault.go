// Package fault holds the one error that callers are meant to see. It has a
// public part (kind, reason, message, fields) and a private cause that is
// logged and never leaves the process. It crosses gRPC as google.rpc details
// and is the same value on both sides; see wire.go.
package fault

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Kind is the class of a fault: what the caller can do about it.
type Kind uint8

const (
	// Internal is ours: the caller is told nothing more.
	Internal Kind = iota
	// Invalid is a request that can never succeed as sent.
	Invalid
	// Unauthenticated is a caller we do not know.
	Unauthenticated
	// Forbidden is a caller we know who may not do this.
	Forbidden
	// NotFound is a resource that does not exist for this caller.
	NotFound
	// Refused is a request that the present state of the resource does not
	// allow: a full date, a used pass, a booking cancelled before.
	Refused
	// VersionMismatch is a stale If-Match.
	VersionMismatch
	// Conflict is a clash with another request under the same idempotency key.
	Conflict
	// RateLimited is a caller that should slow down.
	RateLimited
	// Unavailable is a dependency that is away; the same request may succeed later.
	Unavailable
	// TooLarge is a request beyond the size that is accepted. Its reason is always
	// PAYLOAD_TOO_LARGE, which tells it from RateLimited on the wire.
	TooLarge

	last = TooLarge
)

// Reasons that more than one package gives. A domain's own reasons stand in the
// domain's package.
const (
	ReasonInternal              = "INTERNAL_ERROR"
	ReasonValidation            = "VALIDATION_ERROR"
	ReasonInvalidParameter      = "INVALID_PARAMETER"
	ReasonInvalidJSON           = "INVALID_JSON"
	ReasonUnauthorized          = "UNAUTHORIZED"
	ReasonTokenExpired          = "TOKEN_EXPIRED"
	ReasonInvalidCredentials    = "INVALID_CREDENTIALS"
	ReasonForbidden             = "FORBIDDEN"
	ReasonInsufficientScope     = "INSUFFICIENT_SCOPE"
	ReasonCallerNotAllowed      = "CALLER_NOT_ALLOWED"
	ReasonNotFound              = "NOT_FOUND"
	ReasonMethodNotAllowed      = "METHOD_NOT_ALLOWED"
	ReasonPayloadTooLarge       = "PAYLOAD_TOO_LARGE"
	ReasonUnsupportedMediaType  = "UNSUPPORTED_MEDIA_TYPE"
	ReasonRateLimitExceeded     = "RATE_LIMIT_EXCEEDED"
	ReasonServiceUnavailable    = "SERVICE_UNAVAILABLE"
	ReasonVersionMismatch       = "VERSION_MISMATCH"
	ReasonIdempotencyKeyReused  = "IDEMPOTENCY_KEY_REUSED"
	ReasonIdempotencyInProgress = "IDEMPOTENCY_IN_PROGRESS"
)

// Field is one failed check of one field of the request.
type Field struct {
	// Field is the field's path in the caller's own message ("lines[0].spaces").
	Field string
	// Rule names the check in lower case: required, type, format, max_length, …
	Rule string
	// Message says it in a phrase that follows the field's name: "is required".
	// It never contains the name itself, because an edge may rename the field.
	Message string
}

// Error is a fault. Its message is for the caller; its cause is not.
type Error struct {
	Kind    Kind
	Reason  string // UPPER_SNAKE_CASE, stable, for programs
	Message string // a sentence for people
	Fields  []Field
	// More counts the failed checks that Fields does not list.
	More int
	// Meta carries further facts of the reason, as strings: "scope" of
	// INSUFFICIENT_SCOPE, for one.
	Meta map[string]string
	// RetryAfter is how long to wait before the same request may succeed; 0: not said.
	RetryAfter time.Duration

	cause error
}

// Error returns the public message and, for logs, the cause.
func (e *Error) Error() string {
	if e == nil {
		return errNil.Error()
	}
	if e.cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Reason, e.Message, e.cause)
	}
	return e.Reason + ": " + e.Message
}

// Unwrap returns the private cause.
func (e *Error) Unwrap() error { return e.cause }

// Is makes errors.Is(err, fault.New(kind, reason, "")) match on kind and reason.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Kind == e.Kind && t.Reason == e.Reason
}

// Because returns a copy of e with a private cause.
func (e *Error) Because(cause error) *Error {
	c := *e
	c.cause = cause
	return &c
}

// With returns a copy of e with a further public fact.
func (e *Error) With(key, value string) *Error {
	c := *e
	c.Meta = make(map[string]string, len(e.Meta)+1)
	for k, v := range e.Meta {
		c.Meta[k] = v
	}
	c.Meta[key] = value
	return &c
}

// After returns a copy of e that asks the caller to wait.
func (e *Error) After(d time.Duration) *Error {
	c := *e
	c.RetryAfter = d
	return &c
}

// New returns a fault of any kind.
func New(k Kind, reason, message string) *Error {
	return &Error{Kind: k, Reason: reason, Message: message}
}

// InvalidFields returns a VALIDATION_ERROR whose message is about the first field. It
// keeps as many of the first fields as a fault carries, and counts the others.
func InvalidFields(fields ...Field) *Error {
	e := &Error{Kind: Invalid, Reason: ReasonValidation, Message: "the request is invalid", Fields: fields}
	if len(fields) > 0 {
		e.Message = fields[0].sentence()
	}
	return e.limited()
}

// InvalidParameter returns an INVALID_PARAMETER fault about a query or path
// parameter; phrase is as in Field.Message.
func InvalidParameter(name, rule, phrase string) *Error {
	f := Field{Field: name, Rule: rule, Message: phrase}
	return &Error{Kind: Invalid, Reason: ReasonInvalidParameter, Message: f.sentence(), Fields: []Field{f}}
}

func (f Field) sentence() string { return f.Field + " " + f.Message }

// Rename returns a copy of e in which the fields have the names of another
// interface; a name that is not in names stays.
func (e *Error) Rename(names map[string]string) *Error {
	if len(e.Fields) == 0 {
		return e
	}
	c := *e
	c.Fields = make([]Field, len(e.Fields))
	for i, f := range e.Fields {
		if name, ok := names[f.Field]; ok {
			f.Field = name
		}
		c.Fields[i] = f
	}
	if e.Message == e.Fields[0].sentence() {
		c.Message = c.Fields[0].sentence()
	}
	return &c
}

// Missing returns the NOT_FOUND fault; what is the resource's everyday name.
func Missing(what string) *Error {
	return New(NotFound, ReasonNotFound, what+" not found")
}

// Stale returns the fault for what ("pass type") has changed since the caller read it.
// Its fact "version" is the current version.
func Stale(what string, version int64) *Error {
	return New(VersionMismatch, ReasonVersionMismatch, "the "+what+" has changed since you read it; read it again").
		With("version", strconv.FormatInt(version, 10))
}

// Refuse returns a fault for a state that does not allow the request.
func Refuse(reason, message string) *Error { return New(Refused, reason, message) }

// MissingScope returns the fault for a token without the scope that the operation needs.
func MissingScope(scope string) *Error {
	return New(Forbidden, ReasonInsufficientScope, "the access token lacks the scope "+scope).With("scope", scope)
}

// Away returns the fault for a dependency that does not answer.
func Away(cause error) *Error {
	return New(Unavailable, ReasonServiceUnavailable, "the service is temporarily unavailable; try again").
		After(time.Second).Because(cause)
}

// From returns err as a fault: the one in its chain, the one a gRPC status
// carries, Unavailable for the end of a context, or an Internal one that hides
// err as its cause. nil stays nil.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := find(err); ok {
		return e
	}
	if e, ok := fromStatus(err); ok {
		return e
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return Away(err)
	case errors.Is(err, context.Canceled):
		return cancelled(err)
	}
	return internal(err)
}

// find returns the fault in err's chain.
func find(err error) (*Error, bool) {
	var e *Error
	if !errors.As(err, &e) {
		return nil, false
	}
	if e == nil { // a nil *Error that was returned as an error
		return internal(errNil), true
	}
	return e, true
}

var errNil = errors.New("a nil fault is not an error")

func internal(cause error) *Error {
	return New(Internal, ReasonInternal, "internal error").Because(cause)
}

func cancelled(cause error) *Error {
	return New(Unavailable, ReasonServiceUnavailable, "the request was cancelled").Because(cause)
}

// Is reports whether err is a fault of the given kind.
func Is(err error, k Kind) bool { return err != nil && From(err).Kind == k }
