// Package negotiate reads the request headers by which HTTP clients choose the coding of a response,
// and say which version of it they already have.
package negotiate

import (
	"net/http"
	"strconv"
	"strings"
)

// Coding returns the one of the offered content codings that Accept-Encoding prefers, or "" if it
// names none of them. Among equal weights it returns the coding that is offered first. It ignores
// "*", because a client that sends only that may not be able to decode anything.
func Coding(h http.Header, offered ...string) string {
	best, weight := "", 0.0
	for _, coding := range offered {
		if q := weightOf(h, coding); q > weight {
			best, weight = coding, q
		}
	}
	return best
}

// weightOf returns the weight of a coding in Accept-Encoding; 0 means that it is not accepted.
func weightOf(h http.Header, coding string) float64 {
	for _, header := range h.Values("Accept-Encoding") {
		for item := range strings.SplitSeq(header, ",") {
			name, parameter, weighted := strings.Cut(item, ";")
			if !strings.EqualFold(strings.TrimSpace(name), coding) {
				continue
			}
			if !weighted {
				return 1
			}
			q, err := strconv.ParseFloat(strings.TrimPrefix(strings.ToLower(strings.TrimSpace(parameter)), "q="), 64)
			if err != nil || q < 0 || q > 1 { // also when q is not a number
				return 0
			}
			return q
		}
	}
	return 0
}

// Matches reports whether If-None-Match lists the ETag. The comparison is weak, as RFC 9110
// requires, because a proxy can weaken the ETag.
func Matches(h http.Header, etag string) bool {
	for _, header := range h.Values("If-None-Match") {
		for candidate := range strings.SplitSeq(header, ",") {
			candidate = strings.TrimSpace(candidate)
			if candidate == "*" || strings.TrimPrefix(candidate, "W/") == etag {
				return true
			}
		}
	}
	return false
}
