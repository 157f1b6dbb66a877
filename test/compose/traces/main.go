// Command traces receives traces over OTLP/gRPC on :4317, stores the latest, and serves each at
// :16686/traces/ID as a JSON array of its spans. It replaces Jaeger in test/compose.
package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	collectorv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // the collector's compression
)

// most is the maximum number of stored traces.
const most = 5000

// Span is a span in the served JSON.
type Span struct {
	ID         string            `json:"id"`
	Parent     string            `json:"parent"` // "": the root
	Links      []string          `json:"links"`  // ids of linked traces
	Part       string            `json:"part"`   // service.name
	Kind       string            `json:"kind"`   // SPAN_KIND_…
	Name       string            `json:"name"`
	Attributes map[string]string `json:"attributes"`
}

type store struct {
	collectorv1.UnimplementedTraceServiceServer

	mu    sync.Mutex
	spans map[string][]Span // by trace
	order []string          // ids of the stored traces, oldest first
}

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "traces:", err)
		os.Exit(1)
	}
}

func serve() error {
	s := &store{spans: map[string][]Span{}}
	listener, err := net.Listen("tcp", ":4317")
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	collectorv1.RegisterTraceServiceServer(server, s)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /traces/{id}", s.trace)
	mux.HandleFunc("GET /api/services", func(http.ResponseWriter, *http.Request) {}) // health check of the data source
	ended := make(chan error, 2)
	go func() { ended <- server.Serve(listener) }()
	go func() {
		ended <- (&http.Server{Addr: ":16686", Handler: mux, ReadHeaderTimeout: 10 * time.Second}).ListenAndServe()
	}()
	return <-ended
}

// Export implements the collector's protocol.
func (s *store) Export(_ context.Context, req *collectorv1.ExportTraceServiceRequest) (*collectorv1.ExportTraceServiceResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range req.GetResourceSpans() {
		part := attributes(r.GetResource().GetAttributes())["service.name"]
		for _, scope := range r.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				s.keep(part, span)
			}
		}
	}
	return &collectorv1.ExportTraceServiceResponse{}, nil
}

func (s *store) keep(part string, span *tracev1.Span) {
	trace := hex.EncodeToString(span.GetTraceId())
	if _, ok := s.spans[trace]; !ok {
		if s.order = append(s.order, trace); len(s.order) > most {
			delete(s.spans, s.order[0])
			s.order = s.order[1:]
		}
	}
	kept := Span{
		ID: hex.EncodeToString(span.GetSpanId()), Parent: hex.EncodeToString(span.GetParentSpanId()),
		Part: part, Kind: span.GetKind().String(), Name: span.GetName(), Attributes: attributes(span.GetAttributes()),
	}
	for _, link := range span.GetLinks() {
		kept.Links = append(kept.Links, hex.EncodeToString(link.GetTraceId()))
	}
	s.spans[trace] = append(s.spans[trace], kept)
}

func attributes(all []*commonv1.KeyValue) map[string]string {
	texts := map[string]string{}
	for _, a := range all {
		switch v := a.GetValue().GetValue().(type) {
		case *commonv1.AnyValue_StringValue:
			texts[a.GetKey()] = v.StringValue
		case *commonv1.AnyValue_IntValue:
			texts[a.GetKey()] = fmt.Sprint(v.IntValue)
		default:
			texts[a.GetKey()] = a.GetValue().String()
		}
	}
	return texts
}

func (s *store) trace(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	spans := s.spans[r.PathValue("id")]
	s.mu.Unlock()
	answer(w, spans)
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client may have disconnected
}
