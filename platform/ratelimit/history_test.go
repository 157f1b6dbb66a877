package ratelimit

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// at returns an instant in milliseconds. The window of these tests is a minute, so a grain
// is half a second.
func at(ms int) time.Duration { return time.Duration(ms) * time.Millisecond }

func TestHistory(t *testing.T) {
	h := &history{}
	for _, ms := range []int{0, 100, 499, 500, 30_000} {
		h.add(at(ms), 1, Window)
	}
	h.add(at(29_000), 5, Window) // news of another process
	for _, tt := range []struct {
		now                   int
		count, oldest, atMost int
	}{
		{30_000, 10, 0, 10},
		{59_999, 10, 0, 10},
		{60_000, 7, 500, 10},
		{60_499, 7, 500, 10},
		{60_500, 6, 29_000, 7},
		{89_000, 1, 30_000, 6},
		{89_999, 1, 30_000, 1},
		{90_000, 0, 90_000, 1},
		{90_500, 0, 90_500, 0},
	} {
		t.Run(fmt.Sprintf("at %d ms", tt.now), func(t *testing.T) {
			h.forget(at(tt.now), Window)
			count, oldest := h.within(at(tt.now), Window)
			atMost, _ := h.atMost(at(tt.now), Window)
			if count != tt.count || oldest != at(tt.oldest) || atMost != tt.atMost {
				t.Errorf("got %d since %v, at most %d", count, oldest, atMost)
			}
		})
	}
	if !h.idle(at(90_500), Window) {
		t.Error("the history counts expired requests")
	}
}

func TestHistoryIsBounded(t *testing.T) { // invariant 6
	h := &history{}
	for ms := range 300_000 {
		h.forget(at(ms), Window)
		h.add(at(ms), 1, Window)
	}
	if count, _ := h.within(at(299_999), Window); count < 59_000 || count > 60_000 || len(h.grains) > grains+2 {
		t.Errorf("%d requests in %d grains", count, len(h.grains))
	}
}

func TestHistories(t *testing.T) { // invariant 6
	s := newHistories(3, Window)
	for i, key := range []string{"a", "b", "c", "a", "d", "e"} {
		s.get(key, at(i)).add(at(i), 1, Window)
	}
	for key, want := range map[string]bool{"a": true, "b": false, "c": false, "d": true, "e": true} {
		if _, ok := s.entries[key]; ok != want {
			t.Errorf("%s is remembered: %v", key, ok)
		}
	}
	if s.recent.Len() != 3 {
		t.Errorf("%d keys are remembered", s.recent.Len())
	}
	s.get("e", at(40_000)).add(at(40_000), 1, Window)
	s.sweep(at(61_000))
	if _, ok := s.entries["e"]; !ok || len(s.entries) != 1 || s.recent.Len() != 1 {
		t.Errorf("got %v", s.entries)
	}
}

func TestSubjectToken(t *testing.T) {
	seen := map[string]string{}
	for _, key := range []string{
		"key_01jb4x9m3vf6ksn8w2d7pq5r0t", "m2m_x-Y", "", "a.b", "a b", "*", ">", "a\n", "ключ", "\xff", "~", strings.Repeat("k", 64), strings.Repeat("k", 65),
		strings.Repeat("k", 10_000),
	} {
		got := subjectToken(key)
		if strings.ContainsAny(got, ". *>\t\r\n\x00") || got == "" || len(got) > longestToken+1 {
			t.Errorf("%.20q: got %q", key, got)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("%.20q and %.20q are one", key, other)
		}
		seen[got] = key
	}
	if subjectToken("key_01jb4x9m3vf6ksn8w2d7pq5r0t") != "key_01jb4x9m3vf6ksn8w2d7pq5r0t" {
		t.Error("an identifier is changed")
	}
}

func TestRead(t *testing.T) {
	for data, want := range map[string]answer{
		`{"stream":"S","seq":12}`: stored,
		`{"error":{"code":503,"err_code":10077,"description":"maximum messages per subject exceeded"},"stream":"S","seq":0}`: refused,
		`{"error":{"code":503,"err_code":10077,"description":"maximum bytes exceeded"},"stream":"S","seq":0}`:                noAnswer,
		`{"error":{"code":503,"err_code":10023,"description":"insufficient resources"}}`:                                     noAnswer,
		`{}`: noAnswer, ``: noAnswer, `null`: noAnswer, `[`: noAnswer,
	} {
		got, err := parseAck([]byte(data))
		if got != want || (err == nil) != (want != noAnswer) {
			t.Errorf("%s: got %v, %v", data, got, err)
		}
	}
}

func TestParseCount(t *testing.T) {
	for line, want := range map[string]bool{
		"key_x 1 0": true, "key_x 1000000 250": true, "": false, "key_x": false, "key_x 1": false, "key_x 0 0": false, "key_x -1 0": false,
		"key_x 1 -1": false, "key_x 1 0 0": false, "key_x x 0": false, "key_x 1000001 0": false, "key_x 1 99999999999999999999": false,
		strings.Repeat("k", 100) + " 1 1": false,
	} {
		if _, _, _, ok := parseCount([]byte(line)); ok != want {
			t.Errorf("%q: got %v", line, ok)
		}
	}
}
