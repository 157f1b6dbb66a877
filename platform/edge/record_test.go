package edge

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/requestlog"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// logged keeps what a request log publishes.
type logged struct {
	mu       sync.Mutex
	requests []*authv1.ReceivedRequest
}

func (l *logged) Publish(_ context.Context, msgs []bus.Message) ([]bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	acked := make([]bool, len(msgs))
	for i, m := range msgs {
		batch := &authv1.RequestsReceived{}
		acked[i] = proto.Unmarshal(m.Payload, batch) == nil
		l.requests = append(l.requests, batch.GetRequests()...)
	}
	return acked, nil
}

// recordWorld is an edge with a request log. The verifier knows the tokens of the test.
type recordWorld struct {
	authv1.TokenServiceClient
	edge   *Edge
	log    *requestlog.Log
	stored *logged
	claims map[string]*token.Claims
}

func (w *recordWorld) Verify(_ context.Context, raw string) (*token.Claims, error) {
	c := w.claims[raw]
	if c == nil {
		return nil, fault.New(fault.Unauthenticated, fault.ReasonUnauthorized, "the access token is invalid")
	}
	return c, nil
}

func (w *recordWorld) IssueToken(_ context.Context, req *authv1.IssueTokenRequest, _ ...grpc.CallOption) (*authv1.IssueTokenResponse, error) {
	if req.GetClientSecret() != "right" {
		return nil, fault.New(fault.Unauthenticated, fault.ReasonInvalidCredentials, "wrong")
	}
	return &authv1.IssueTokenResponse{AccessToken: "x"}, nil
}

func newRecordWorld(t *testing.T) *recordWorld {
	t.Helper()
	w := &recordWorld{stored: &logged{}, claims: map[string]*token.Claims{}}
	w.log = requestlog.New(w.stored, slog.New(slog.DiscardHandler))
	var err error
	w.edge, err = New(Interface{
		Name: "test", Kind: token.KindKey, Routes: []Route{
			{Method: http.MethodPost, Path: "/things/{id}", Scope: "things:write"},
			{Method: http.MethodPost, Path: "/token"},
		},
		Code: func(f *fault.Error) string {
			if f.Kind == fault.Forbidden {
				return "FORBIDDEN"
			}
			return f.Reason
		},
		AppendFault: func(b []byte, f *fault.Error) []byte { return append(b, f.Reason...) },
	}, Options{Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Verifier: w, Requests: w.log})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(
		w.edge.Handle(http.MethodPost, "/things/{id}", func(res http.ResponseWriter, r *http.Request, _ map[string]string) {
			body, _ := io.ReadAll(r.Body)
			exchangeOf(r.Context()).replayed.Store(rpc.IdempotencyKey(r.Context()) == "again")
			_, _ = res.Write(body)
		}),
		w.edge.Handle(http.MethodPost, "/token", func(res http.ResponseWriter, r *http.Request, _ map[string]string) {
			client, secret, _ := r.BasicAuth()
			if _, err := w.edge.IssueToken(res, r, w, &authv1.IssueTokenRequest{ClientId: client, ClientSecret: secret}); err != nil {
				w.edge.Fail(res, r, fault.From(err))
			}
		}))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// send sends a request and returns its entry in the log, or nil.
func (w *recordWorld) send(t *testing.T, r *http.Request) *authv1.ReceivedRequest {
	t.Helper()
	before := len(w.stored.requests)
	w.edge.Handler().ServeHTTP(httptest.NewRecorder(), r)
	w.log.Close(t.Context())
	if len(w.stored.requests) == before {
		return nil
	}
	return w.stored.requests[before]
}

func TestRecord(t *testing.T) {
	t.Parallel()
	company := id.New[id.Company]()
	key, service := id.New[id.APIKey]().String(), id.New[id.ServiceCredential]().String()
	newRequest := func(method, target, bearer, body string) *http.Request {
		r := httptest.NewRequest(method, target, strings.NewReader(body))
		if bearer != "" {
			r.Header.Set("Authorization", "Bearer "+bearer)
		}
		return r
	}
	token := func(client, secret string) *http.Request {
		r := newRequest(http.MethodPost, "/token", "", "{}")
		r.SetBasicAuth(client, secret)
		return r
	}
	again := newRequest(http.MethodPost, "/things/t1?q=query-secret", "good", `"body-secret"`)
	again.Header.Set("Idempotency-Key", "again")
	again.Header.Set("X-Request-Id", "mine")
	for name, tt := range map[string]struct {
		r    *http.Request
		want *authv1.LoggedRequest // nil: not in the log
		of   id.Company
	}{
		"a request with its sizes and without its content": {again, &authv1.LoggedRequest{
			CredentialId: key, Method: "POST", Path: "/things/t1", Route: "/things/{id}", Status: 200, RequestId: "mine",
			RequestBytes: 13, ResponseBytes: 13, IdempotencyKey: true, Replayed: true,
		}, company},
		"a refused request with the code of the interface": {newRequest(http.MethodPost, "/things/t1", "poor", "{}"), &authv1.LoggedRequest{
			CredentialId: key, Method: "POST", Path: "/things/t1", Route: "/things/{id}", Status: 403, ErrorCode: "FORBIDDEN", RequestBytes: 2, ResponseBytes: 18,
		}, company},
		"a path that does not exist": {newRequest(http.MethodGet, "/thing", "good", ""), &authv1.LoggedRequest{
			CredentialId: key, Method: "GET", Path: "/thing", Status: 404, ErrorCode: "NOT_FOUND", ResponseBytes: 9,
		}, company},
		"a wrong secret": {token(key, "wrong"), &authv1.LoggedRequest{
			CredentialId: key, Method: "POST", Path: "/token", Route: "/token", Status: 401, ErrorCode: "INVALID_CREDENTIALS", RequestBytes: 2, ResponseBytes: 19,
		}, id.Company{}},
		"an issued token": {token(key, "right"), &authv1.LoggedRequest{
			CredentialId: key, Method: "POST", Path: "/token", Route: "/token", Status: 200, RequestBytes: 2,
		}, id.Company{}},
		"nothing without a credential":                     {newRequest(http.MethodPost, "/things/t1", "", "{}"), nil, company},
		"nothing of a token that is not valid":             {newRequest(http.MethodPost, "/things/t1", "invented", "{}"), nil, company},
		"nothing of a credential of another kind":          {newRequest(http.MethodPost, "/things/t1", "service", "{}"), nil, company},
		"nothing of a text that is not a credential":       {token("anything", "wrong"), nil, company},
		"nothing of a path that does not exist, by nobody": {newRequest(http.MethodGet, "/thing", "invented", ""), nil, company},
	} {
		t.Run("logs "+name, func(t *testing.T) {
			t.Parallel()
			w := newRecordWorld(t)
			w.claims["good"] = claimsOf(key, "key", company, "things:write")
			w.claims["poor"] = claimsOf(key, "key", company)
			w.claims["service"] = claimsOf(service, "service", company, "things:write")
			got := w.send(t, tt.r)
			if tt.want == nil || got == nil {
				if got != nil || tt.want != nil {
					t.Errorf("got %v, want %v", got, tt.want)
				}
				return
			}
			m := got.GetRequest()
			if _, err := id.Parse[id.LoggedRequest](m.GetId()); err != nil || (tt.want.RequestId == "" && "req_"+m.GetRequestId() != m.GetId()) {
				t.Errorf("the identifier is %s, and the request id %s", m.GetId(), m.GetRequestId())
			}
			tt.want.Id, tt.want.DurationMicroseconds, tt.want.ClientAddress = m.GetId(), m.GetDurationMicroseconds(), "192.0.2.1"
			tt.want.Interface, tt.want.RequestId = authv1.PublicInterface_PUBLIC_INTERFACE_B, m.GetRequestId()
			if !proto.Equal(m, tt.want) {
				t.Errorf("got  %v\nwant %v", m, tt.want)
			}
			var of id.Company
			copy(of[:], got.GetCompanyId())
			if of != tt.of {
				t.Errorf("the company is %s, want %s", of, tt.of)
			}
			if text := got.String(); strings.Contains(text, "secret") {
				t.Errorf("the log has content: %s", text)
			}
		})
	}
}

func claimsOf(subject, kind string, company id.Company, scopes ...string) *token.Claims {
	return &token.Claims{Subject: subject, Kind: kind, Company: company, Scopes: scopes}
}
