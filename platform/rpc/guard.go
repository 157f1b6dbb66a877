package rpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"reservation.dev/platform/bounds"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/origin"
	"reservation.dev/platform/token"
)

// The metadata that servers read and clients send.
const (
	mdAuthorization = "authorization"
	mdRequestID     = "x-request-id"
	mdCompany       = "reservation-company"
	mdIdempotency   = "idempotency-key"
	mdReplayed      = "idempotency-replayed"
	mdOrigin        = "reservation-origin"
)

// originEvent is the value of mdOrigin in calls that handle an event.
const (
	originEvent = "event"
)

// The longest identifiers that a caller can send, in bytes.
const (
	MaxRequestID      = 128
	MaxIdempotencyKey = 255
)

// guard checks every call of a server before its method runs.
type guard struct {
	log         *slog.Logger
	verifier    *token.Verifier
	policy      Policy
	idempotency func(ctx context.Context, key, caller, kind string) context.Context
	durations   *prometheus.HistogramVec
	callers     *callers // nil means any caller
	bounds      *bounds.Checker
	// receiveWithin is how long the only message of a public method can take to arrive.
	receiveWithin time.Duration
	calls         calls
}

// protect returns the method desc of a service with a handler that first checks whether the caller can
// call the method. The handler also recovers panics and converts errors for the caller.
func (g *guard) protect(service string, desc grpc.StreamDesc) grpc.StreamDesc {
	method, next := "/"+service+"/"+desc.StreamName, desc.Handler
	wrapped := desc
	wrapped.Handler = func(srv any, ss grpc.ServerStream) (err error) {
		began := time.Now()
		ctx := ss.Context()
		defer func() {
			if p := recover(); p != nil {
				err = newPanic(p)
			}
			err = g.finish(ctx, method, began, err)
		}()
		ctx, err = g.admit(ctx, method)
		if err != nil {
			return err
		}
		company := Company(ctx)
		if err := g.calls.begin(company); err != nil {
			return err
		}
		defer g.calls.end(company)
		admitted := &serverStream{ServerStream: ss, ctx: ctx, bounds: g.bounds, most: MaxRequest}
		if g.policy[method] == Public {
			admitted.ServerStream, admitted.most = g.newPublicStream(ss, desc), maxPublicRequest
		}
		return next(srv, admitted)
	}
	return wrapped
}

// hasAnyScope reports whether the token has one of the scopes, which are joined by "|".
func hasAnyScope(claims *token.Claims, scopes string) bool {
	for scope := range strings.SplitSeq(scopes, "|") {
		if claims.Has(scope) {
			return true
		}
	}
	return false
}

// admit returns the context for the method, or a fault if the caller cannot call it. The context has a
// request id in both cases.
func (g *guard) admit(ctx context.Context, method string) (context.Context, error) {
	in := identity{requestID: metadataValue(ctx, mdRequestID)}
	if !IsVisibleASCII(in.requestID, MaxRequestID) {
		in.requestID = id.NewUUID().String()
	}
	if err := g.callers.admit(ctx, method); err != nil {
		return withIdentity(ctx, in), err
	}
	scope := g.policy[method]
	if scope == Public {
		return withIdentity(ctx, in), nil
	}
	claims, err := g.authenticate(ctx, method, scope)
	if err != nil {
		return withIdentity(ctx, in), err
	}
	in.claims = claims
	if in.company, err = companyOf(ctx, claims); err != nil {
		return withIdentity(ctx, in), err
	}
	ctx = withIdentity(ctx, in)
	if claims.Company.IsZero() && metadataValue(ctx, mdOrigin) == originEvent {
		ctx = origin.WithEvent(ctx)
	}
	if isPlatformOnly(scope) && !in.company.IsZero() {
		return ctx, fault.New(fault.Forbidden, fault.ReasonForbidden, "this method applies to the whole platform; call it with a token and metadata that name no company")
	}
	key := metadata.ValueFromIncomingContext(ctx, mdIdempotency)
	if len(key) == 0 || g.idempotency == nil {
		return ctx, nil
	}
	if len(key) > 1 || !IsVisibleASCII(key[0], MaxIdempotencyKey) {
		return ctx, fault.InvalidParameter(mdIdempotency, "format", "must be 1 to 255 visible ASCII characters")
	}
	return g.idempotency(ctx, key[0], claims.Subject, kindOf(scope)), nil
}

// companyOf returns the company of a call: the one that the token names or, if it names none, the one
// in the metadata. A token that names a company is bound to it, even if it is a platform token. A call
// that names another company is refused, because the caller does not expect it to run for the token's.
func companyOf(ctx context.Context, claims *token.Claims) (id.Company, error) {
	named := metadata.ValueFromIncomingContext(ctx, mdCompany)
	if len(named) == 0 {
		return claims.Company, nil
	}
	company, err := id.Parse[id.Company](named[0])
	if err != nil || company.IsZero() || len(named) > 1 {
		return claims.Company, fault.InvalidParameter(mdCompany, "format", "must be the identifier of one company")
	}
	if !claims.Company.IsZero() && company != claims.Company {
		return claims.Company, fault.New(fault.Forbidden, fault.ReasonForbidden, "the token belongs to a different company than the one in "+mdCompany)
	}
	return company, nil
}

func (g *guard) authenticate(ctx context.Context, method, scope string) (*token.Claims, error) {
	if scope == "" {
		return nil, fault.New(fault.Forbidden, fault.ReasonForbidden, "this method cannot be called").
			Because(errors.New("no policy for " + method))
	}
	raw, err := bearer(ctx)
	if err != nil {
		return nil, err
	}
	claims, err := g.verifier.Verify(ctx, raw)
	if err != nil {
		return nil, err
	}
	if more, found := strings.CutPrefix(scope, PlatformOnly); found {
		scope = strings.TrimPrefix(more+"|"+token.Admin, "|")
	}
	switch {
	case scope == AnyToken && claims.IsPlatformOnly():
		return nil, fault.MissingScope(token.Admin)
	case scope != AnyToken && !hasAnyScope(claims, scope):
		first, _, _ := strings.Cut(scope, "|")
		return nil, fault.MissingScope(first)
	}
	return claims, nil
}

func bearer(ctx context.Context) (string, error) {
	values := metadata.ValueFromIncomingContext(ctx, mdAuthorization)
	if len(values) == 0 {
		return "", fault.New(fault.Unauthenticated, fault.ReasonUnauthorized, "an access token is required; send the metadata authorization: Bearer <token>")
	}
	scheme, raw, _ := strings.Cut(values[0], " ")
	if len(values) > 1 || raw == "" || !strings.EqualFold(scheme, "Bearer") {
		return "", fault.New(fault.Unauthenticated, fault.ReasonUnauthorized, "the metadata must have the form authorization: Bearer <token>")
	}
	return raw, nil
}

// finish records the outcome of a method in the log and the metrics, and returns the error for the
// caller.
func (g *guard) finish(ctx context.Context, method string, began time.Time, err error) error {
	if err == nil {
		g.observe(method, 0, time.Since(began))
		if g.log.Enabled(ctx, slog.LevelDebug) {
			g.log.LogAttrs(ctx, slog.LevelDebug, "rpc", g.line(ctx, method, codes.OK, began)...)
		}
		return nil
	}
	st := g.status(ctx, method, began, err)
	g.observe(method, st.Code(), time.Since(began))
	_ = grpc.SetTrailer(ctx, metadata.Pairs(mdRequestID, RequestID(ctx)))
	return st.Err()
}

// status returns the status for the caller, and logs the cause, which the caller does not get.
func (g *guard) status(ctx context.Context, method string, began time.Time, err error) *status.Status {
	f := fault.From(err)
	if end := ctx.Err(); end != nil && f.Kind == fault.Unavailable {
		// The caller cancelled the call or its deadline passed, which also ended the calls that the
		// method was waiting for. The platform is not at fault.
		return fault.Status(end)
	}
	level := slog.LevelDebug
	switch f.Kind {
	case fault.Internal:
		level = slog.LevelError
	case fault.Unavailable:
		level = slog.LevelWarn
	}
	if g.log.Enabled(ctx, level) {
		attrs := append(g.line(ctx, method, fault.Status(err).Code(), began), slog.String("reason", f.Reason), slog.String("error", err.Error()))
		var p *panicError
		if errors.As(err, &p) {
			attrs = append(attrs, slog.String("stack", string(p.stack)))
		}
		g.log.LogAttrs(ctx, level, "rpc failed", attrs...)
	}
	return fault.Status(err)
}

// line returns the attributes of every log line about a call.
func (g *guard) line(ctx context.Context, method string, code codes.Code, began time.Time) []slog.Attr {
	in := identityOf(ctx)
	return []slog.Attr{
		slog.String("request_id", in.requestID), slog.String("method", method), slog.String("code", code.String()),
		slog.Duration("took", time.Since(began)), slog.String("caller", Caller(ctx)), slog.String("company", in.company.String()),
	}
}

// panicError is a recovered panic as an error, with its stack for the log.
type panicError struct {
	value any
	stack []byte
}

func newPanic(value any) error { return &panicError{value: value, stack: debug.Stack()} }

func (p *panicError) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// metadataValue returns the value of a metadata key, or "" if there is not exactly one.
func metadataValue(ctx context.Context, key string) string {
	if values := metadata.ValueFromIncomingContext(ctx, key); len(values) == 1 {
		return values[0]
	}
	return ""
}

// IsVisibleASCII reports whether s consists of 1 to most visible ASCII characters.
func IsVisibleASCII(s string, most int) bool {
	if s == "" || len(s) > most {
		return false
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
