package admin

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/webhookevent"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

func TestAPIClients(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	client := withAPIClient(w.backend)
	on(w.backend, "ListApiClients", func(*authv1.ListApiClientsRequest) (*authv1.ListApiClientsResponse, error) {
		return &authv1.ListApiClientsResponse{ApiClients: []*authv1.ApiClient{client}}, nil
	})
	on(w.backend, "CreateApiClient", func(req *authv1.CreateApiClientRequest) (*authv1.CreateApiClientResponse, error) {
		if strings.Contains(req.GetName(), "\t") {
			return nil, fault.InvalidFields(fault.Field{Field: "name", Rule: "characters", Message: "must not contain control characters"})
		}
		return &authv1.CreateApiClientResponse{ApiClient: client, ClientSecret: "the-secret"}, nil
	})
	on(w.backend, "RotateApiClientSecret", func(*authv1.RotateApiClientSecretRequest) (*authv1.RotateApiClientSecretResponse, error) {
		return &authv1.RotateApiClientSecretResponse{ApiClient: client, ClientSecret: "another-secret"}, nil
	})

	t.Run("lists ids, scopes and states with one call", func(t *testing.T) {
		w.backend.count()
		a := w.get("/settings/api-clients")
		a.must(t, "m2m_1", "customers:read", "Active", "Add Client")
		if n := w.backend.count(); n != 2 {
			t.Errorf("%d calls", n)
		}
	})
	t.Run("shows four fields and explains each scope", func(t *testing.T) {
		a := w.get("/settings/api-clients/new")
		a.must(t, `name="name"`, `name="description"`, `name="scopes"`, `name="expires"`)
		for _, scope := range clientScopes {
			a.must(t, scope.Name)
		}
	})
	t.Run("shows the secret of a new client once, with a curl command", func(t *testing.T) {
		a := w.post("/settings/api-clients", "name", " CRM ", "scopes", "customers:read", "expires", "30")
		a.must(t, "the-secret", "m2m_1", "curl -X POST http://a.test/token")
		if a.Header.Get("Cache-Control") != "no-store" {
			t.Error("caches can store the response")
		}
		req := w.backend.called("CreateApiClient")[0].req.(*authv1.CreateApiClientRequest)
		if req.GetName() != "CRM" || req.GetExpiresAfterDays() != 30 || len(req.GetScopes()) != 1 {
			t.Errorf("%v", req)
		}
	})
	t.Run("shows missing fields and keeps typed text", func(t *testing.T) {
		a := w.post("/settings/api-clients", "description", "kept", "expires", "0")
		if a.StatusCode != http.StatusUnprocessableEntity {
			t.Fatal(describe(a))
		}
		a.must(t, "Enter a name.", "Choose at least one scope.", "from 1 to 3,650", `aria-invalid="true"`, `aria-describedby="name-help name-wrong"`, "kept")
	})
	t.Run("shows the service's refusal at the field", func(t *testing.T) {
		a := w.post("/settings/api-clients", "name", "C\tRM", "scopes", "customers:read")
		a.must(t, "must not contain control characters")
	})
	t.Run("lists the effects of rotating, then shows the new secret", func(t *testing.T) {
		w.get("/settings/api-clients/m2m_1/rotate").must(t, "stops working immediately", `method="post"`)
		w.post("/settings/api-clients/m2m_1/rotate").must(t, "another-secret")
	})
	t.Run("rotates with the chosen overlap, and ends an earlier secret only if the page has said so", func(t *testing.T) {
		w.get("/settings/api-clients/m2m_1/rotate").must(t, "No, it stops working immediately", "For 1 day", `value="7"`)
		sent := func(fields ...string) *authv1.RotateApiClientSecretRequest {
			w.post("/settings/api-clients/m2m_1/rotate", fields...)
			return last[*authv1.RotateApiClientSecretRequest](w, "RotateApiClientSecret")
		}
		if req := sent("overlap", "3"); req.GetOverlapDays() != 3 || req.GetForce() {
			t.Errorf("%v", req)
		}
		if req := sent(); req.GetOverlapDays() != 0 || req.GetForce() {
			t.Errorf("without an overlap: %v", req)
		}
		if body := w.page("/settings/api-clients/m2m_1/rotate"); strings.Contains(body, `name="force"`) {
			t.Error("the page forces a rotation")
		}
		client.PreviousSecretExpiresAt = timestamppb.New(time.Date(2026, 7, 1, 9, 0, 0, 0, time.UTC))
		defer func() { client.PreviousSecretExpiresAt, client.PreviousSecretLastUsedAt = nil, nil }()
		w.get("/settings/api-clients/m2m_1/rotate").must(t, "1 Jul", "10:00", "stops working immediately. All access tokens", `name="force" value="true"`)
		if req := sent("overlap", "7", "force", "true"); req.GetOverlapDays() != 7 || !req.GetForce() {
			t.Errorf("%v", req)
		}
		before := len(w.backend.called("RotateApiClientSecret"))
		for _, wrong := range []string{"8", "-1", "x"} {
			if a := w.post("/settings/api-clients/m2m_1/rotate", "overlap", wrong); a.StatusCode != http.StatusNotFound {
				t.Errorf("%s: %s", wrong, describe(a))
			}
		}
		if n := len(w.backend.called("RotateApiClientSecret")); n != before {
			t.Error("a wrong overlap was sent")
		}
	})
	t.Run("says that the secret was rotated shortly before", func(t *testing.T) {
		on(w.backend, "RotateApiClientSecret", func(*authv1.RotateApiClientSecretRequest) (*authv1.RotateApiClientSecretResponse, error) {
			return nil, fault.SecretRotated(time.Now())
		})
		a := w.post("/settings/api-clients/m2m_1/rotate")
		w.get(a.to()).must(t, "the one before it is still valid")
	})
	t.Run("shows the previous secret and its last use, and ends it", func(t *testing.T) {
		on(w.backend, "EndPreviousApiClientSecret", func(req *authv1.EndPreviousApiClientSecretRequest) (*authv1.EndPreviousApiClientSecretResponse, error) {
			client.PreviousSecretExpiresAt = nil
			return &authv1.EndPreviousApiClientSecretResponse{ApiClient: client}, nil
		})
		if body := w.page("/settings/api-clients/m2m_1"); strings.Contains(body, "revious secret") {
			t.Error("the page shows a previous secret")
		}
		client.PreviousSecretExpiresAt = timestamppb.New(time.Date(2026, 7, 1, 9, 0, 0, 0, time.UTC))
		w.get("/settings/api-clients/m2m_1").must(t, "Previous secret valid until", "Previous secret last used", "never", "/settings/api-clients/m2m_1/end-previous-secret")
		w.get("/settings/api-clients/m2m_1/end-previous-secret").must(t, "The previous secret stops working immediately")
		w.get(w.post("/settings/api-clients/m2m_1/end-previous-secret").to()).must(t, "The previous secret no longer works.")
	})
	t.Run("sends the networks of a form, and leaves those of a form without the field", func(t *testing.T) {
		on(w.backend, "UpdateApiClient", func(req *authv1.UpdateApiClientRequest) (*authv1.UpdateApiClientResponse, error) {
			for i, network := range req.GetAllowedNetworks().GetValues() {
				if !strings.Contains(network, ".") {
					return nil, fault.InvalidFields(fault.Field{Field: "allowed_networks[" + strconv.Itoa(i) + "]", Rule: "network", Message: `must be a network, and not "` + network + `"`})
				}
			}
			return &authv1.UpdateApiClientResponse{ApiClient: client}, nil
		})
		client.AllowedNetworks = []string{"10.0.0.0/8", "203.0.113.7/32"}
		w.get("/settings/api-clients/m2m_1").must(t, "10.0.0.0/8\n203.0.113.7/32</textarea>")
		save := func(fields ...string) answer {
			return w.post("/settings/api-clients/m2m_1", append([]string{"name", "CRM", "scopes", "customers:read"}, fields...)...)
		}
		save("networks", " 10.0.0.0/8,192.0.2.1\r\n198.51.100.0/24 ")
		if got := last[*authv1.UpdateApiClientRequest](w, "UpdateApiClient").GetAllowedNetworks().GetValues(); !slices.Equal(got, []string{"10.0.0.0/8", "192.0.2.1", "198.51.100.0/24"}) {
			t.Errorf("%v", got)
		}
		save("networks", "")
		if got := last[*authv1.UpdateApiClientRequest](w, "UpdateApiClient").AllowedNetworks; got == nil || len(got.GetValues()) != 0 {
			t.Errorf("an empty field: %v", got)
		}
		save()
		if got := last[*authv1.UpdateApiClientRequest](w, "UpdateApiClient").AllowedNetworks; got != nil {
			t.Errorf("without the field: %v", got)
		}
		save("networks", "10.0.0.0/8 office").must(t, "Each network must be a network, and not &#34;office&#34;.", "10.0.0.0/8 office</textarea>")
		save("networks", strings.Repeat("10.0.0.1 ", 21)).must(t, "Enter at most 20 networks.")
	})
	t.Run("answers 404 for an unknown action", func(t *testing.T) {
		for _, a := range []answer{w.get("/settings/api-clients/m2m_1/explode"), w.post("/settings/api-clients/m2m_1/explode"), w.get("/settings/api-clients/m2m_2")} {
			if a.StatusCode != http.StatusNotFound {
				t.Error(describe(a))
			}
		}
	})
	t.Run("explains how to add the first client", func(t *testing.T) {
		on(w.backend, "ListApiClients", func(*authv1.ListApiClientsRequest) (*authv1.ListApiClientsResponse, error) {
			return &authv1.ListApiClientsResponse{}, nil
		})
		w.get("/settings/api-clients").must(t, "No API clients yet", "Add your first client")
	})
}

func TestWebhooks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	endpoint := &webhookv1.Endpoint{
		Id: "whe_1", Url: "https://example.com/hook", Events: []webhookv1.EventType{webhookv1.EventType_EVENT_TYPE_PASS_PURCHASED}, Enabled: true,
	}
	delivery := &webhookv1.Delivery{
		Id: "whd_1", EndpointId: "whe_1", Event: webhookv1.EventType_EVENT_TYPE_PASS_PURCHASED, State: webhookv1.DeliveryState_DELIVERY_STATE_FAILED,
		Attempts: 4, LastFailure: webhookv1.Failure_FAILURE_STATUS, LastStatus: 500, CreatedAt: timestamppb.Now(),
	}
	attempt := &webhookv1.Attempt{
		Number: 1, StartedAt: timestamppb.Now(), DurationMicroseconds: 12_000, Status: 500, Failure: webhookv1.Failure_FAILURE_STATUS,
		ResponseBody: []byte("<b>no</b>"), RequestHeaders: []*webhookv1.Header{{Name: "X-Service-Signature", Value: "eyJ"}}, Url: endpoint.GetUrl(),
	}
	on(w.backend, "ListEndpoints", func(*webhookv1.ListEndpointsRequest) (*webhookv1.ListEndpointsResponse, error) {
		return &webhookv1.ListEndpointsResponse{Endpoints: []*webhookv1.Endpoint{endpoint}}, nil
	})
	on(w.backend, "GetEndpoint", func(req *webhookv1.GetEndpointRequest) (*webhookv1.GetEndpointResponse, error) {
		if req.GetId() != "whe_1" {
			return nil, fault.Missing("endpoint")
		}
		return &webhookv1.GetEndpointResponse{Endpoint: endpoint}, nil
	})
	on(w.backend, "GetStatistics", func(req *webhookv1.GetStatisticsRequest) (*webhookv1.GetStatisticsResponse, error) {
		var buckets []*webhookv1.StatisticsBucket
		for at := req.GetSince().AsTime(); at.Before(req.GetUntil().AsTime()); at = at.Add(time.Duration(req.GetBucketSeconds()) * time.Second) {
			buckets = append(buckets, &webhookv1.StatisticsBucket{StartsAt: timestamppb.New(at), Delivered: 7, Retried: 2, Failed: 1, P50Microseconds: 900, P95Microseconds: 45_000})
		}
		return &webhookv1.GetStatisticsResponse{Buckets: buckets}, nil
	})
	on(w.backend, "GetSecret", func(*webhookv1.GetSecretRequest) (*webhookv1.GetSecretResponse, error) {
		return &webhookv1.GetSecretResponse{Secrets: []*webhookv1.Secret{{Secret: "whsec_shown", CreatedAt: timestamppb.Now()}}}, nil
	})
	on(w.backend, "SendTest", func(*webhookv1.SendTestRequest) (*webhookv1.SendTestResponse, error) {
		return &webhookv1.SendTestResponse{DeliveryId: "whd_1", Body: []byte(`{"test":true}`), Attempt: attempt}, nil
	})
	on(w.backend, "ListDeliveries", func(*webhookv1.ListDeliveriesRequest) (*webhookv1.ListDeliveriesResponse, error) {
		return &webhookv1.ListDeliveriesResponse{Deliveries: []*webhookv1.Delivery{delivery}, NextPageToken: "more"}, nil
	})
	on(w.backend, "GetDelivery", func(*webhookv1.GetDeliveryRequest) (*webhookv1.GetDeliveryResponse, error) {
		return &webhookv1.GetDeliveryResponse{Delivery: delivery, Body: []byte(`{"a":1}`), Attempts: []*webhookv1.Attempt{attempt}}, nil
	})
	on(w.backend, "ReplayFailed", func(*webhookv1.ReplayFailedRequest) (*webhookv1.ReplayFailedResponse, error) {
		return &webhookv1.ReplayFailedResponse{Replayed: 3}, nil
	})

	t.Run("hides the secret until it is shown on request", func(t *testing.T) {
		if body := w.page("/settings/webhooks/whe_1"); strings.Contains(body, "whsec_shown") || len(w.backend.called("GetSecret")) > 0 {
			t.Error("the secret is on the page")
		}
		w.get("/settings/webhooks/whe_1?secret=shown").must(t, "whsec_shown")
	})
	t.Run("shows the result of a test and records it", func(t *testing.T) {
		w.post("/settings/webhooks/whe_1/test", "event", "pass.purchased").must(t, "did not accept the message", "Answered 500", "X-Service-Signature", "&lt;b&gt;no&lt;/b&gt;")
		records := w.backend.called("RecordAuditEntry")
		if len(records) != 1 || records[0].req.(*authv1.RecordAuditEntryRequest).GetAction() != "webhook_endpoint.test" {
			t.Errorf("%v", records)
		}
	})
	t.Run("says why an endpoint was disabled, and offers to enable it", func(t *testing.T) {
		endpoint.Enabled, endpoint.DisabledReason = false, webhookv1.DisabledReason_DISABLED_REASON_GONE
		w.get("/settings/webhooks/whe_1").must(t, "410 Gone", "/settings/webhooks/whe_1/enable")
		endpoint.Enabled = true
	})
	t.Run("refuses an address without HTTPS without a call", func(t *testing.T) {
		w.post("/settings/webhooks", "url", "http://example.com", "events", "pass.purchased").must(t, "must begin with https://")
		if len(w.backend.called("CreateEndpoint")) > 0 {
			t.Error("the service was called")
		}
	})
	t.Run("subscribes to the events of the first group if none is chosen", func(t *testing.T) {
		on(w.backend, "CreateEndpoint", func(*webhookv1.CreateEndpointRequest) (*webhookv1.CreateEndpointResponse, error) {
			return &webhookv1.CreateEndpointResponse{Endpoint: endpoint}, nil
		})
		on(w.backend, "UpdateEndpoint", func(*webhookv1.UpdateEndpointRequest) (*webhookv1.UpdateEndpointResponse, error) {
			return &webhookv1.UpdateEndpointResponse{Endpoint: endpoint}, nil
		})
		w.get("/settings/webhooks/new").must(t, "receives the three of the first group", "Customer passes", "customer_pass.updated", "event_date.cancelled")
		w.post("/settings/webhooks", "url", "https://example.com/hook")
		w.post("/settings/webhooks/whe_1", "url", "https://example.com/hook")
		created, updated := last[*webhookv1.CreateEndpointRequest](w, "CreateEndpoint"), last[*webhookv1.UpdateEndpointRequest](w, "UpdateEndpoint")
		for _, got := range [][]webhookv1.EventType{created.GetEvents(), updated.GetEvents().GetTypes()} {
			if !slices.Equal(got, webhookevent.DefaultTypes()) {
				t.Errorf("%v", got)
			}
		}
	})
	t.Run("filters and pages deliveries with the same number of calls for any number of rows", func(t *testing.T) {
		w.backend.count()
		w.get("/settings/webhooks/deliveries?state=failed&endpoint=whe_1&since=2026-03-29&until=2026-03-29").must(t, "whd_1", "Failed", "page=more")
		req := w.backend.called("ListDeliveries")[0].req.(*webhookv1.ListDeliveriesRequest)
		// The day on which daylight saving starts has 23 hours.
		if req.GetState() != webhookv1.DeliveryState_DELIVERY_STATE_FAILED || req.GetUntil().AsTime().Sub(req.GetSince().AsTime()) != 23*time.Hour {
			t.Errorf("%v", req)
		}
		if n := w.backend.count(); n != 3 {
			t.Errorf("%d calls", n)
		}
	})
	t.Run("shows the message and the responses of a delivery", func(t *testing.T) {
		w.get("/settings/webhooks/deliveries/whd_1").must(t, "{&#34;a&#34;:1}", "Attempt 1", "12 ms")
	})
	t.Run("replays failed deliveries since a moment in the company's time zone", func(t *testing.T) {
		a := w.post("/settings/webhooks/replay", "since", "2026-07-01T10:00")
		if a.to() != "/settings/webhooks/deliveries" {
			t.Fatal(describe(a))
		}
		if since := w.backend.called("ReplayFailed")[0].req.(*webhookv1.ReplayFailedRequest).GetSince().AsTime(); since.Hour() != 9 {
			t.Errorf("%s", since)
		}
		w.get(a.to()).must(t, "3 deliveries are being sent again.")
	})
	t.Run("says when only tests have failed", func(t *testing.T) {
		on(w.backend, "ReplayFailed", func(*webhookv1.ReplayFailedRequest) (*webhookv1.ReplayFailedResponse, error) {
			return &webhookv1.ReplayFailedResponse{Tests: 1}, nil
		})
		a := w.post("/settings/webhooks/replay", "since", "2026-07-01T10:00")
		w.get(a.to()).must(t, "only 1 test delivery matches, and tests are not replayed this way")
	})
	t.Run("shows charts and their numbers as a table", func(t *testing.T) {
		for _, s := range spans {
			w.get("/settings/webhooks?span="+s.Name).must(t, "<svg", "Show the numbers as a table", " delivered")
		}
	})
}
