package subscription

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/id"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

var update = flag.Bool("update", false, "write the golden events")

func TestGoldenEvents(t *testing.T) { // invariant 15
	w := open(t)
	var next atomic.Uint32
	w.server.newID = func() id.UUID { return id.UUID{0x01, 0x9c, 15: byte(next.Add(1))} }
	customer, collection := id.Customer{0x01, 0x9c, 15: 0xcc}, id.Collection{0x01, 0x9c, 15: 0xdd}
	w.media[collection] = w.company
	w.customers.Add(w.company, customer)
	plan := w.plan(func(r *subscriptionv1.CreatePlanRequest) {
		r.MinimumPeriods, r.EligibleEventTypes, r.MediaCollectionIds = 2, []string{"class"}, []string{collection.String()}
	})
	if _, err := w.plans.UpdatePlan(w.ctx(), &subscriptionv1.UpdatePlanRequest{Id: plan.GetId(), Title: new("Ten every month")}); err != nil {
		t.Fatal(err)
	}
	s := w.subscribe(plan, func(r *subscriptionv1.CreateSubscriptionRequest) { r.CustomerId = customer.String() })
	w.at(noonOf("2027-04-01")) // renewed, payment due
	for _, name := range []string{"fail", "pay"} {
		if _, err := actions[name](w, w.ctx(), s.GetId(), nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.client.CancelSubscription(w.ctx(), &subscriptionv1.CancelSubscriptionRequest{Id: s.GetId(), When: atOnce, Prorate: true, WaiveMinimumTerm: true, Reason: "moved"}); err != nil {
		t.Fatal(err)
	}
	w.imports(&subscriptionv1.ImportedSubscription{
		Reference: "a-1", CustomerId: customer.String(), PlanId: plan.GetId(), PeriodFirstDay: "2027-03-10", StartDate: "2025-02-10", RemainingCredits: 4,
	})
	last := messages()
	found := map[string]bool{}
	for _, e := range w.events() {
		last[e.subject], found[e.subject] = e.payload, true
	}
	for subject, payload := range last {
		if !found[subject] {
			t.Errorf("%s was not published", subject)
			continue
		}
		file := filepath.Join("testdata", strings.TrimPrefix(subject, "subscription.v1.")+".json")
		if *update {
			if err := os.WriteFile(file, []byte(protojson.MarshalOptions{Multiline: true}.Format(payload)+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want := payload.ProtoReflect().New().Interface()
		if err := protojson.Unmarshal(text, want); err != nil || !proto.Equal(payload, want) {
			t.Errorf("%s: got %v, the golden file has %v (%v)", subject, payload, want, err)
		}
	}
}

func TestMetrics(t *testing.T) {
	w := open(t)
	registry := prometheus.NewRegistry()
	if err := w.server.Collect(registry); err != nil {
		t.Fatal(err)
	}
	read := func() []float64 {
		t.Helper()
		values, err := w.server.readOverdue(t.Context())
		if err != nil || len(values) != 4 {
			t.Fatalf("%v, %v", values, err)
		}
		return values
	}
	w.passes.hook(away, nil)
	w.subscribe(w.plan(), unpaid) // a plan and a subscription are not confirmed, and not late yet
	if v := read(); v[0] != 0 || v[2] != 0 {
		t.Errorf("got %v", v)
	}
	w.clock.set(noonOf("2027-04-01"))
	if v := read(); v[0] != 1 || v[1] < 24*3600 || v[2] != 2 || v[3] < 30*24*3600 {
		t.Errorf("got %v", v)
	}
	w.passes.hook(nil, nil)
	w.jobs()
	if v := read(); v[0] != 0 || v[1] != 0 || v[2] != 0 || v[3] != 0 {
		t.Errorf("got %v", v)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			values[f.GetName()] += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	if values["subscription_steps_total"] < 1 || values["subscription_pass_syncs_total"] < 4 || values["subscription_step_failures_total"] != 0 {
		t.Errorf("got %v", values)
	}
}
