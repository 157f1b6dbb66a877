package edge

import (
	"context"
	"net/http"
	"sync/atomic"

	"go.opentelemetry.io/otel/trace"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/token"
)

// exchange is the state of one request and its response.
type exchange struct {
	// id identifies the request, and begins with the time at which it arrived.
	id        id.UUID
	requestID string
	route     *Route
	claims    *token.Claims
	// caller is whom the request log has it from.
	caller caller
	// received is the size of the body that was read, in bytes, and replayed whether the response is
	// that of an earlier request with the same Idempotency-Key.
	received int64
	replayed atomic.Bool
	// counted is whether the request counts against the rate limit of its credential.
	counted  bool
	request  http.Header
	response http.Header
	// fault is the error of reading the body.
	fault *fault.Error
	// version is the version of the resource in the response; "" if it has none.
	version string
	// digest is the digest of the resource; "": the one of the response's body.
	digest string
	// created makes the status of a success 201.
	created bool
	// failed is the fault in the response, or nil.
	failed *fault.Error
	span   trace.Span
}

// identify sets the claims of the caller, and announces the test mode in the response.
func (s *exchange) identify(claims *token.Claims) {
	s.claims = claims
	announceMode(s.response, claims.Company.IsTest())
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	s, _ := ctx.Value(exchangeKey{}).(*exchange)
	return s
}

// Claims returns the claims of the caller's token, or nil on a public route.
func Claims(ctx context.Context) *token.Claims {
	if s := exchangeOf(ctx); s != nil {
		return s.claims
	}
	return nil
}

// Created makes the response a 201 with the Location of the created resource.
func Created(ctx context.Context, location string) {
	if s := exchangeOf(ctx); s != nil {
		s.created = true
		s.response.Set("Location", location)
	}
}
