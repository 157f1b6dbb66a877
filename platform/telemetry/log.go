// Package telemetry sets up the logs, traces and metrics of a process. Without settings,
// it logs JSON and does not trace.
package telemetry

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"go.opentelemetry.io/otel/trace"
)

// Logger returns the logger of a service; part is the service's name. Level is debug, info,
// warn or error; format is json or text. Values of attributes with names of secrets, such as
// "password", are replaced by ***. Lines written within a trace have its trace_id and span_id.
func Logger(w io.Writer, part, level, format string) (*slog.Logger, error) {
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("log level %q is not debug, info, warn or error", level)
	}
	opts := &slog.HandlerOptions{Level: least, ReplaceAttr: hide}
	var h slog.Handler
	switch format {
	case "json":
		h = slog.NewJSONHandler(w, opts)
	case "text":
		h = slog.NewTextHandler(w, opts)
	default:
		return nil, fmt.Errorf("log format %q is not json or text", format)
	}
	return slog.New(traceHandler{h}).With("part", part), nil
}

// secretNames are the endings of attribute names whose values are hidden. Secrets should be
// of type config.Secret, which hides itself; this catches those that are not.
var secretNames = [...]string{"authorization", "password", "secret", "token", "api_key", "apikey", "master_key"}

func hide(_ []string, a slog.Attr) slog.Attr {
	name := strings.ToLower(a.Key)
	for _, s := range secretNames {
		if strings.HasSuffix(name, s) {
			return slog.String(a.Key, "***")
		}
	}
	return a
}

// traceHandler adds trace_id and span_id to lines written within a trace.
type traceHandler struct{ slog.Handler }

func (h traceHandler) Handle(ctx context.Context, r slog.Record) error {
	if sc := trace.SpanContextFromContext(ctx); sc.IsValid() {
		r.AddAttrs(slog.String("trace_id", sc.TraceID().String()), slog.String("span_id", sc.SpanID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

func (h traceHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return traceHandler{h.Handler.WithAttrs(attrs)}
}
func (h traceHandler) WithGroup(name string) slog.Handler {
	return traceHandler{h.Handler.WithGroup(name)}
}
