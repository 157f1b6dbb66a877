package observe

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"reservation.dev/test/harness"
)

// patience is the time limit for spans and webhooks on a loaded machine.
const patience = 2 * time.Minute

// TestOneTrace books on Interface B, with one process per service, and expects one trace from the
// request to both attempts of its webhook, the first of which fails.
func TestOneTrace(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	env := c.env()
	maps.Copy(env, map[string]string{"LOG_LEVEL": "debug", "LOG_FORMAT": "json", "WEBHOOK_RETRIES": "200ms"})
	cluster := harness.StartCluster(t, harness.ClusterOptions{GatewaysB: 1, Webhooks: 1, Env: env})
	company := cluster.Operator(t).NewCompany(t, "Europe/London")
	box := cluster.NewMailbox(t, company, func(m harness.Mail) harness.Reply {
		if m.Try == 1 {
			return harness.Reply{Status: http.StatusServiceUnavailable}
		}
		return harness.Reply{}
	})
	b := harness.NewB(t, cluster.GatewaysB[0])
	token := b.Token(t, company.NewKey(t, 0))
	customer := create(t, b, token, "/customers", `{"firstName":"Ada","lastName":"Byron","email":"ada@example.com"}`, nil)
	event := create(t, b, token, "/events", `{"title":"Clay","timezone":"Europe/London","startsAt":"2099-03-28T09:30:00","duration":60,"capacity":2,
		"pricingOptions":[{"name":"Place","price":12.35,"currency":"GBP","credits":2}]}`, nil)
	const requestID, callersTrace = "trace-me-1", "0af7651916cd43dd8448eb211c80319c"
	create(t, b, token, "/events/"+event+"/registrations", fmt.Sprintf(`{"customerId":%q,"spots":1}`, customer), http.Header{
		"X-Request-Id": {requestID}, "Traceparent": {"00-" + callersTrace + "-b7ad6b7169203331-00"},
	})
	harness.Eventually(t, patience, func() error {
		if n := len(box.Mail()); n < 2 {
			return fmt.Errorf("the endpoint got %d requests", n)
		}
		return nil
	})
	var spans map[string]span
	harness.Eventually(t, patience, func() error {
		spans = c.traceOf(requestID)
		return complete(spans)
	})
	t.Run("every span but the first has its parent in the trace", func(t *testing.T) { testParents(t, spans) })
	t.Run("each step is a descendant of the previous step", func(t *testing.T) { testPath(t, spans) })
	t.Run("spans follow the semantic conventions", func(t *testing.T) { testConventions(t, spans) })
	t.Run("the caller's trace is linked, but does not decide on sampling", func(t *testing.T) {
		for _, s := range spans {
			if len(s.GetParentSpanId()) > 0 {
				continue
			}
			if len(s.GetLinks()) != 1 || hex.EncodeToString(s.GetLinks()[0].GetTraceId()) != callersTrace {
				t.Errorf("links of the first span: %v", s.GetLinks())
			}
		}
	})
	t.Run("the trace is not sent to the endpoint", func(t *testing.T) {
		for _, m := range box.Mail() {
			if strings.Contains(string(m.Data), "traceparent") {
				t.Errorf("the body is %s", m.Data)
			}
		}
	})
	t.Run("the request id is in the logs of every service involved", func(t *testing.T) {
		for part, message := range map[string]string{"gateway-b-1": "request", "booking": "rpc", "webhook": "webhook attempt"} {
			testLine(t, cluster.Part(part), requestID, message)
		}
	})
}

// create creates an object on Interface B and returns its identifier.
func create(t *testing.T, b *harness.B, token, path, body string, header http.Header) string {
	t.Helper()
	var made struct{ ID string }
	b.Do(t, harness.Request{Path: path, Token: token, Body: body, Header: header}).Into(t, http.StatusCreated, &made)
	return made.ID
}

// steps returns the steps of the trace, beginning with the request; "*" matches any text.
func steps() []string {
	return []string{
		"gateway-b server POST /api/v1/events/{id}/registrations",
		"gateway-b client reservation.booking.v1.BookingService/*",
		"booking server reservation.booking.v1.BookingService/*",
		"booking producer publish booking.v1.booking_confirmed",
		"webhook consumer process booking.v1.booking_confirmed",
		"webhook client POST",
	}
}

func fits(s span, step string) bool {
	before, _, open := strings.Cut(step, "*")
	if open {
		return strings.HasPrefix(s.where(), before)
	}
	return s.where() == step
}

// complete returns an error while spans of the trace are missing: steps, or the parents of other spans. Each process
// sends its spans when they have ended, so that of a parent can be the last.
func complete(spans map[string]span) error {
	var faults []error
	for _, s := range spans {
		parent := hex.EncodeToString(s.GetParentSpanId())
		if _, ok := spans[parent]; parent != "" && !ok {
			faults = append(faults, fmt.Errorf("the parent of %q is not in the trace", s.where()))
		}
	}
	for _, step := range steps() {
		n := 0
		for _, s := range spans {
			if fits(s, step) {
				n++
			}
		}
		if want := 1; n < want || strings.HasSuffix(step, "POST") && n < 2 {
			faults = append(faults, fmt.Errorf("%d spans %q", n, step))
		}
	}
	if len(faults) > 0 {
		faults = append(faults, fmt.Errorf("the trace has %v", names(spans)))
	}
	return errors.Join(faults...)
}

func names(spans map[string]span) []string {
	var all []string
	for _, s := range spans {
		all = append(all, s.where())
	}
	slices.Sort(all)
	return all
}

func testParents(t *testing.T, spans map[string]span) {
	roots := 0
	for _, s := range spans {
		if len(s.GetParentSpanId()) == 0 {
			roots++
			continue
		}
		parent, ok := spans[hex.EncodeToString(s.GetParentSpanId())]
		if !ok {
			t.Errorf("the parent of %q is not in the trace", s.where())
			continue
		}
		if s.GetStartTimeUnixNano() < parent.GetStartTimeUnixNano() {
			t.Errorf("%q begins before %q", s.where(), parent.where())
		}
	}
	if roots != 1 {
		t.Errorf("%d spans have no parent, in %v", roots, names(spans))
	}
}

// testPath follows the parents of each webhook attempt and checks the steps.
func testPath(t *testing.T, spans map[string]span) {
	attempts := 0
	for _, s := range spans {
		want := steps()
		if !fits(s, want[len(want)-1]) {
			continue
		}
		attempts++
		for at, i := s, len(want)-1; ; {
			if fits(at, want[i]) {
				i--
			}
			if i < 0 {
				break
			}
			parent, ok := spans[hex.EncodeToString(at.GetParentSpanId())]
			if !ok {
				t.Errorf("an attempt has no ancestor %q", want[i])
				break
			}
			at = parent
		}
	}
	if attempts != 2 {
		t.Errorf("got %d attempts", attempts)
	}
}

func testConventions(t *testing.T, spans map[string]span) {
	statements, statuses := map[string]int{}, map[string]string{}
	for _, s := range spans {
		var want []string
		switch {
		case s.has("db.system.name"):
			want = []string{"db.namespace", "db.operation.name", "db.query.summary", "db.query.text"}
			statements[s.part]++
			if strings.Contains(s.attribute("db.query.text"), "'comp") {
				t.Errorf("%q has a company in its text", s.where())
			}
		case s.has("messaging.system"):
			want = []string{"messaging.operation.name", "messaging.operation.type", "messaging.destination.name", "messaging.message.id"}
		case s.where() == "webhook client POST":
			want = []string{"http.request.method", "server.address", "server.port", "http.response.status_code"}
			statuses[s.attribute("http.request.resend_count")] = s.attribute("http.response.status_code")
		case s.GetKind().String() == "SPAN_KIND_SERVER" && s.has("http.route"):
			want = []string{"http.request.method", "http.response.status_code", "url.scheme"}
		default:
			want = []string{"rpc.method"}
		}
		if !s.has(want...) {
			t.Errorf("%q has %v, want %v", s.where(), s.GetAttributes(), want)
		}
	}
	if statements["booking"] == 0 || statements["webhook"] == 0 {
		t.Errorf("statements by service: %v", statements)
	}
	if !strings.Contains(statuses[""], "503") || len(statuses) != 2 {
		t.Errorf("statuses of the attempts by number of earlier attempts: %v", statuses)
	}
}

// testLine finds a log line of a service about a request, and checks that it names the trace.
func testLine(t *testing.T, part *harness.Part, requestID, message string) {
	t.Helper()
	harness.Eventually(t, patience, func() error {
		text, err := os.ReadFile(part.LogFile())
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			var got struct {
				Msg       string
				RequestID string `json:"request_id"`
				TraceID   string `json:"trace_id"`
			}
			if json.Unmarshal([]byte(line), &got) == nil && got.Msg == message && got.RequestID == requestID && got.TraceID != "" {
				return nil
			}
		}
		return fmt.Errorf("%s has no line %q of request %s", part.Name, message, requestID)
	})
}
