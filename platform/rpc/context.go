package rpc

import (
	"context"
	"fmt"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/token"
)

// identity is the caller and the company of a request, and its id. It is a single value, so that it
// needs only one context.
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

// WithClaims returns ctx for a caller whose token was verified. Calls with it carry the caller's
// token.
func WithClaims(ctx context.Context, c *token.Claims) context.Context {
	in := identityOf(ctx)
	in.claims, in.company = c, c.Company
	return withIdentity(ctx, in)
}

// ClaimsFrom returns the caller's verified claims, or nil if there is no caller.
func ClaimsFrom(ctx context.Context) *token.Claims { return identityOf(ctx).claims }

// Company returns the company that the request is for: the company of the token, or the one that a
// platform credential named for this call. It is zero if there is none.
func Company(ctx context.Context) id.Company { return identityOf(ctx).company }

// WithCompany returns ctx for calls with the caller's token for a company. Only a platform credential
// can name a company.
func WithCompany(ctx context.Context, company id.Company) context.Context {
	in := identityOf(ctx)
	in.company = company
	return withIdentity(ctx, in)
}

// Caller returns the id of the calling credential (m2m_…, svc_…), or "" if there is none.
func Caller(ctx context.Context) string {
	if c := ClaimsFrom(ctx); c != nil {
		return c.Subject
	}
	return ""
}

// CompanyCredential returns the id of the calling credential if it is an API client, an API key or a
// service credential of a company: m2m_…, key_… or svc_…. It is "" for people and for platform
// credentials, with which the services call each other.
func CompanyCredential(ctx context.Context) string {
	c := ClaimsFrom(ctx)
	if c == nil || c.Company.IsZero() {
		return ""
	}
	switch c.Kind {
	case token.KindClient, token.KindKey, token.KindService:
		return c.Subject
	}
	return ""
}

// Method returns the full name of the gRPC method that the server handles with ctx, or "" if there is
// none: "/reservation.customer.v1.CustomerService/GetCustomer".
func Method(ctx context.Context) string {
	method, _ := grpc.Method(ctx)
	return method
}

// WithRequestID returns ctx with the id of the request.
func WithRequestID(ctx context.Context, requestID string) context.Context {
	in := identityOf(ctx)
	in.requestID = requestID
	return withIdentity(ctx, in)
}

// RequestID returns the id of the request, or "" if there is none.
func RequestID(ctx context.Context) string { return identityOf(ctx).requestID }

// outgoing is what calls carry in addition to the identity.
type outgoing struct {
	source  *token.Source
	company id.Company
	key     string
	// replayed is set if the response to a call is that of an earlier one with the key.
	replayed *atomic.Bool
}

type outgoingKey struct{}

func outgoingOf(ctx context.Context) outgoing {
	out, _ := ctx.Value(outgoingKey{}).(*outgoing)
	if out == nil {
		return outgoing{}
	}
	return *out
}

// As returns ctx for calls with the service's own credential instead of the caller's token, on behalf
// of company; zero means no company. It drops the idempotency key of ctx, which belongs to another
// write.
func As(ctx context.Context, src *token.Source, company id.Company) context.Context {
	return context.WithValue(ctx, outgoingKey{}, &outgoing{source: src, company: company})
}

// WithIdempotencyKey returns ctx for one write that happens at most once per key. A key that a server
// received is not passed on automatically: if a request causes two writes, the second one would look
// like a retry of the first.
func WithIdempotencyKey(ctx context.Context, key string) context.Context {
	out := outgoingOf(ctx)
	out.key = key
	return context.WithValue(ctx, outgoingKey{}, &out)
}

// WithReplayed returns ctx for a write with an idempotency key. If the service returns the response of an
// earlier request with the key, the call sets replayed.
func WithReplayed(ctx context.Context, replayed *atomic.Bool) context.Context {
	out := outgoingOf(ctx)
	out.replayed = replayed
	return context.WithValue(ctx, outgoingKey{}, &out)
}

// SetReplayed tells the caller of a method that the response is that of an earlier request with the same
// idempotency key.
func SetReplayed(ctx context.Context) {
	_ = grpc.SetTrailer(ctx, metadata.Pairs(mdReplayed, "true")) // fails outside of a gRPC server
}

// IdempotencyKey returns the key that calls with ctx carry, or "" if there is none.
func IdempotencyKey(ctx context.Context) string { return outgoingOf(ctx).key }

// OwnError converts the error of a call with the service's own credential (see As) to the error for
// the caller. The caller learns that the other service is unavailable, but not what it says about the
// credential or the call.
func OwnError(service string, err error) error {
	switch {
	case err == nil:
		return nil
	case fault.Is(err, fault.Unavailable):
		return fault.Away(fmt.Errorf("%s service: %w", service, err))
	}
	return fmt.Errorf("%s service: %v", service, err) //nolint:errorlint // the caller must not get the service's fault
}
