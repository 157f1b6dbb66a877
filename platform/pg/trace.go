package pg

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"reservation.dev/platform/telemetry"
)

// tracer creates a span for each round trip of a traced request. It creates none for jobs,
// because their spans would not belong to the trace of any request.
type tracer struct{ database string }

var (
	_ pgx.QueryTracer    = tracer{}
	_ pgx.BatchTracer    = tracer{}
	_ pgx.CopyFromTracer = tracer{}
)

// longestText is the maximum length of a span's statements in bytes.
const longestText = 2000

func (t tracer) start(ctx context.Context, summary, text string, more ...attribute.KeyValue) context.Context {
	if !telemetry.IsRecording(ctx) {
		return ctx
	}
	operation, _, _ := strings.Cut(summary, " ")
	attributes := append([]attribute.KeyValue{
		attribute.String("db.system.name", "postgresql"), attribute.String("db.namespace", t.database),
		attribute.String("db.operation.name", operation), attribute.String("db.query.summary", summary),
		attribute.String("db.query.text", text[:min(len(text), longestText)]),
	}, more...)
	ctx, span := telemetry.Start(ctx, summary, trace.SpanKindClient, attributes...)
	return context.WithValue(ctx, spanKey{}, span)
}

// framing are the statements of a round trip that do not name its span.
var framing = []string{beginSQL, scopeSQL, enterSQL, readSQL, enterRead, streamSQL, enterStream, commitSQL}

// isFraming reports whether a statement is one of framing.
func isFraming(sql string) bool {
	for _, prefix := range []string{ofEvents, ofLookup} {
		if rest, ok := strings.CutPrefix(sql, prefix); ok {
			sql = "select " + rest
		}
	}
	return slices.Contains(framing, sql)
}

// spanKey is the context key of a round trip's span, because the context's current span can
// be another one.
type spanKey struct{}

func end(ctx context.Context, err error) {
	span, ok := ctx.Value(spanKey{}).(trace.Span)
	if !ok {
		return
	}
	if err != nil {
		class := "client"
		var pe *pgconn.PgError
		if errors.As(err, &pe) {
			class = pe.Code
			span.SetAttributes(attribute.String("db.response.status_code", pe.Code))
		}
		telemetry.Fail(span, class)
	}
	span.End()
}

// TraceQueryStart implements pgx.QueryTracer.
func (t tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	if !telemetry.IsRecording(ctx) {
		return ctx
	}
	return t.start(ctx, summarize(q.SQL), q.SQL)
}

// TraceQueryEnd implements pgx.QueryTracer.
func (t tracer) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryEndData) {
	end(ctx, q.Err)
}

// TraceBatchStart implements pgx.BatchTracer.
func (t tracer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, b pgx.TraceBatchStartData) context.Context {
	if !telemetry.IsRecording(ctx) || b.Batch == nil {
		return ctx
	}
	texts := make([]string, 0, len(b.Batch.QueuedQueries))
	summary := ""
	for _, q := range b.Batch.QueuedQueries {
		texts = append(texts, q.SQL)
		if !isFraming(q.SQL) && summary == "" {
			summary = summarize(q.SQL)
		}
	}
	if summary == "" {
		summary = summarize(texts[len(texts)-1])
	}
	return t.start(ctx, "BATCH "+summary, strings.Join(texts, ";\n"), attribute.Int("db.operation.batch.size", len(texts)))
}

// TraceBatchQuery implements pgx.BatchTracer.
func (t tracer) TraceBatchQuery(ctx context.Context, _ *pgx.Conn, q pgx.TraceBatchQueryData) {
	if span, ok := ctx.Value(spanKey{}).(trace.Span); ok && q.Err != nil {
		var pe *pgconn.PgError
		if errors.As(q.Err, &pe) {
			telemetry.Fail(span, pe.Code)
		}
	}
}

// TraceBatchEnd implements pgx.BatchTracer.
func (t tracer) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, b pgx.TraceBatchEndData) {
	end(ctx, b.Err)
}

// TraceCopyFromStart implements pgx.CopyFromTracer.
func (t tracer) TraceCopyFromStart(ctx context.Context, _ *pgx.Conn, c pgx.TraceCopyFromStartData) context.Context {
	if !telemetry.IsRecording(ctx) {
		return ctx
	}
	table := strings.Join(c.TableName, ".")
	return t.start(ctx, "COPY "+table, "copy "+table)
}

// TraceCopyFromEnd implements pgx.CopyFromTracer.
func (t tracer) TraceCopyFromEnd(ctx context.Context, _ *pgx.Conn, c pgx.TraceCopyFromEndData) {
	end(ctx, c.Err)
}

var (
	operationWord = regexp.MustCompile(`(?i)^\s*(?:with\b.*?\b(insert|update|delete|select)\b|([a-z]+))`)
	tableWord     = regexp.MustCompile(`(?i)\b(?:from|into|update)\s+(?:only\s+)?([a-z_][a-z0-9_]*)`)
)

// summarize returns a statement's operation and the first table that it names. Statements
// are constants, so there are few different summaries.
func summarize(sql string) string {
	line := strings.Join(strings.Fields(sql[:min(len(sql), longestText)]), " ")
	operation := "SQL"
	if m := operationWord.FindStringSubmatch(line); m != nil {
		operation = strings.ToUpper(m[1] + m[2])
	}
	switch operation {
	case "BEGIN", "COMMIT", "ROLLBACK", "SET", "SAVEPOINT", "RELEASE":
		return operation
	}
	for _, m := range tableWord.FindAllStringSubmatch(line, -1) {
		if table := strings.ToLower(m[1]); table != "unnest" && table != "now" {
			return operation + " " + table
		}
	}
	return operation
}
