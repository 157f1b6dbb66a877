package compose

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"reservation.dev/test/harness"
)

// callersTrace is the trace of the caller of Interface B.
const (
	callersTrace = "0af7651916cd43dd8448eb211c80319c"
	traceparent  = "00-" + callersTrace + "-b7ad6b7169203331-01"
)

// span is a span as test/compose/traces serves it.
type span struct {
	ID, Parent, Part, Kind, Name string
	Links                        []string
	Attributes                   map[string]string
}

// where identifies the span by its service, kind and name.
func (s span) where() string {
	return s.Part + " " + strings.ToLower(strings.TrimPrefix(s.Kind, "SPAN_KIND_")) + " " + s.Name
}

// steps returns the steps from a request to its webhook; "…" matches the rest of a name.
func steps() []string {
	return []string{
		"gateway-b server POST /api/v1/events/{id}/registrations",
		"gateway-b client reservation.booking.v1.BookingService/…",
		"booking server reservation.booking.v1.BookingService/…",
		"booking producer publish booking.v1.booking_confirmed",
		"webhook consumer process booking.v1.booking_confirmed",
		"webhook client POST",
	}
}

func (s span) fits(step string) bool {
	prefix, open := strings.CutSuffix(step, "…")
	return s.where() == step || open && strings.HasPrefix(s.where(), prefix)
}

// climb follows the parents of a span up to the root, and returns an error for a step that is
// missing.
func climb(spans map[string]span, s span) error {
	want := steps()
	for {
		if n := len(want); n > 0 && s.fits(want[n-1]) {
			want = want[:n-1]
		}
		above, ok := spans[s.Parent]
		if !ok {
			break
		}
		s = above
	}
	if len(want) > 0 || s.Parent != "" {
		return fmt.Errorf("no ancestor is %q; the root is %q below %q", want, s.where(), s.Parent)
	}
	return nil
}

// testTrace checks the traces of a request that was made with traceparent and whose webhook was
// sent twice. It finds their ids in the logs by the request id.
func (p *platform) testTrace(t *testing.T, requestID string) {
	store := "http://" + p.address(t, "jaeger") + ":16686"
	var id string
	harness.Eventually(t, time.Minute, func() error {
		request, err := p.logged(t, "gateway-b", "request", requestID)
		if err != nil {
			return err
		}
		attempt, err := p.logged(t, "webhook", "webhook attempt", requestID)
		if err == nil && (request == "" || attempt != request) {
			err = fmt.Errorf("the trace of the request is %q, and of its webhook %q", request, attempt)
		}
		id = request
		return err
	})
	spans := map[string]span{}
	harness.Eventually(t, time.Minute, func() error {
		text, err := fetch(t.Context(), store+"/traces/"+id)
		if err != nil {
			return err
		}
		var all []span
		if err := json.Unmarshal(text, &all); err != nil {
			return err
		}
		var sent []string
		for _, s := range all {
			spans[s.ID] = s
			if s.fits("webhook client POST") {
				sent = append(sent, s.Attributes["http.response.status_code"])
			}
		}
		slices.Sort(sent)
		if !slices.Equal(sent, []string{"204", "503"}) {
			return fmt.Errorf("%d spans, in which the webhook was answered %v", len(all), sent)
		}
		for _, s := range spans { // they arrive from several processes
			if _, ok := spans[s.Parent]; !ok && s.Parent != "" {
				return fmt.Errorf("the parent of %q is not in the trace", s.where())
			}
		}
		return nil
	})
	statements := map[string]int{}
	for _, s := range spans {
		switch {
		case s.Parent == "":
			if !s.fits(steps()[0]) || s.Attributes["reservation.request_id"] != requestID || !slices.Equal(s.Links, []string{callersTrace}) {
				t.Errorf("a root span is not linked to the caller's trace: %+v", s)
			}
		case s.Attributes["db.system.name"] != "":
			statements[s.Part]++
		case s.fits("webhook client POST"):
			if err := climb(spans, s); err != nil {
				t.Error(err)
			}
		}
	}
	if statements["booking"] == 0 || statements["webhook"] == 0 {
		t.Errorf("statements by service: %v", statements)
	}
	t.Logf("trace %s: %d spans, statements %v", id, len(spans), statements)
}

// logged returns the trace id in the log line of a service about a request.
func (p *platform) logged(t *testing.T, part, message, requestID string) (string, error) {
	out, err := p.tryCompose(t.Context(), commandLimit, "logs", "--no-log-prefix", part)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(out) {
		var got struct {
			Msg       string
			RequestID string `json:"request_id"`
			TraceID   string `json:"trace_id"`
		}
		if json.Unmarshal([]byte(line), &got) == nil && got.Msg == message && got.RequestID == requestID {
			return got.TraceID, nil
		}
	}
	return "", errors.New(part + " has no line " + message + " of request " + requestID)
}
