package rpc

import (
	"context"
	"fmt"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/token"
)

// identity is what a request is done for; one value, so that it costs one
// context.
type identity struct {
	claims    *token.Claims
	company   id.Company
	requestID string
}

type identityKey struct{}

func identityOf(ctx context.Context) identity {
	in, _ := ctx.Value(identityKey{}).(*identity)
	if in == nil {
		return identity{}
	}
	return *in
}

func withIdentity(ctx context.Context, in identity) context.Context {
	return context.WithValue(ctx, identityKey{}, &in)
}

// WithClaims returns ctx for a caller whose token was verified. Calls made with
// it carry the caller's token.
func WithClaims(ctx context.Context, c *token.Claims) context.Context {
	in := identityOf(ctx)
	in.claims, in.company = c, c.Company
	return withIdentity(ctx, in)
}

// ClaimsFrom returns the caller's verified claims; nil: there is no caller.
func ClaimsFrom(ctx context.Context) *token.Claims { return identityOf(ctx).claims }

// Company returns the tenant that the request is for: the token's, or the one
// that a platform credential named for this call. Zero: none.
func Company(ctx context.Context) id.Company { return identityOf(ctx).company }

// WithCompany returns ctx for calls with the caller's token about a company, which
// a platform credential names at each call.
func WithCompany(ctx context.Context, company id.Company) context.Context {
	in := identityOf(ctx)
	in.company = company
	return withIdentity(ctx, in)
}

// Caller returns the credential that calls (m2m_…, svc_…); "": none.
func Caller(ctx context.Context) string {
	if c := ClaimsFrom(ctx); c != nil {
		return c.Subject
	}
	return ""
}

// WithRequestID returns ctx for the request with the given id.
func WithRequestID(ctx context.Context, requestID string) context.Context {
	in := identityOf(ctx)
	in.requestID = requestID
	return withIdentity(ctx, in)
}

// RequestID returns the id of the request; "": none.
func RequestID(ctx context.Context) string { return identityOf(ctx).requestID }

// outgoing is what a call carries besides the identity.
type outgoing struct {
	source  *token.Source
	company id.Company
	key     string
}

type outgoingKey struct{}

func outgoingOf(ctx context.Context) outgoing {
	out, _ := ctx.Value(outgoingKey{}).(*outgoing)
	if out == nil {
		return outgoing{}
	}
	return *out
}

// As returns ctx for calls under the part's own credential instead of the
// caller's token, on behalf of company (zero: of none). It begins anew: an
// idempotency key that was set before belongs to the caller's own write.
func As(ctx context.Context, src *token.Source, company id.Company) context.Context {
	return context.WithValue(ctx, outgoingKey{}, &outgoing{source: src, company: company})
}

// WithIdempotencyKey returns ctx for one write that is done at most once per
// key. A key that a server received is not passed on by itself: two writes that
// follow from one request would take each other for a repeat.
func WithIdempotencyKey(ctx context.Context, key string) context.Context {
	out := outgoingOf(ctx)
	out.key = key
	return context.WithValue(ctx, outgoingKey{}, &out)
}

// IdempotencyKey returns the key that calls under ctx carry; "": none.
func IdempotencyKey(ctx context.Context) string { return outgoingOf(ctx).key }

// OwnError turns the error of a call under the service's own credential (see As) into
// what the caller is answered. The caller learns that the other service is away, but
// not what it says about our credential or our request.
func OwnError(service string, err error) error {
	switch {
	case err == nil:
		return nil
	case fault.Is(err, fault.Unavailable):
		return fault.Away(fmt.Errorf("%s service: %w", service, err))
	}
	return fmt.Errorf("%s service: %v", service, err) //nolint:errorlint // the fault of a service is not the caller's
}
