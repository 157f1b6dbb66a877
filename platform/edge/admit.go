package edge

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/protobuf/reflect/protoreflect"

	"reservation.dev/platform/bounds"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
)

// maxBody is the largest request body, in bytes.
const maxBody = 1 << 20

// admit checks a routed request and passes it to its handler, or responds with the fault.
func (e *Edge) admit(next runtime.HandlerFunc) runtime.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request, path map[string]string) {
		s := exchangeOf(r.Context())
		ctx, err := e.check(w, r, s)
		if err == nil {
			err = checkPath(path)
		}
		if err != nil {
			fail := (*Edge).Fail
			if s.route != nil && s.route.Fail != nil {
				fail = s.route.Fail
			}
			fail(e, w, r, fault.From(err))
			return
		}
		next(w, r.WithContext(ctx), path)
	}
}

func (e *Edge) check(w http.ResponseWriter, r *http.Request, s *exchange) (context.Context, error) {
	ctx := r.Context()
	pattern, _ := runtime.HTTPPattern(ctx)
	s.route = e.routes[r.Method+" "+strings.ReplaceAll(pattern.String(), "=*}", "}")]
	if s.route == nil { // an operation without a route has no scope, so it is refused
		return nil, fault.Missing("operation")
	}
	s.route.announce(w.Header())
	ctx, err := e.authenticate(ctx, r, s)
	if err != nil {
		return nil, err
	}
	if err := readQuery(r, s.route, e.query); err != nil {
		return nil, err
	}
	if s.route.hasBody() || r.Method == http.MethodDelete {
		if ctx, err = withIdempotencyKey(ctx, s, r.Header); err != nil {
			return nil, err
		}
	}
	if !s.route.hasBody() {
		return ctx, nil
	}
	return ctx, readBody(w, r, s)
}

// withIdempotencyKey returns ctx with the request's Idempotency-Key, if it has one.
func withIdempotencyKey(ctx context.Context, s *exchange, h http.Header) (context.Context, error) {
	keys := h.Values("Idempotency-Key")
	if len(keys) == 0 {
		return ctx, nil
	}
	key := strings.Join(keys, ",")
	if !rpc.IsVisibleASCII(key, rpc.MaxIdempotencyKey) {
		return nil, fault.InvalidParameter("Idempotency-Key", "format", "must be 1 to 255 visible ASCII characters")
	}
	return rpc.WithReplayed(rpc.WithIdempotencyKey(ctx, key), &s.replayed), nil
}

// maxPathValue is longer than any identifier.
const maxPathValue = 100

// checkPath treats a path value that cannot be an identifier like one that does not exist, before
// the value becomes a field of a call.
func checkPath(path map[string]string) error {
	for _, value := range path {
		if !rpc.IsVisibleASCII(value, maxPathValue) {
			return fault.Missing("resource")
		}
	}
	return nil
}

// authenticate verifies the token and its scope, unless the route is public.
func (e *Edge) authenticate(ctx context.Context, r *http.Request, s *exchange) (context.Context, error) {
	if s.route.Scope == "" {
		return ctx, nil
	}
	raw, err := bearer(r.Header)
	if err != nil {
		return nil, err
	}
	if e.isPublishable(raw) {
		return e.authenticatePublishable(ctx, r, s, raw)
	}
	claims, err := e.opts.Verifier.Verify(ctx, raw)
	s.caller.know(claims, err)
	if err != nil {
		f := fault.From(err)
		if f.Kind == fault.Unauthenticated {
			return nil, f.With("token", "invalid")
		}
		return nil, f
	}
	if claims.Kind != e.api.Kind {
		return nil, fault.New(fault.Unauthenticated, fault.ReasonUnauthorized, "the access token is invalid").With("token", "invalid")
	}
	s.identify(claims)
	if err := e.checkNetwork(r, claims); err != nil {
		return nil, err
	}
	if err := e.opts.Count(ctx, s.response, claims.Subject, claims.RateLimit); err != nil {
		return nil, err
	}
	s.counted = true
	if !claims.Has(s.route.Scope) {
		return nil, fault.MissingScope(s.route.Scope)
	}
	return rpc.WithClaims(ctx, claims), nil
}

// checkNetwork refuses a token from a network that its credential does not allow. The request does not
// count against the rate limit of the credential, because its owner has not sent it.
func (e *Edge) checkNetwork(r *http.Request, claims *token.Claims) error {
	if len(claims.Networks) == 0 {
		return nil
	}
	return claims.Networks.Check(e.opts.Proxies.ClientAddress(r))
}

// bearer returns the token of the Authorization header.
func bearer(h http.Header) (string, error) {
	values := h.Values("Authorization")
	if len(values) == 0 {
		return "", fault.New(fault.Unauthenticated, fault.ReasonUnauthorized, "an access token is required; send the header Authorization: Bearer <token>")
	}
	scheme, raw, _ := strings.Cut(values[0], " ")
	raw = strings.TrimSpace(raw)
	if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") || raw == "" {
		return "", fault.New(fault.Unauthenticated, fault.ReasonUnauthorized, "the Authorization header must have the form: Bearer <token>")
	}
	return raw, nil
}

// queryBounds returns the bounds of a service's texts by their JSON names.
func queryBounds(service protoreflect.ServiceDescriptor) map[string]bounds.Bound {
	known := map[string]bounds.Bound{}
	for i := 0; service != nil && i < service.Methods().Len(); i++ {
		fields := service.Methods().Get(i).Input().Fields()
		for j := range fields.Len() {
			if fd := fields.Get(j); fd.Kind() == protoreflect.StringKind {
				known[fd.JSONName()] = bounds.Of(fd)
			}
		}
	}
	return known
}

// usualParameter is the longest value of a parameter that no message declares, in characters.
const usualParameter = 100

// readQuery sets r.Form to the route's parameters in the query. Each must be given only once, be
// within its bound, and be valid text.
func readQuery(r *http.Request, route *Route, declared map[string]bounds.Bound) error {
	form, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return fault.New(fault.Invalid, fault.ReasonInvalidParameter, "the query string is malformed").Because(err)
	}
	for _, name := range route.unsupported {
		if form.Has(name) {
			return fault.InvalidParameter(name, "unsupported", "is not a parameter of this list")
		}
	}
	known := make(url.Values, len(route.Query))
	for _, name := range route.Query {
		values, given := form[name]
		if !given {
			continue
		}
		if len(values) > 1 {
			return fault.InvalidParameter(name, "single", "must be given only once")
		}
		if !utf8.ValidString(values[0]) || strings.ContainsRune(values[0], 0) {
			return fault.InvalidParameter(name, "characters", "must be valid UTF-8 without null characters")
		}
		bound, ok := declared[name]
		if !ok {
			bound.Characters = usualParameter
		}
		if rule, phrase := bound.Exceeds(values[0]); rule != "" {
			return fault.InvalidParameter(name, rule, phrase)
		}
		known[name] = values
	}
	r.Form = known
	return nil
}

// readBody checks the media type of the body and limits its size.
func readBody(w http.ResponseWriter, r *http.Request, s *exchange) error {
	accepted := s.route.media()
	if !slices.Contains(accepted, mediaOf(r.Header, accepted)) && (!s.route.Bodiless || !isEmpty(r)) {
		return fault.New(fault.Invalid, fault.ReasonUnsupportedMediaType,
			"the Content-Type must be "+strings.Join(accepted, " or "))
	}
	if r.ContentLength > maxBody {
		return bodyTooLarge()
	}
	r.Body = &body{ReadCloser: http.MaxBytesReader(w, r.Body, maxBody), exchange: s}
	return nil
}

// isEmpty reports whether a request has no body, whose Content-Type then means nothing. It reads a body
// of unknown length, so a body that is not empty cannot be used afterwards.
func isEmpty(r *http.Request) bool {
	if r.ContentLength >= 0 {
		return r.ContentLength == 0
	}
	_, err := io.ReadFull(r.Body, make([]byte, 1))
	return errors.Is(err, io.EOF)
}

// formType is the media type that "curl -d" sends by default.
const formType = "application/x-www-form-urlencoded"

// mediaOf returns the media type of a body; "" if it is malformed or not UTF-8. A body without a
// Content-Type is JSON, and so is a form where forms are not accepted, because many clients add that
// Content-Type to any body.
func mediaOf(h http.Header, accepted []string) string {
	given := h.Get("Content-Type")
	if given == "" {
		return contentType
	}
	media, params, err := mime.ParseMediaType(given)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		return ""
	}
	if charset := params["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") {
		return ""
	}
	if media == formType && !slices.Contains(accepted, formType) {
		return contentType
	}
	return media
}
