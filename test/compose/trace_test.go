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

// callersTrace is the trace of whoever calls Interface B.
const (
	callersTrace = "0af7651916cd43dd8448eb211c80319c"
	traceparent  = "00-" + callersTrace + "-b7ad6b7169203331-01"
)

// span is one of a trace as test/compose/traces tells it.
type span struct {
	ID, Parent, Part, Kind, Name string
	Links                        []string
	Attributes                   map[string]string
}

// where says which span it is: its part, kind and name.
func (s span) where() string {
	return s.Part + " " + strings.ToLower(strings.TrimPrefix(s.Kind, "SPAN_KIND_")) + " " + s.Name
}

// steps lead from a request to its webhook; "…" stands for the rest of a name.
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

// climb walks from a span up to the first, and reports which steps it does not meet.
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
		return fmt.Errorf("above it there is no %q, and the first is %q below %q", want, s.where(), s.Parent)
	}
	return nil
}

// testTrace finds a request, which was made with traceparent and whose webhook was
// sent twice, in the logs by its identifier, and by what they say in the traces.
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
		for _, s := range spans { // they come from several processes
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
				t.Errorf("a first span: %+v, and it is to be linked to the caller's trace", s)
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
		t.Errorf("statements by part: %v", statements)
	}
	t.Logf("trace %s: %d spans, statements %v", id, len(spans), statements)
}

// logged is the trace of the line of a part's log that is about a request.
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
