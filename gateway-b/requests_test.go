package gatewayb

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

type fakeRequests struct {
	authv1.UnimplementedRequestLogServiceServer
	*fakes
}

func (f fakeRequests) ListRequests(ctx context.Context, req *authv1.ListRequestsRequest) (*authv1.ListRequestsResponse, error) {
	return reply[*authv1.ListRequestsResponse](ctx, f.fakes, req)
}

func (f fakeRequests) GetRequest(ctx context.Context, req *authv1.GetRequestRequest) (*authv1.GetRequestResponse, error) {
	return reply[*authv1.GetRequestResponse](ctx, f.fakes, req)
}

// requestAnswers returns the responses to the operations of the request log.
func requestAnswers() []proto.Message {
	refused := &authv1.LoggedRequest{
		Id: "req_" + idOf, ReceivedAt: at("2026-03-12T09:30:00Z"), CredentialId: "m2m_" + idOf, Interface: authv1.PublicInterface_PUBLIC_INTERFACE_A,
		Method: "GET", Path: "/custome", Status: 404, ErrorCode: "NOT_FOUND", RequestId: "mine", DurationMicroseconds: 12_900, ClientAddress: "203.0.113.7", ResponseBytes: 131,
	}
	replayed := &authv1.LoggedRequest{
		Id: "req_" + idOf, ReceivedAt: at("2026-03-12T09:29:00Z"), CredentialId: "key_" + idOf, Interface: authv1.PublicInterface_PUBLIC_INTERFACE_B,
		Method: "POST", Path: "/api/v1/customers", Route: "/api/v1/customers", Status: 201, RequestId: idOf, DurationMicroseconds: 900, ClientAddress: "2001:db8::7",
		RequestBytes: 184, ResponseBytes: 310, IdempotencyKey: true, Replayed: true,
	}
	return []proto.Message{
		&authv1.ListRequestsResponse{Requests: []*authv1.LoggedRequest{refused, replayed}, NextPageToken: "next", Total: 10_000},
		&authv1.GetRequestResponse{Request: replayed},
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	g := newGateway(t, unlimited{})
	const replayed = `{"id":"req_` + idOf + `","receivedAt":"2026-03-12T09:29:00Z","credentialId":"key_` + idOf + `","interface":"b","method":"POST","path":"/api/v1/customers","route":"/api/v1/customers",` +
		`"status":201,"errorCode":null,"requestId":"` + idOf + `","durationMs":0,"clientAddress":"2001:db8::7","requestBytes":184,"responseBytes":310,"idempotencyKey":true,"replayed":true}`
	for _, tt := range []operation{
		{"GET", "/requests?page=2&perPage=3", "", 200, []string{
			`{"requests":[{"id":"req_` + idOf + `","receivedAt":"2026-03-12T09:30:00Z","credentialId":"m2m_` + idOf + `","interface":"a","method":"GET","path":"/custome","route":null,` +
				`"status":404,"errorCode":"NOT_FOUND","requestId":"mine","durationMs":12,"clientAddress":"203.0.113.7","requestBytes":0,"responseBytes":131,"idempotencyKey":false,"replayed":false},`,
			replayed, `"total":10000,"page":2,"perPage":3,"nextCursor":"next"}`,
		}, `page_size:3 offset:3 with_total:true`},
		{"GET", "/requests?cursor=abc&credentialId=key_x&interface=b&method=PUT&status=4xx&since=2026-03-01T00:00:00Z&until=2026-03-01T00:00:01Z&requestId=mine", "", 200, nil,
			`page_size:25 page_token:"abc" with_total:true credential_id:"key_x" interface:PUBLIC_INTERFACE_B method:"PUT" min_status:400 max_status:499 ` +
				`since:{seconds:1772323200} until:{seconds:1772323201} request_id:"mine"`},
		{"GET", "/requests?status=404", "", 200, nil, `page_size:25 with_total:true min_status:404 max_status:404`},
		{"GET", "/requests?status=2xx", "", 200, nil, `page_size:25 with_total:true min_status:200 max_status:299`},
		{"GET", "/requests?status=error", "", 200, nil, `page_size:25 with_total:true min_status:400 max_status:599`},
		{"GET", "/requests?credentialId=&requestId=", "", 200, nil, `page_size:25 with_total:true credential_id:"-" request_id:"-"`},
		{"GET", "/requests/req_" + idOf, "", 200, []string{replayed}, `id:"req_` + idOf + `"`},
	} {
		t.Run(tt.method+" "+tt.path, func(t *testing.T) { g.check(t, tt, requestAnswers()) })
	}
	for query, want := range map[string][2]string{
		"interface=c": {"interface", "enum"}, "interface=": {"interface", "enum"}, "method=get": {"method", "enum"}, "method=TRACE": {"method", "enum"},
		"status=99": {"status", "format"}, "status=600": {"status", "format"}, "status=xx": {"status", "format"}, "status=1xx": {"status", "format"},
		"status=": {"status", "format"}, "since=today": {"since", "format"}, "until=2026-03-01T00:00:00": {"until", "format"},
		"sort=createdAt": {"sort", "unsupported"}, "updatedSince=2026-03-01T00:00:00Z": {"updatedSince", "unsupported"},
	} {
		t.Run("refuses "+query, func(t *testing.T) {
			g.services.prepare(nil, requestAnswers()...)
			a := g.do(request{Method: "GET", Path: "/requests?" + query, Token: g.token()})
			if a.Code != http.StatusBadRequest || !strings.Contains(a.Body, `"field":"`+want[0]+`"`) || !strings.Contains(a.Body, `"rule":"`+want[1]+`"`) {
				t.Errorf("got %d %s", a.Code, a.Body)
			}
		})
	}
}
