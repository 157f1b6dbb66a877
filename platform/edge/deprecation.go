package edge

import (
	"net/http"
	"strconv"
)

// announce adds the headers of a deprecated operation, to errors too: Deprecation (RFC 9745) and
// Sunset (RFC 8594).
func (r *Route) announce(h http.Header) {
	if !r.Deprecated.IsZero() {
		h.Set("Deprecation", "@"+strconv.FormatInt(r.Deprecated.Unix(), 10))
	}
	if !r.Sunset.IsZero() {
		h.Set("Sunset", r.Sunset.UTC().Format(http.TimeFormat))
	}
}
