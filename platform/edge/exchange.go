package edge

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/token"
)

// exchange is the state of one request and its response.
type exchange struct {
	requestID string
	route     *Route
	claims    *token.Claims
	request   http.Header
	response  http.Header
	// fault is the error of reading the body.
	fault *fault.Error
	// created makes the status of a success 201.
	created bool
	// failed is the fault in the response, or nil.
	failed *fault.Error
	span   trace.Span
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	s, _ := ctx.Value(exchangeKey{}).(*exchange)
	return s
}

// Claims returns the claims of the caller's token, or nil on a public route.
func Claims(ctx context.Context) *token.Claims {
	if s := exchangeOf(ctx); s != nil {
		return s.claims
	}
	return nil
}

// versioned is a resource with a version.
type versioned interface{ GetVersion() int64 }

// Tag sets the ETag of the response to the resource's version, and returns the resource.
func Tag[R versioned](ctx context.Context, resource R) R {
	if s := exchangeOf(ctx); s != nil {
		s.response.Set("ETag", `"`+strconv.FormatInt(resource.GetVersion(), 10)+`"`)
	}
	return resource
}

// Created makes the response a 201 with the Location of the created resource.
func Created(ctx context.Context, location string) {
	if s := exchangeOf(ctx); s != nil {
		s.created = true
		s.response.Set("Location", location)
	}
}

// ExpectedVersion returns the version in If-Match, or nil if any version matches. From a list it
// returns the highest version, because versions only increase and a lower one cannot be current. A
// weak tag (RFC 9110, section 13.1.1) or a tag that is not a version never matches. It becomes -1.
func ExpectedVersion(ctx context.Context) *int64 {
	s := exchangeOf(ctx)
	if s == nil {
		return nil
	}
	tags := strings.TrimSpace(strings.Join(s.request.Values("If-Match"), ","))
	if tags == "" || tags == "*" {
		return nil
	}
	version := int64(-1)
	// If a tag contains a comma, none of its pieces is a version.
	for tag := range strings.SplitSeq(tags, ",") {
		version = max(version, versionOf(strings.TrimSpace(tag)))
	}
	return &version
}

// versionOf returns the version of a strong tag, or -1.
func versionOf(tag string) int64 {
	inner, opened := strings.CutPrefix(tag, `"`)
	inner, closed := strings.CutSuffix(inner, `"`)
	if n, err := strconv.ParseInt(inner, 10, 64); opened && closed && err == nil {
		return n
	}
	return -1
}
