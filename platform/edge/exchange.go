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

// exchange is what one request carries through the edge.
type exchange struct {
	requestID string
	route     *Route
	claims    *token.Claims
	request   http.Header
	response  http.Header
	// fault is what reading the body found.
	fault *fault.Error
	// created says that the answer is 201.
	created bool
	// failed is what the request was answered with, if it was a fault.
	failed *fault.Error
	span   trace.Span
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	s, _ := ctx.Value(exchangeKey{}).(*exchange)
	return s
}

// Claims returns who calls; nil on a public route.
func Claims(ctx context.Context) *token.Claims {
	if s := exchangeOf(ctx); s != nil {
		return s.claims
	}
	return nil
}

// versioned is a resource of a service.
type versioned interface{ GetVersion() int64 }

// Tag gives the response the entity tag of a resource's version, and returns the resource.
func Tag[R versioned](ctx context.Context, resource R) R {
	if s := exchangeOf(ctx); s != nil {
		s.response.Set("ETag", `"`+strconv.FormatInt(resource.GetVersion(), 10)+`"`)
	}
	return resource
}

// Created makes the answer 201 with the address of the created resource.
func Created(ctx context.Context, location string) {
	if s := exchangeOf(ctx); s != nil {
		s.created = true
		s.response.Set("Location", location)
	}
}

// ExpectedVersion returns the version that If-Match asks for; nil: any. Of a
// list it is the highest: versions rise, so of those that a caller can have seen
// no other one can be the present. A tag that no version is written as becomes
// one that never matches, and so does a weak one (RFC 9110, 13.1.1).
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
	// A tag with a comma in it falls apart into pieces that are no versions.
	for tag := range strings.SplitSeq(tags, ",") {
		version = max(version, versionOf(strings.TrimSpace(tag)))
	}
	return &version
}

// versionOf returns the version that is written as tag, or -1.
func versionOf(tag string) int64 {
	inner, opened := strings.CutPrefix(tag, `"`)
	inner, closed := strings.CutSuffix(inner, `"`)
	if n, err := strconv.ParseInt(inner, 10, 64); opened && closed && err == nil {
		return n
	}
	return -1
}
