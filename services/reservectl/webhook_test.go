package reservectl

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/devkit/localca"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/webhookevent"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

const webhookSecret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="

// webhookWorld is a fake webhook service that records the requests it receives.
type webhookWorld struct {
	webhookv1.UnimplementedWebhookServiceServer

	mu         sync.Mutex
	created    *webhookv1.CreateEndpointRequest
	updated    *webhookv1.UpdateEndpointRequest
	listed     []*webhookv1.ListDeliveriesRequest
	replayed   *webhookv1.ReplayFailedRequest
	one        string // delivery of the last ReplayDelivery
	deleted    []string
	secretsOf  int // calls of GetSecret
	deliveries int
	endpoints  []*webhookv1.Endpoint
	refuse     bool // refuse new endpoints
}

func (w *webhookWorld) CreateEndpoint(_ context.Context, req *webhookv1.CreateEndpointRequest) (*webhookv1.CreateEndpointResponse, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.created = req
	if w.refuse {
		return nil, fault.Status(fault.InvalidFields(fault.Field{Field: "url", Rule: "address", Message: "must not be a private address"})).Err()
	}
	return &webhookv1.CreateEndpointResponse{
		Endpoint: &webhookv1.Endpoint{Id: "whe_1", Url: req.GetUrl(), Events: req.GetEvents(), Enabled: !req.GetDisabled()}, Secret: webhookSecret,
	}, nil
}

func (w *webhookWorld) ListEndpoints(context.Context, *webhookv1.ListEndpointsRequest) (*webhookv1.ListEndpointsResponse, error) {
	return &webhookv1.ListEndpointsResponse{Endpoints: w.endpoints}, nil
}

func (w *webhookWorld) UpdateEndpoint(_ context.Context, req *webhookv1.UpdateEndpointRequest) (*webhookv1.UpdateEndpointResponse, error) {
	w.updated = req
	return &webhookv1.UpdateEndpointResponse{Endpoint: &webhookv1.Endpoint{Id: req.GetId(), DisabledReason: webhookv1.DisabledReason_DISABLED_REASON_GONE}}, nil
}

func (w *webhookWorld) DeleteEndpoint(_ context.Context, req *webhookv1.DeleteEndpointRequest) (*webhookv1.DeleteEndpointResponse, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if req.GetId() == "whe_gone" {
		return nil, fault.Status(fault.Missing("endpoint")).Err()
	}
	w.deleted = append(w.deleted, req.GetId())
	return &webhookv1.DeleteEndpointResponse{}, nil
}

func (w *webhookWorld) GetSecret(context.Context, *webhookv1.GetSecretRequest) (*webhookv1.GetSecretResponse, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.secretsOf++
	return &webhookv1.GetSecretResponse{Secrets: []*webhookv1.Secret{{KeyId: "key-1", Secret: webhookSecret}}}, nil
}

func (w *webhookWorld) SendTest(context.Context, *webhookv1.SendTestRequest) (*webhookv1.SendTestResponse, error) {
	return &webhookv1.SendTestResponse{DeliveryId: "whd_1", Attempt: &webhookv1.Attempt{
		Number: 1, DurationMicroseconds: 1500, Failure: webhookv1.Failure_FAILURE_STATUS, Status: 503, ResponseBody: []byte("busy\n\x1b[2J"),
	}}, nil
}

// ListDeliveries returns pages of w.deliveries deliveries.
func (w *webhookWorld) ListDeliveries(_ context.Context, req *webhookv1.ListDeliveriesRequest) (*webhookv1.ListDeliveriesResponse, error) {
	w.listed = append(w.listed, req)
	res := &webhookv1.ListDeliveriesResponse{}
	done := len(req.GetPageToken())
	for range min(int(req.GetPageSize()), w.deliveries-done) {
		res.Deliveries = append(res.Deliveries, &webhookv1.Delivery{Id: "whd_1", State: webhookv1.DeliveryState_DELIVERY_STATE_FAILED})
	}
	if done += len(res.GetDeliveries()); done < w.deliveries {
		res.NextPageToken = strings.Repeat("x", done)
	}
	return res, nil
}

func (w *webhookWorld) GetDelivery(_ context.Context, req *webhookv1.GetDeliveryRequest) (*webhookv1.GetDeliveryResponse, error) {
	return &webhookv1.GetDeliveryResponse{
		Delivery: &webhookv1.Delivery{Id: req.GetId(), CreatedAt: timestamppb.Now()}, Body: []byte(`{"event":"pass.purchased","data":{"totalPaid":12.50}}`),
		Attempts: []*webhookv1.Attempt{{Number: 1, Failure: webhookv1.Failure_FAILURE_TIMEOUT, Message: "exceeded the time limit"}, {Number: 2, Status: 204}},
	}, nil
}

func (w *webhookWorld) ReplayDelivery(_ context.Context, req *webhookv1.ReplayDeliveryRequest) (*webhookv1.ReplayDeliveryResponse, error) {
	w.one = req.GetId()
	return &webhookv1.ReplayDeliveryResponse{Delivery: &webhookv1.Delivery{Id: req.GetId(), State: webhookv1.DeliveryState_DELIVERY_STATE_PENDING}}, nil
}

func (w *webhookWorld) ReplayFailed(_ context.Context, req *webhookv1.ReplayFailedRequest) (*webhookv1.ReplayFailedResponse, error) {
	w.replayed = req
	if req.GetEndpointId() == "whe_tests" {
		return &webhookv1.ReplayFailedResponse{Tests: 2}, nil
	}
	return &webhookv1.ReplayFailedResponse{Replayed: 7}, nil
}

func TestWebhook(t *testing.T) {
	w := newWorld(t).webhooks
	t.Run("a new endpoint subscribes to the default events, and its secret is printed", func(t *testing.T) {
		out := ok(t, "webhook", "create", "--url", "https://example.com/hook")
		if !slices.Equal(w.created.GetEvents(), webhookevent.DefaultTypes()) || !strings.Contains(out, webhookSecret) {
			t.Errorf("sent %v, printed %s", w.created, out)
		}
	})
	t.Run("a new endpoint can subscribe to some events", func(t *testing.T) {
		out := ok(t, "webhook", "create", "--url", "https://example.com/hook", "--events", "pass.purchased", "--disabled", "-o", "table")
		if len(w.created.GetEvents()) != 1 || !w.created.GetDisabled() || !strings.Contains(out, "pass.purchased") {
			t.Errorf("sent %v, printed %s", w.created, out)
		}
	})
	t.Run("an update changes only the given flags", func(t *testing.T) {
		out := ok(t, "webhook", "update", "whe_1", "--description", "")
		if w.updated.Url != nil || w.updated.Events != nil || w.updated.Enabled != nil || w.updated.Description == nil || w.updated.GetId() != "whe_1" {
			t.Errorf("sent %v", w.updated)
		}
		if !strings.Contains(out, `"disabled_reason": "gone"`) {
			t.Errorf("printed %s", out)
		}
	})
	t.Run("disable and enable change only the state", func(t *testing.T) {
		for command, want := range map[string]bool{"disable": false, "enable": true} {
			ok(t, "webhook", command, "whe_1")
			if w.updated.Enabled == nil || w.updated.GetEnabled() != want || w.updated.Description != nil {
				t.Errorf("%s sent %v", command, w.updated)
			}
		}
	})
	t.Run("a failed test is printed and fails the command", func(t *testing.T) {
		r := run(t, "", "webhook", "test", "whe_1", "--event", "event.purchased")
		if r.code != 1 || !strings.Contains(r.out, `"failure": "status"`) || !strings.Contains(r.out, `"answer": "busy\n\u001b[2J"`) || !strings.Contains(r.out, `"milliseconds": 1.5`) {
			t.Errorf("got %+v", r)
		}
	})
	t.Run("a table prints the response on one line without control characters", func(t *testing.T) {
		if r := run(t, "", "webhook", "test", "whe_1", "-o", "table"); !strings.Contains(r.out, "answer        busy \ufffd[2J\n") || strings.Contains(r.out, "\x1b") {
			t.Errorf("got %q", r.out)
		}
	})
	t.Run("an unknown endpoint is reported", func(t *testing.T) {
		if r := run(t, "", "webhook", "delete", "whe_gone"); r.code != 1 || !strings.Contains(r.errOut, "NOT_FOUND") {
			t.Errorf("got %+v", r)
		}
	})
	t.Run("deliveries are fetched page by page, up to the limit", func(t *testing.T) {
		w.deliveries = 450
		for limit, want := range map[string][2]int{"0": {450, 3}, "50": {50, 1}, "250": {250, 2}} {
			w.listed = nil
			var rows []map[string]any
			if err := json.Unmarshal([]byte(ok(t, "webhook", "deliveries", "--limit", limit)), &rows); err != nil || len(rows) != want[0] || len(w.listed) != want[1] {
				t.Errorf("--limit %s: %d rows of %d pages, %v", limit, len(rows), len(w.listed), err)
			}
		}
	})
	t.Run("deliveries are filtered by the given flags", func(t *testing.T) {
		w.listed = nil
		ok(t, "webhook", "deliveries", "--endpoint", "whe_1", "--event", "pass.purchased", "--state", "failed", "--since", "2h", "--until", "2026-03-29T10:00:00+01:00")
		req := w.listed[0]
		ago := time.Since(req.GetSince().AsTime())
		if req.GetEndpointId() != "whe_1" || req.GetEvent() != webhookv1.EventType_EVENT_TYPE_PASS_PURCHASED || req.GetState() != webhookv1.DeliveryState_DELIVERY_STATE_FAILED ||
			ago < 2*time.Hour || ago > 2*time.Hour+time.Minute || req.GetUntil().AsTime().Format(time.RFC3339) != "2026-03-29T09:00:00Z" {
			t.Errorf("sent %v", req)
		}
	})
	t.Run("a delivery is printed with its unchanged body and its attempts", func(t *testing.T) {
		out := ok(t, "webhook", "delivery", "whd_1")
		if !json.Valid([]byte(out)) || !strings.Contains(out, `"totalPaid": 12.50`) || !strings.Contains(out, `"failure": "timeout"`) {
			t.Errorf("got %s", out)
		}
		if out = ok(t, "webhook", "delivery", "whd_1", "-o", "table"); !strings.Contains(out, "\n  \"data\": {\n") || !strings.Contains(out, "timeout") {
			t.Errorf("got %s", out)
		}
	})
	t.Run("replay resends one delivery, or all that failed", func(t *testing.T) {
		if ok(t, "webhook", "replay", "whd_1"); w.one != "whd_1" {
			t.Errorf("replayed %q", w.one)
		}
		out := ok(t, "webhook", "replay", "--failed-since", "2026-03-29T09:30:00Z", "--endpoint", "whe_1")
		if w.replayed.GetEndpointId() != "whe_1" || w.replayed.GetSince().AsTime().Unix() != 1774776600 || !strings.Contains(out, `"replayed": 7`) {
			t.Errorf("sent %v, printed %s", w.replayed, out)
		}
		r := run(t, "", "webhook", "replay", "--failed-since", "24h", "--endpoint", "whe_tests")
		if r.code != 0 || !strings.Contains(r.out, `"tests": 2`) || !strings.Contains(r.errOut, "only test deliveries failed") {
			t.Errorf("exit status %d, %s: %s", r.code, r.out, r.errOut)
		}
	})
	for typed, want := range map[string]string{
		"webhook create": "--url is required",
		"webhook create --url x --events nonsense":           `unknown event "nonsense"`,
		"webhook test whe_1 --event nonsense":                `unknown event "nonsense"`,
		"webhook deliveries --state lost --since x":          "--state must be pending, delivered or failed, not \"lost\"\n--since must be a time",
		"webhook deliveries --limit -1":                      "--limit must not be negative",
		"webhook replay":                                     "either a DELIVERY or --failed-since",
		"webhook replay whd_1 --failed-since 1h":             "either a DELIVERY or --failed-since",
		"webhook replay whd_1 --endpoint whe_1":              "--endpoint can only be given with --failed-since",
		"webhook replay --failed-since soon":                 "--failed-since must be a time",
		"listen --port 70000 --answer 99 --print everything": "--port must be between 0 and 65535\n--answer must be a status between 200 and 599\n--print must be body or headers",
		"listen --forward-to localhost":                      "--forward-to must be an http or https URL",
		"listen":                                             "no certificate authority",
		"demo":                                               "no certificate authority",
	} {
		t.Run("refuses "+typed, func(t *testing.T) {
			if r := run(t, "", strings.Fields(typed)...); r.code != 2 || !strings.Contains(r.errOut, want) || r.out != "" {
				t.Errorf("exit status %d, %q: %s", r.code, r.out, r.errOut)
			}
		})
	}
}

// lines is a writer whose text can be read while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer func() {
		select {
		case l.more <- struct{}{}:
		default:
		}
	}()
	return l.text.Write(p)
}

// await returns the text once it contains part.
func (l *lines) await(t *testing.T, part string) string {
	t.Helper()
	limit := time.After(time.Minute)
	for {
		l.mu.Lock()
		text := l.text.String()
		l.mu.Unlock()
		if strings.Contains(text, part) {
			return text
		}
		select {
		case <-l.more:
		case <-limit:
			t.Fatalf("%q is not printed: %s", part, text)
		}
	}
}

// TestListen runs listen and posts webhooks to it that are not signed with its secret.
func TestListen(t *testing.T) {
	w := newWorld(t)
	ca := filepath.Join(w.dir, "ca.pem")
	if err := localca.Ensure(ca, time.Now()); err != nil {
		t.Fatal(err)
	}
	behind := httptest.NewServer(http.HandlerFunc(func(res http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		res.WriteHeader(http.StatusAccepted)
		_, _ = res.Write(append([]byte(req.Header.Get("Webhook-Id")+" "), body...))
	}))
	defer behind.Close()
	text, err := os.ReadFile(ca)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}

	ctx, stop := context.WithCancel(t.Context())
	out, errOut := &lines{more: make(chan struct{}, 1)}, &lines{more: make(chan struct{}, 1)}
	code := make(chan int, 1)
	go func() {
		code <- Main(ctx, []string{"listen", "--ca", ca, "--forward-to", behind.URL, "--print", "headers,body", "-o", "table"}, nil, out, errOut)
	}()
	errOut.await(t, "press Ctrl-C to delete the endpoint")
	address := w.webhooks.created.GetUrl()
	post := func(t *testing.T, body string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Webhook-Id", "msg_1")
		req.Header.Set("X-Odd", "a\u009b2Jb")
		req.Header.Set("X-Service-Signature", "nonsense")
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		answer, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(answer)
	}
	t.Run("webhooks are forwarded, and the response is returned", func(t *testing.T) {
		if status, answer := post(t, `{"id":"msg_1","event":"pass.purchased"}`); status != http.StatusAccepted || answer != `msg_1 {"id":"msg_1","event":"pass.purchased"}` {
			t.Errorf("answered %d, %s", status, answer)
		}
	})
	t.Run("an invalid signature is reported, and control characters are replaced", func(t *testing.T) {
		post(t, `{"id":"msg_1","event":"`+"\x1b[31m"+`"}`)
		text := out.await(t, "\ufffd[31m")
		if strings.ContainsAny(text, "\x1b\u009b") || !strings.Contains(text, "a\ufffd2Jb") || !strings.Contains(text, "JWT NOT VERIFIED") || !strings.Contains(text, "Standard Webhooks NOT VERIFIED") {
			t.Errorf("printed %q", text)
		}
	})
	t.Run("a webhook with a known message ID is marked as a repeat", func(t *testing.T) {
		post(t, `{"id":"msg_1","event":"pass.purchased"}`)
		out.await(t, "msg_1  repeat 1")
	})
	t.Run("requests other than POST are refused", func(t *testing.T) {
		res, err := client.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		if _ = res.Body.Close(); res.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("answered %d", res.StatusCode)
		}
	})
	t.Run("the endpoint is deleted at the end", func(t *testing.T) {
		stop()
		if c := <-code; c != 0 || len(w.webhooks.deleted) != 1 || w.webhooks.deleted[0] != "whe_1" {
			t.Errorf("exit status %d, deleted %v", c, w.webhooks.deleted)
		}
	})
}

func TestListenRegistering(t *testing.T) {
	w := newWorld(t)
	ca := filepath.Join(w.dir, "ca.pem")
	if err := localca.Ensure(ca, time.Now()); err != nil {
		t.Fatal(err)
	}
	w.webhooks.refuse = true
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	living, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer living.Close()
	const nobody = "https://127.0.0.1:1/"
	w.webhooks.endpoints = []*webhookv1.Endpoint{
		{Id: "whe_killed", Url: nobody, Description: "reservectl listen " + host},
		{Id: "whe_living", Url: "https://" + living.Addr().String() + "/", Description: "reservectl listen " + host},
		{Id: "whe_elsewhere", Url: nobody, Description: "reservectl listen elsewhere"},
		{Id: "whe_real", Url: "https://example.com/", Description: "reservectl listen " + host},
	}
	r := run(t, "", "listen", "--ca", ca)
	t.Run("only endpoints of killed listeners on this machine are deleted", func(t *testing.T) {
		if len(w.webhooks.deleted) != 1 || w.webhooks.deleted[0] != "whe_killed" {
			t.Errorf("deleted %v", w.webhooks.deleted)
		}
	})
	t.Run("the error names the setting if the platform refuses private addresses", func(t *testing.T) {
		if r.code != 1 || !strings.Contains(r.errOut, "WEBHOOK_PRIVATE_ADDRESSES") {
			t.Errorf("exit status %d: %s", r.code, r.errOut)
		}
	})
}

// TestVerification checks that verifyToken judges the published vectors like every other receiver.
func TestVerification(t *testing.T) {
	text, err := os.ReadFile("../../docs/webhooks/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Vectors []struct {
			Name    string
			Time    int64
			Secrets []string
			Headers map[string]string
			Body    string
			JWT     bool
		}
	}
	if err := json.Unmarshal(text, &file); err != nil || len(file.Vectors) < 20 {
		t.Fatalf("%d vectors, %v", len(file.Vectors), err)
	}
	for _, v := range file.Vectors {
		t.Run(v.Name, func(t *testing.T) {
			header := http.Header{}
			for name, value := range v.Headers {
				header.Set(name, value)
			}
			var keys []signingKey
			for _, s := range v.Secrets {
				key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(s, "whsec_"))
				if err != nil {
					t.Fatal(err)
				}
				for _, kid := range kids(header) { // each key under each key ID
					keys = append(keys, signingKey{id: kid, key: key})
				}
			}
			verified := false
			for _, k := range keys {
				verified = verified || verifyToken(header, []byte(v.Body), []signingKey{k}, time.Unix(v.Time, 0)) == nil
			}
			if verified != v.JWT {
				t.Errorf("the JWT is valid: %v, want %v", verified, v.JWT)
			}
		})
	}
}

// kids returns the key IDs that the JWTs of a request name.
func kids(header http.Header) []string {
	var all []string
	for _, name := range []string{headerToken, headerPreviousToken} {
		head, _, _ := strings.Cut(header.Get(name), ".")
		text, _ := base64.RawURLEncoding.DecodeString(head)
		var h struct{ Kid string }
		if json.Unmarshal(text, &h) == nil {
			all = append(all, h.Kid)
		}
	}
	return all
}
