package edge

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/negotiate"
)

// An ETag is "<version>-<digest>", with the version of the resource and a digest of the body. The
// version alone does not change with everything that the body shows: an event's spotsTaken changes
// with each booking. The version of a list is 0. The ETag of a compressed body ends with its coding,
// "<version>-<digest>-gzip", because its bytes differ (RFC 9110, section 8.8.3.3).
//
// If-None-Match compares version and digest; If-Match compares the version only, because a change that
// did not raise the version does not conflict with the caller's. Earlier releases sent "<version>".

// versioned is a resource with a version.
type versioned interface{ GetVersion() int64 }

// Tag gives the response the ETag of the resource, which is its body, and returns the resource.
func Tag[R versioned](ctx context.Context, resource R) R {
	if s := exchangeOf(ctx); s != nil {
		s.version = strconv.FormatInt(resource.GetVersion(), 10)
	}
	return resource
}

// TagAs gives the response the ETag of the resource, whose representation another response shows.
func TagAs(ctx context.Context, resource versioned, representation proto.Message) {
	if s := exchangeOf(ctx); s != nil {
		Tag(ctx, resource)
		scratch := scratches.Get().(*[]byte)
		defer recycle(scratch)
		*scratch = AppendJSON((*scratch)[:0], representation)
		s.digest = digestOf(*scratch)
	}
}

// etag returns the ETag of a response, without quotes and coding.
func (s *exchange) etag(body []byte) string {
	version, digest := s.version, s.digest
	if version == "" {
		version = "0"
	}
	if digest == "" {
		digest = digestOf(body)
	}
	return version + "-" + digest
}

// digestOf returns a digest of a body. It is fast but not cryptographic, which is enough because only
// the caller who chooses the content could be misled.
func digestOf(body []byte) string {
	const digits = 16
	hex := strconv.FormatUint(xxhash.Sum64(body), 16)
	return strings.Repeat("0", digits-len(hex)) + hex
}

// quoted returns a tag with its coding and quotes.
func quoted(tag, coding string) string {
	if coding != "" {
		tag += "-" + coding
	}
	return `"` + tag + `"`
}

// matchesTag reports whether If-None-Match has the tag, in any coding.
func matchesTag(h http.Header, tag string) bool {
	if len(h.Values("If-None-Match")) == 0 {
		return false
	}
	if negotiate.Matches(h, quoted(tag, "")) {
		return true
	}
	for _, coding := range codings() {
		if negotiate.Matches(h, quoted(tag, coding)) {
			return true
		}
	}
	return false
}

// ExpectedVersion returns the version in If-Match, or nil if any version matches. From a list it
// returns the highest version, because versions only increase and a lower one cannot be current. A
// weak tag (RFC 9110, section 13.1.1) or a tag without a version never matches. It becomes -1.
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
	version, _, digested := strings.Cut(inner, "-")
	n, err := strconv.ParseInt(version, 10, 64)
	if !opened || !closed || err != nil || (digested && version == "") {
		return -1
	}
	return n
}
