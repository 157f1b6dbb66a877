package edge

import (
	"net/http"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/requestlog"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// caller is the credential of a request, for the request log. It permits nothing: the token may have
// expired or be revoked.
type caller struct {
	credential string     // "": not known
	company    id.Company // zero: the credential is not proven, or its company is not known here
}

// know takes the caller from the claims of a token, or from the error of verifying it.
func (c *caller) know(claims *token.Claims, err error) {
	if claims == nil {
		claims = token.RefusedClaims(err)
	}
	if claims == nil || claims.Company.IsZero() {
		return
	}
	switch claims.Kind {
	case token.KindClient, token.KindKey, token.KindPublishable:
		c.credential, c.company = claims.Subject, claims.Company
	}
}

// claim takes the credential that a request names, if it has the form of one. The auth service finds out
// whether it exists.
func (c *caller) claim(credential string) {
	if client, err := id.Parse[id.APIClient](credential); err == nil {
		c.credential = client.String() // a copy, because the argument can be a part of the body
	}
	if key, err := id.Parse[id.APIKey](credential); err == nil {
		c.credential = key.String()
	}
	if key, err := id.Parse[id.PublishableKey](credential); err == nil {
		c.credential = key.String()
	}
}

// identify finds the caller of a request that matches no route, for the request log.
func (e *Edge) identify(r *http.Request) {
	raw, err := bearer(r.Header)
	if err != nil || e.opts.Requests == nil {
		return
	}
	s := exchangeOf(r.Context())
	if e.isPublishable(raw) {
		s.caller.claim(raw)
		return
	}
	s.caller.know(e.opts.Verifier.Verify(r.Context(), raw))
}

// record adds a request to the request log, if its credential is known.
func (e *Edge) record(r *http.Request, s *exchange, rec *recorder, took time.Duration) {
	if e.opts.Requests == nil || s.caller.credential == "" {
		return
	}
	entry := requestlog.Entry{
		ID: s.id, Company: s.caller.company, Credential: s.caller.credential, Interface: authv1.PublicInterface_PUBLIC_INTERFACE_A,
		Method: methodLabel(r.Method), Status: rec.code, ErrorCode: e.code(s.failed), RequestID: s.requestID, Duration: took,
		Address: e.opts.Proxies.ClientAddress(r), RequestBytes: max(s.received, r.ContentLength), ResponseBytes: rec.bytes,
		IdempotencyKey: r.Header.Get("Idempotency-Key") != "", Replayed: s.replayed.Load(), Uncounted: !s.counted,
	}
	if e.api.Kind == token.KindKey {
		entry.Interface = authv1.PublicInterface_PUBLIC_INTERFACE_B
	}
	if s.route != nil {
		entry.Route = s.route.Path
	}
	e.opts.Requests.Record(r, entry)
}

// code returns the error code of a fault in the interface's error body; "" if there is none.
func (e *Edge) code(f *fault.Error) string {
	switch {
	case f == nil:
		return ""
	case e.api.Code != nil:
		return e.api.Code(f)
	}
	return f.Reason
}
