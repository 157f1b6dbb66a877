package observe

import (
	"context"
	"encoding/hex"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	collectorv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
)

// collector is an OTLP receiver that stores all spans.
type collector struct {
	collectorv1.UnimplementedTraceServiceServer
	addr string

	mu    sync.Mutex
	spans []span
}

// span is a span and the service that sent it.
type span struct {
	*tracev1.Span
	part string
}

// newCollector listens on loopback until t ends.
func newCollector(t *testing.T) *collector {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &collector{addr: listener.Addr().String()}
	server := grpc.NewServer()
	collectorv1.RegisterTraceServiceServer(server, c)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener) // until Stop
	}()
	t.Cleanup(func() {
		server.Stop()
		<-done
	})
	return c
}

// env returns the settings with which a process sends its spans here without delay.
func (c *collector) env() map[string]string {
	return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://" + c.addr, "OTEL_BSP_SCHEDULE_DELAY": "100"}
}

// Export implements the collector's protocol.
func (c *collector) Export(_ context.Context, req *collectorv1.ExportTraceServiceRequest) (*collectorv1.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range req.GetResourceSpans() {
		part := valueOf(r.GetResource().GetAttributes(), "service.name")
		for _, scope := range r.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				c.spans = append(c.spans, span{Span: s, part: part})
			}
		}
	}
	return &collectorv1.ExportTraceServiceResponse{}, nil
}

// all returns the spans received so far.
func (c *collector) all() []span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans)
}

// traceOf returns the spans of a request's trace, by span id.
func (c *collector) traceOf(requestID string) map[string]span {
	all := c.all()
	found := map[string]span{}
	for _, root := range all {
		if root.attribute("reservation.request_id") != requestID {
			continue
		}
		for _, s := range all {
			if string(s.GetTraceId()) == string(root.GetTraceId()) {
				found[hex.EncodeToString(s.GetSpanId())] = s
			}
		}
	}
	return found
}

func (s span) attribute(key string) string { return valueOf(s.GetAttributes(), key) }

// has reports whether the span has all of the attributes.
func (s span) has(keys ...string) bool {
	for _, key := range keys {
		if !slices.ContainsFunc(s.GetAttributes(), func(a *commonv1.KeyValue) bool { return a.GetKey() == key }) {
			return false
		}
	}
	return true
}

// where identifies the span by its service, kind and name.
func (s span) where() string {
	kind := strings.ToLower(strings.TrimPrefix(s.GetKind().String(), "SPAN_KIND_"))
	return s.part + " " + kind + " " + s.GetName()
}

// valueOf returns an attribute as text, or "" if there is none.
func valueOf(attributes []*commonv1.KeyValue, key string) string {
	for _, a := range attributes {
		if a.GetKey() != key {
			continue
		}
		if v, ok := a.GetValue().GetValue().(*commonv1.AnyValue_StringValue); ok {
			return v.StringValue
		}
		return strings.TrimSpace(strings.Trim(a.GetValue().String(), `{}`))
	}
	return ""
}
