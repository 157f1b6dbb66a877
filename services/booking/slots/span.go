package slots

import (
	"cmp"
	"slices"
	"time"
)

// span is a Span in whole seconds since 1970.
type span struct{ from, until int64 }

// seconds rounds a span outward to whole seconds.
func (s Span) seconds() span {
	return span{from: s.From.Unix(), until: s.Until.Add(time.Second - 1).Unix()}
}

// lane has spans in the order of time that neither overlap nor touch. It remembers where the last search
// ended, because starts are tried in the order of time.
type lane struct {
	spans []span
	at    int
}

// newLane sorts and merges spans, which it changes.
func newLane(spans []span) lane {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	merged := spans[:0]
	for _, s := range spans {
		if last := len(merged) - 1; last >= 0 && s.from <= merged[last].until {
			merged[last].until = max(merged[last].until, s.until)
		} else {
			merged = append(merged, s)
		}
	}
	return lane{spans: merged}
}

// laneOf returns the lane of spans of time.
func laneOf(spans []Span) lane {
	all := make([]span, len(spans))
	for i, s := range spans {
		all[i] = s.seconds()
	}
	return newLane(all)
}

// next returns the first span that ends after an instant.
func (l *lane) next(after int64) (span, bool) {
	if l.at > 0 && l.spans[l.at-1].until > after {
		l.at = 0
	}
	for l.at < len(l.spans) && l.spans[l.at].until <= after {
		l.at++
	}
	if l.at == len(l.spans) {
		return span{}, false
	}
	return l.spans[l.at], true
}

// contains reports whether one of the spans contains s.
func (l *lane) contains(s span) bool {
	found, ok := l.next(s.from)
	return ok && found.from <= s.from && s.until <= found.until
}

// overlaps reports whether one of the spans overlaps s.
func (l *lane) overlaps(s span) bool {
	found, ok := l.next(s.from)
	return ok && found.from < s.until
}
