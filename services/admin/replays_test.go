package admin

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

func TestReplays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	on(w.backend, "ListEndpoints", func(*webhookv1.ListEndpointsRequest) (*webhookv1.ListEndpointsResponse, error) {
		return &webhookv1.ListEndpointsResponse{Endpoints: []*webhookv1.Endpoint{{Id: "whe_1", Url: "https://example.com/<script>"}}}, nil
	})
	on(w.backend, "ListDeliveries", func(*webhookv1.ListDeliveriesRequest) (*webhookv1.ListDeliveriesResponse, error) {
		return &webhookv1.ListDeliveriesResponse{Deliveries: []*webhookv1.Delivery{
			{Id: "whd_1", EndpointId: "whe_1", CreatedAt: timestamppb.Now()}, {Id: "whd_2", EndpointId: "whe_2", CreatedAt: timestamppb.Now()},
		}}, nil
	})
	asOf := time.Now().UTC().Truncate(time.Microsecond)
	counted := &webhookv1.CountDeliveriesResponse{Count: 1234, AsOf: timestamppb.New(asOf)}
	on(w.backend, "CountDeliveries", func(*webhookv1.CountDeliveriesRequest) (*webhookv1.CountDeliveriesResponse, error) {
		return counted, nil
	})
	on(w.backend, "ReplayDeliveries", func(req *webhookv1.ReplayDeliveriesRequest) (*webhookv1.ReplayDeliveriesResponse, error) {
		if n := int64(len(req.GetIds())); n > 0 {
			return &webhookv1.ReplayDeliveriesResponse{Replayed: n - 1, Skipped: 1}, nil
		}
		return &webhookv1.ReplayDeliveriesResponse{Replayed: 1200}, nil
	})
	const list = "/settings/webhooks/deliveries?event=pass.purchased&since=2026-03-29&state=failed"

	t.Run("resends the ticked deliveries and says how many were left out", func(t *testing.T) {
		a := w.get(list)
		a.must(t, `name="ids" value="whd_1"`, `name="ids" value="whd_2"`, `aria-label="Choose `, "to https://example.com/&lt;script&gt;", "Resend everything the filters match…")
		done := w.post("/settings/webhooks/deliveries/selected", "ids", "whd_1", "ids", "whd_2", "back", list)
		if done.to() != list {
			t.Fatal(describe(done))
		}
		w.get(list).must(t, "1 delivery is being sent again. 1 was left out")
		call := w.backend.called("ReplayDeliveries")[0]
		if got := call.req.(*webhookv1.ReplayDeliveriesRequest); len(got.GetIds()) != 2 || got.GetFilter() != nil || call.key == "" {
			t.Errorf("%v under %q", got, call.key)
		}
		records := w.backend.called("RecordAuditEntry")
		if len(records) != 1 || records[0].req.(*authv1.RecordAuditEntryRequest).GetAction() != "webhook_delivery.replay_selected" {
			t.Errorf("%v", records)
		}
	})
	t.Run("resends nothing if nothing is ticked, and stays on the site", func(t *testing.T) {
		before := len(w.backend.called("ReplayDeliveries"))
		if a := w.post("/settings/webhooks/deliveries/selected", "back", "//evil.example"); a.to() != "/settings/webhooks/deliveries" {
			t.Error(describe(a))
		}
		w.get(list).must(t, "Tick the deliveries that you want")
		if len(w.backend.called("ReplayDeliveries")) != before {
			t.Error("deliveries are replayed")
		}
	})
	t.Run("has no boxes while the list refreshes", func(t *testing.T) {
		if body := w.page(list + "&live=1"); strings.Contains(body, `name="ids"`) {
			t.Error("there are boxes")
		}
	})
	t.Run("counts the matching deliveries, then replays those that were counted", func(t *testing.T) {
		confirm := "/settings/webhooks/deliveries/replay?event=pass.purchased&since=2026-03-29&state=failed"
		w.get(list).must(t, strings.ReplaceAll(confirm, "&", "&amp;"))
		a := w.get(confirm)
		a.must(t, "1,234 deliveries", "Resend 1,234 deliveries", `name="as_of" value="`+asOf.Format(time.RFC3339Nano)+`"`, `name="state" value="failed"`, "from 29 Mar 2026")
		counts := w.backend.called("CountDeliveries")
		f := counts[0].req.(*webhookv1.CountDeliveriesRequest).GetFilter()
		if f.GetState() != webhookv1.DeliveryState_DELIVERY_STATE_FAILED || f.GetEvent() != webhookv1.EventType_EVENT_TYPE_PASS_PURCHASED || f.GetSince() == nil || f.GetUntil() != nil {
			t.Errorf("counted %v", f)
		}
		done := w.post("/settings/webhooks/deliveries/replay", "as_of", asOf.Format(time.RFC3339Nano), "event", "pass.purchased", "since", "2026-03-29", "state", "failed")
		if done.to() != list {
			t.Fatal(describe(done))
		}
		w.get(list).must(t, "1,200 deliveries are being sent again.")
		calls := w.backend.called("ReplayDeliveries")
		last := calls[len(calls)-1]
		req := last.req.(*webhookv1.ReplayDeliveriesRequest)
		if !req.GetAsOf().AsTime().Equal(asOf) || req.GetFilter().String() != f.String() || last.key == "" {
			t.Errorf("replayed %v under %q", req, last.key)
		}
	})
	t.Run("offers no replay of too many deliveries or of none", func(t *testing.T) {
		counted = &webhookv1.CountDeliveriesResponse{Count: 100_000, More: true, AsOf: timestamppb.New(asOf)}
		if a := w.get("/settings/webhooks/deliveries/replay"); a.to() != "/settings/webhooks/deliveries" {
			t.Error(describe(a))
		}
		w.get(list).must(t, "More than 100,000 deliveries match")
		counted = &webhookv1.CountDeliveriesResponse{AsOf: timestamppb.New(asOf)}
		w.get("/settings/webhooks/deliveries/replay?state=failed")
		w.get(list).must(t, "Nothing was resent: no delivery of an enabled endpoint matches.")
		counted = &webhookv1.CountDeliveriesResponse{AsOf: timestamppb.New(asOf), Tests: 2}
		w.get("/settings/webhooks/deliveries/replay?state=failed")
		w.get(list).must(t, "only 2 test deliveries match, and tests are not replayed this way")
	})
	t.Run("counts again if the count is too old", func(t *testing.T) {
		on(w.backend, "ReplayDeliveries", func(*webhookv1.ReplayDeliveriesRequest) (*webhookv1.ReplayDeliveriesResponse, error) {
			return nil, fault.InvalidParameter("as_of", "range", "must not be more than an hour ago: count again")
		})
		for _, stale := range []string{"2020-01-01T00:00:00Z", "", "yesterday"} {
			a := w.post("/settings/webhooks/deliveries/replay", "as_of", stale, "state", "failed")
			if a.to() != "/settings/webhooks/deliveries/replay?state=failed" {
				t.Error(describe(a))
			}
		}
	})
	t.Run("ignores filters with unknown states, events or days", func(t *testing.T) {
		counted = &webhookv1.CountDeliveriesResponse{Count: 1, AsOf: timestamppb.New(asOf)}
		w.get("/settings/webhooks/deliveries/replay?state=lost&event=x&since=2026-02-30&until=x").must(t, "All deliveries of the last 30 days")
	})
	t.Run("escapes filter values and stays on the site", func(t *testing.T) {
		counted = &webhookv1.CountDeliveriesResponse{Count: 1, AsOf: timestamppb.New(asOf)}
		a := w.get("/settings/webhooks/deliveries/replay?endpoint=" + url.QueryEscape(`"><script>alert(1)</script>`))
		a.must(t, "&lt;script&gt;alert(1)", "1 delivery will be sent again")
		if strings.Contains(a.body, "<script>alert") {
			t.Error("markup is executed")
		}
	})
}
