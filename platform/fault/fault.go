// Package fault defines the error type that callers see. A fault has a public part (kind, reason,
// message and fields) and a private cause, which is logged and never leaves the process. Over gRPC it
// travels as google.rpc details and becomes the same value on the other side; see wire.go.
package fault

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Kind is the class of a fault, which decides what the caller can do about it.
type Kind uint8

const (
	// Internal is a failure of the platform. The caller learns no details.
	Internal Kind = iota
	// Invalid is a request that can never succeed as sent.
	Invalid
	// Unauthenticated is a caller without valid credentials.
	Unauthenticated
	// Forbidden is a caller with valid credentials but without the necessary permission.
	Forbidden
	// NotFound is a resource that does not exist for this caller.
	NotFound
	// Refused is a request that the current state of the resource does not allow: the date is full,
	// the pass is exhausted, or the booking is already cancelled.
	Refused
	// VersionMismatch is a stale If-Match.
	VersionMismatch
	// Conflict is a conflict with another request that has the same idempotency key.
	Conflict
	// RateLimited is a caller that sends too many requests.
	RateLimited
	// Unavailable is a dependency that does not respond. The same request may succeed later.
	Unavailable
	// TooLarge is a request beyond the accepted size. Its reason is always PAYLOAD_TOO_LARGE, which
	// distinguishes it from RateLimited on the wire.
	TooLarge

	last = TooLarge
)

// The reasons that more than one package uses. Other reasons are defined in the packages that use
// them.
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
	ReasonNetworkNotAllowed     = "NETWORK_NOT_ALLOWED"
	ReasonSecretRotated         = "SECRET_ROTATED"
	ReasonIdempotencyKeyReused  = "IDEMPOTENCY_KEY_REUSED"
	ReasonIdempotencyInProgress = "IDEMPOTENCY_IN_PROGRESS"
	ReasonLiveMode              = "LIVE_MODE"
	ReasonCompanyMoving         = "COMPANY_MOVING"
)

// Field is one failed check of one field of the request.
type Field struct {
	// Field is the field's path in the caller's own message ("lines[0].spaces").
	Field string
	// Rule names the check in lower case: required, type, format, max_length, …
	Rule string
	// Message is a phrase that follows the field's name, such as "is required". It does not contain
	// the name, because a gateway can rename the field.
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
	// Meta has further facts that depend on the reason, for example "scope" with INSUFFICIENT_SCOPE.
	Meta map[string]string
	// RetryAfter is how long to wait before a retry; 0 means unknown.
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

// After returns a copy of e with RetryAfter set.
func (e *Error) After(d time.Duration) *Error {
	c := *e
	c.RetryAfter = d
	return &c
}

// New returns a fault of any kind.
func New(k Kind, reason, message string) *Error {
	return &Error{Kind: k, Reason: reason, Message: message}
}

// InvalidFields returns a VALIDATION_ERROR whose message is about the first field. It lists as many
// fields as a fault can carry, and counts the others.
func InvalidFields(fields ...Field) *Error {
	e := &Error{Kind: Invalid, Reason: ReasonValidation, Message: "the request is invalid", Fields: fields}
	if len(fields) > 0 {
		e.Message = fields[0].sentence()
	}
	return e.limited()
}

// InvalidParameter returns an INVALID_PARAMETER fault about a parameter, a header or metadata. phrase
// is as in Field.Message.
func InvalidParameter(name, rule, phrase string) *Error {
	f := Field{Field: name, Rule: rule, Message: phrase}
	return &Error{Kind: Invalid, Reason: ReasonInvalidParameter, Message: f.sentence(), Fields: []Field{f}}
}

func (f Field) sentence() string { return f.Field + " " + f.Message }

// Rename returns a copy of e whose fields have the names of another interface. A field that is not
// in names keeps its name.
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

// Missing returns a NOT_FOUND fault. resource is its name for people ("customer").
func Missing(resource string) *Error {
	return New(NotFound, ReasonNotFound, resource+" not found")
}

// Stale returns a VERSION_MISMATCH fault for a resource that has changed since the caller read it.
// resource is its name for people ("pass type"). The fact "version" is the current version.
func Stale(resource string, version int64) *Error {
	return New(VersionMismatch, ReasonVersionMismatch, "the "+resource+" has changed since you read it; read it again").
		With("version", strconv.FormatInt(version, 10))
}

// Refuse returns a fault for a request that the current state does not allow.
func Refuse(reason, message string) *Error { return New(Refused, reason, message) }

// LiveMode refuses an operation that exists in test mode only.
func LiveMode() *Error {
	return Refuse(ReasonLiveMode, "this exists in test mode only; use a credential of the test mode")
}

// SecretRotated refuses the rotation of a secret while the previous one is valid, because receivers or
// programs may still use it, and the rotation would end it. ends is when the previous one ends.
func SecretRotated(ends time.Time) *Error {
	at := ends.UTC().Format(time.RFC3339)
	return New(Refused, ReasonSecretRotated, "the previous secret is valid until "+at+
		", because it may still be in use: rotate the secret after that, or with force, which ends the previous one now").With("previous_expires_at", at)
}

// MissingScope returns the fault for a token without the scope that the operation needs.
func MissingScope(scope string) *Error {
	return New(Forbidden, ReasonInsufficientScope, "the access token lacks the scope "+scope).With("scope", scope)
}

// Away returns a SERVICE_UNAVAILABLE fault for a dependency that does not respond.
func Away(cause error) *Error {
	return New(Unavailable, ReasonServiceUnavailable, "the service is temporarily unavailable; try again").
		After(time.Second).Because(cause)
}

// Moving returns the fault of every request for a company that moves to another installation.
func Moving() *Error {
	return New(Unavailable, ReasonCompanyMoving, "the company is being moved to another installation; repeat the request").
		After(2 * time.Second)
}

// From returns err as a fault. It is the fault in the chain of err, the fault in a gRPC status,
// Unavailable if a context ended, or otherwise Internal with err as its cause. nil stays nil.
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
	if e == nil { // somebody returned a nil *Error as an error
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
