package bounds

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/test/harness"
)

func TestRequestsBeyondTheirBounds(t *testing.T) {
	w := newWorld(t)
	before := w.memory(t)
	t.Run("requests over gRPC", func(t *testing.T) { w.undisturbed(t, func() { w.testRPCs(t) }) })
	t.Run("requests on both interfaces", func(t *testing.T) { w.undisturbed(t, func() { w.testInterfaces(t) }) })
	t.Run("lists with repeated items", func(t *testing.T) { w.undisturbed(t, func() { w.testRepeats(t) }) })
	if grown := w.memory(t) - before; grown > 512<<20 {
		t.Errorf("the platform used %d MiB more", grown>>20)
	}
}

// testRepeats makes requests that broke the connection shared by all companies, took gigabytes,
// and got answers of megabytes in an earlier version.
func (w *world) testRepeats(t *testing.T) {
	made, err := bookingv1.NewEventServiceClient(w.conns["booking"]).CreateEvent(w.attacker.company.Ctx(t.Context()), &bookingv1.CreateEventRequest{
		Title: "Yoga", Dates: []*bookingv1.NewEventDate{{LocalStart: "2099-03-28T09:30:00", DurationMinutes: 60}},
		PricingOptions: []*bookingv1.NewPricingOption{{Name: "Drop-in", Price: 1200}},
	})
	if err != nil {
		t.Fatal(err)
	}
	event := made.GetEvent()
	path := "/events/" + event.GetId()
	option := fmt.Sprintf(`{"id":%q}`, event.GetPricingOptions()[0].GetId())
	list := func(item string, n int) string {
		return `{"pricingOptions":[` + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + `]}`
	}
	for name, tt := range map[string]struct {
		method, path, body string
		rule               string
		more               bool
	}{
		"an option 1,000 times":       {http.MethodPatch, path, list(option, 1000), "max_items", false},
		"an option 24,000 times":      {http.MethodPatch, path, list(option, 837_000/(len(option)+1)), "max_items", false},
		"340,000 empty options":       {http.MethodPost, "/events", list("{}", 340_000), "max_items", false},
		"340,000 empty options again": {http.MethodPatch, path, list("{}", 340_000), "max_items", false},
		"an option 50 times":          {http.MethodPatch, path, list(option, 50), "unique", false},
		"5,000 wrong dates": {
			http.MethodPatch, path, `{"dates":[` + strings.Repeat("0,", 4999) + `0]}`, "type", true,
		},
		"1,000 dates without a start": {
			http.MethodPost, "/events", `{"title":"x","dates":[` + strings.Repeat("{},", 999) + `{}]}`, "required", true,
		},
	} {
		details := w.refused(t, attempt{w.attacker.b, name, harness.Request{Method: tt.method, Path: tt.path, Body: tt.body}, []int{http.StatusBadRequest}})
		if len(details.Errors) == 0 || details.Errors[0].Rule != tt.rule || len(details.Errors) > 50 || (details.More > 0) != tt.more {
			t.Errorf("%s: %d errors, %d more, %v", name, len(details.Errors), details.More, details.Errors[:min(1, len(details.Errors))])
		}
	}
	change := &bookingv1.UpdateEventRequest{Id: event.GetId()}
	for range 100_000 {
		change.PricingOptions = append(change.PricingOptions, &bookingv1.PricingOptionChange{Id: event.GetPricingOptions()[0].GetId()})
	}
	request, err := proto.Marshal(change) // encoded first, so that the time is only the service's
	if err != nil {
		t.Fatal(err)
	}
	took := quickest(func() {
		err = w.conns["booking"].Invoke(w.attacker.company.Ctx(t.Context()), bookingv1.EventService_UpdateEvent_FullMethodName,
			request, &bookingv1.UpdateEventResponse{}, grpc.ForceCodecV2(encoded{}))
	})
	if err == nil || took > limit {
		t.Errorf("a request with 100,000 options over gRPC: %v after %s", err, took)
	}
}

// memory returns the platform's peak memory so far, in bytes.
func (w *world) memory(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.PID()))
	if err != nil {
		t.Skip("memory is read from /proc, which only Linux has")
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kilobytes, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kilobytes << 10
		}
	}
	return 0
}
