package admin

import (
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

func TestRequestLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	refused := &authv1.LoggedRequest{
		Id: "req_1", ReceivedAt: timestamppb.Now(), CredentialId: "m2m_1", Interface: authv1.PublicInterface_PUBLIC_INTERFACE_A, Method: "GET",
		Path: "/custome/<b>", Status: 404, ErrorCode: "NOT_FOUND", RequestId: "mine", DurationMicroseconds: 1500, ClientAddress: "203.0.113.7", ResponseBytes: 131,
	}
	replayed := &authv1.LoggedRequest{
		Id: "req_2", ReceivedAt: timestamppb.Now(), CredentialId: "pub_deleted", Interface: authv1.PublicInterface_PUBLIC_INTERFACE_B, Method: "POST",
		Path: "/api/v1/customers", Route: "/api/v1/customers", Status: 201, IdempotencyKey: true, Replayed: true,
	}
	var requests []*authv1.LoggedRequest
	on(w.backend, "ListRequests", func(req *authv1.ListRequestsRequest) (*authv1.ListRequestsResponse, error) {
		if req.GetPageToken() == "wrong" {
			return nil, fault.InvalidParameter("page_token", "format", "is not valid")
		}
		return &authv1.ListRequestsResponse{Requests: requests, NextPageToken: "next"}, nil
	})
	on(w.backend, "GetRequest", func(req *authv1.GetRequestRequest) (*authv1.GetRequestResponse, error) {
		for _, r := range requests {
			if r.GetId() == req.GetId() {
				return &authv1.GetRequestResponse{Request: r}, nil
			}
		}
		return nil, fault.Missing("request")
	})
	on(w.backend, "ListApiClients", func(*authv1.ListApiClientsRequest) (*authv1.ListApiClientsResponse, error) {
		return &authv1.ListApiClientsResponse{ApiClients: []*authv1.ApiClient{{Id: "m2m_1", Name: "<i>CRM</i>"}}}, nil
	})
	on(w.backend, "ListApiKeys", func(*authv1.ListApiKeysRequest) (*authv1.ListApiKeysResponse, error) {
		return &authv1.ListApiKeysResponse{ApiKeys: []*authv1.ApiKey{{Id: "key_1", Name: "Website"}}}, nil
	})
	on(w.backend, "ListPublishableKeys", func(*authv1.ListPublishableKeysRequest) (*authv1.ListPublishableKeysResponse, error) {
		return &authv1.ListPublishableKeysResponse{}, nil
	})
	on(w.backend, "GetApiKey", func(*authv1.GetApiKeyRequest) (*authv1.GetApiKeyResponse, error) {
		return &authv1.GetApiKeyResponse{ApiKey: &authv1.ApiKey{Id: "key_1", Name: "Website"}}, nil
	})
	const path = "/settings/requests"

	t.Run("explains an empty log, then lists requests with one call for each kind of credential", func(t *testing.T) {
		w.get(path).must(t, "No requests match these filters", "Show all requests")
		requests = []*authv1.LoggedRequest{refused, replayed}
		w.backend.count()
		a := w.get(path)
		a.must(t, "GET /custome/&lt;b&gt;", "404 NOT_FOUND", "&lt;i&gt;CRM&lt;/i&gt;", "203.0.113.7", "1.5 ms", `href="/settings/requests/req_1"`,
			`href="/settings/api-clients/m2m_1"`, `href="/settings/publishable-keys/pub_deleted"`, "page=next")
		if n := w.backend.count(); n != 5 { // with that of the session
			t.Errorf("%d calls", n)
		}
	})
	t.Run("filters by everything at once, and keeps the filters", func(t *testing.T) {
		a := w.get(path + "?credential=key_gone&interface=b&method=PUT&status=4xx&since=2026-03-01&until=2026-03-02&request=mine")
		a.must(t, `<option value="key_gone" selected>key_gone`, `<option value="b" selected>Interface B`, `<option value="PUT" selected>`, `<option value="4xx" selected>`, `value="mine"`)
		req := last[*authv1.ListRequestsRequest](w, "ListRequests")
		if req.GetCredentialId() != "key_gone" || req.GetInterface() != authv1.PublicInterface_PUBLIC_INTERFACE_B || req.GetMethod() != "PUT" ||
			req.GetMinStatus() != 400 || req.GetMaxStatus() != 499 || req.GetRequestId() != "mine" ||
			req.GetSince().GetSeconds() != 1772323200 || req.GetUntil().GetSeconds() != 1772496000 {
			t.Errorf("asked for %v", req)
		}
	})
	t.Run("starts again from the first page if the page no longer exists", func(t *testing.T) {
		if a := w.get(path + "?page=wrong"); a.to() != path {
			t.Error(describe(a))
		}
	})
	t.Run("shows one request", func(t *testing.T) {
		w.get(path+"/req_1").must(t, "This path does not exist.", "NOT_FOUND", `href="/docs/errors#reasons"`, "mine", "not sent", "0 bytes sent, 131 bytes received")
		w.get(path+"/req_2").must(t, "the response is that of the first request", "<code>/api/v1/customers</code>", "pub_deleted")
		if a := w.get(path + "/req_3"); a.StatusCode != http.StatusNotFound {
			t.Error(describe(a))
		}
	})
	t.Run("shows the latest requests of a credential on its page", func(t *testing.T) {
		w.get("/settings/api-keys/key_1").must(t, "Latest requests", "404 NOT_FOUND", `href="/settings/requests?credential=key_1"`)
		if req := last[*authv1.ListRequestsRequest](w, "ListRequests"); req.GetCredentialId() != "key_1" || req.GetPageSize() != 20 {
			t.Errorf("asked for %v", req)
		}
		requests = nil
		w.get("/settings/api-keys/key_1").must(t, "No requests in the last 30 days")
	})
	t.Run("shows a credential even if its requests cannot be read", func(t *testing.T) {
		on(w.backend, "ListRequests", func(*authv1.ListRequestsRequest) (*authv1.ListRequestsResponse, error) {
			return nil, fault.New(fault.Internal, fault.ReasonInternal, "internal error")
		})
		a := w.get("/settings/api-keys/key_1")
		a.must(t, "Website")
		if strings.Contains(a.body, "Latest requests") {
			t.Error("the page has requests")
		}
	})
}
