package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"

	"reservation.dev/platform/config"
	"reservation.dev/platform/telemetry"
)

func logger(t *testing.T, out io.Writer, level, format string) *slog.Logger {
	t.Helper()
	log, err := telemetry.Logger(out, "booking", level, format)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

func TestLogger(t *testing.T) {
	t.Run("writes JSON lines with the service's name", func(t *testing.T) {
		var out bytes.Buffer
		logger(t, &out, "info", "json").Info("hello\n", "n", 1)
		var line map[string]any
		if err := json.Unmarshal(out.Bytes(), &line); err != nil || strings.Count(out.String(), "\n") != 1 {
			t.Fatalf("%v: %s", err, &out)
		}
		if line["msg"] != "hello\n" || line["part"] != "booking" || line["level"] != "INFO" || line["n"] != 1.0 || line["time"] == "" {
			t.Errorf("got %v", line)
		}
	})
	t.Run("writes text", func(t *testing.T) {
		var out bytes.Buffer
		logger(t, &out, "info", "text").Info("hello", "n", 1)
		if !strings.Contains(out.String(), "level=INFO msg=hello part=booking n=1\n") {
			t.Errorf("%s", &out)
		}
	})
	for level, want := range map[string]int{"debug": 4, "info": 3, "warn": 2, "error": 1, "ERROR": 1} {
		t.Run("writes only lines at or above "+level, func(t *testing.T) {
			var out bytes.Buffer
			log := logger(t, &out, level, "text")
			log.Debug("x")
			log.Info("x")
			log.Warn("x")
			log.Error("x")
			if got := strings.Count(out.String(), "\n"); got != want {
				t.Errorf("%d lines, want %d", got, want)
			}
		})
	}
	for _, wrong := range [][2]string{{"loud", "json"}, {"", "json"}, {"info", "xml"}, {"info", ""}} {
		t.Run(fmt.Sprintf("rejects level %q with format %q", wrong[0], wrong[1]), func(t *testing.T) {
			if _, err := telemetry.Logger(io.Discard, "x", wrong[0], wrong[1]); err == nil {
				t.Error("no error")
			}
		})
	}
}

func TestLoggerHidesSecrets(t *testing.T) {
	for _, format := range []string{"json", "text"} {
		t.Run(format, func(t *testing.T) {
			var out bytes.Buffer
			log := logger(t, &out, "info", format)
			for _, name := range []string{"password", "Authorization", "client_secret", "access_token", "api_key", "apiKey", "MASTER_KEY", "token"} {
				log.Info("x", name, "hunter2")
				log.With(name, "hunter2").Info("x")
				log.WithGroup("request").Info("x", slog.Group("header", name, []byte("hunter2")))
				log.Info("x", name, errors.New("hunter2"))
			}
			log.Info("x", "url", config.Secret("hunter2"))
			if strings.Contains(out.String(), "hunter2") || strings.Contains(out.String(), "aHVudGVyMg") {
				t.Errorf("%s", &out)
			}
			out.Reset()
			log.Info("x", "tokens", 3, "secretary", "Zoë")
			if strings.Contains(out.String(), "***") {
				t.Errorf("an attribute that is not a secret was hidden: %s", &out)
			}
		})
	}
}

func TestLoggerNamesTheTrace(t *testing.T) {
	var out bytes.Buffer
	log := logger(t, &out, "info", "json")
	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}})
	ctx := trace.ContextWithSpanContext(t.Context(), span)
	log.InfoContext(ctx, "x")
	log.With("a", 1).InfoContext(ctx, "x")
	log.WithGroup("g").InfoContext(ctx, "x", "a", 1)
	if got := strings.Count(out.String(), span.TraceID().String()); got != 3 || strings.Count(out.String(), span.SpanID().String()) != 3 {
		t.Errorf("%s", &out)
	}
	out.Reset()
	log.InfoContext(t.Context(), "x")
	if strings.Contains(out.String(), "trace_id") {
		t.Errorf("%s", &out)
	}
}

func TestRegistry(t *testing.T) {
	families, err := telemetry.Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range families {
		names = append(names, f.GetName())
	}
	for _, want := range []string{"go_goroutines", "go_build_info", "process_cpu_seconds_total"} {
		if !strings.Contains(" "+strings.Join(names, " ")+" ", " "+want+" ") {
			t.Errorf("no %s among %v", want, names)
		}
	}
}

// collector stores the spans exported to it.
type collector struct {
	mu  sync.Mutex
	got []byte
}

func (c *collector) serve(_ any, s grpc.ServerStream) error {
	var m emptypb.Empty // every field is unknown to it, and is kept
	if err := s.RecvMsg(&m); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.got = append(c.got, m.ProtoReflect().GetUnknown()...)
	return s.SendMsg(&emptypb.Empty{})
}

func TestTracing(t *testing.T) {
	t.Cleanup(func() { otel.SetTracerProvider(noop.NewTracerProvider()) })
	t.Run("is off without an endpoint", func(t *testing.T) {
		flush, err := telemetry.Tracing(t.Context(), "booking", config.Env{}, slog.New(slog.DiscardHandler))
		if err != nil || telemetry.IsTracing() {
			t.Fatalf("tracing: %v, %v", telemetry.IsTracing(), err)
		}
		flush()
	})
	t.Run("rejects an invalid endpoint", func(t *testing.T) {
		for _, endpoint := range []string{"collector:4317", "4317", "http://", "ftp://collector", "http://a b"} {
			if _, err := telemetry.Tracing(t.Context(), "booking", config.Env{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}, slog.New(slog.DiscardHandler)); err == nil || telemetry.IsTracing() {
				t.Errorf("%q was accepted", endpoint)
			}
		}
	})
	t.Run("exports the spans of the service, the last ones at shutdown", func(t *testing.T) {
		c := &collector{}
		srv := grpc.NewServer(grpc.UnknownServiceHandler(c.serve))
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go srv.Serve(ln)
		defer srv.Stop()
		flush, err := telemetry.Tracing(t.Context(), "booking", config.Env{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://" + ln.Addr().String()}, slog.New(slog.DiscardHandler))
		if err != nil || !telemetry.IsTracing() {
			t.Fatalf("tracing: %v, %v", telemetry.IsTracing(), err)
		}
		_, span := otel.Tracer("test").Start(t.Context(), "make a booking")
		span.End()
		flush()
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, want := range []string{"make a booking", "service.name", "booking", "reservation"} {
			if !bytes.Contains(c.got, []byte(want)) {
				t.Errorf("no %q was sent: %q", want, c.got)
			}
		}
	})
	t.Run("propagates the trace context but no baggage", func(t *testing.T) {
		if got := otel.GetTextMapPropagator().Fields(); strings.Join(got, " ") != "traceparent tracestate" {
			t.Errorf("got %v", got)
		}
	})
	t.Run("logs that spans could not be exported when the collector is unavailable, and shuts down", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var log bytes.Buffer
		flush, err := telemetry.Tracing(ctx, "booking", config.Env{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, slog.New(slog.NewJSONHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		_, span := otel.Tracer("test").Start(ctx, "x")
		span.End()
		cancel()
		flush()
		if !strings.Contains(log.String(), `"msg":"spans could not be exported"`) {
			t.Errorf("the log has %q", &log)
		}
	})
}
