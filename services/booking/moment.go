package booking

import (
	"errors"
	"time"
)

// form is how much an ISO 8601 text says.
type form uint8

const (
	day       form = iota // a calendar date
	localTime             // a date and time of day, in a zone that the text leaves open
	instant               // a date-time with an offset
)

// moment is what an ISO 8601 text says: for an instant wall is that instant,
// otherwise only its fields count.
type moment struct {
	form form
	wall time.Time
}

var errMoment = errors.New("not an ISO 8601 date or date-time")

// parseMoment reads the extended format of ISO 8601, in the part of it that
// RFC 3339 uses, with the seconds and the offset optional:
//
//	2026-03-29   2026-03-29T09:30   2026-03-29T09:30:00.250   2026-03-29T09:30:00+01:00
//
// Years are 0001 to 9999. Fractions beyond the nanosecond are cut off.
func parseMoment(text string) (moment, error) {
	s := scanner{text: text}
	year := s.number(4, 1, 9999)
	s.literal('-')
	month := s.number(2, 1, 12)
	s.literal('-')
	dayOf := s.number(2, 1, 31)
	if s.bad || dayOf > time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day() {
		return moment{}, errMoment
	}
	if s.done() {
		return moment{form: day, wall: time.Date(year, time.Month(month), dayOf, 0, 0, 0, 0, time.UTC)}, nil
	}
	s.literal('T', 't')
	hour := s.number(2, 0, 23)
	s.literal(':')
	minute := s.number(2, 0, 59)
	second, nanosecond := 0, 0
	if s.accept(':') {
		second = s.number(2, 0, 59)
		if s.accept('.') {
			nanosecond = s.fraction()
		}
	}
	m := moment{form: localTime}
	at := time.UTC
	if !s.bad && !s.done() {
		m.form = instant
		at = s.offset()
	}
	if s.bad || !s.done() {
		return moment{}, errMoment
	}
	m.wall = time.Date(year, time.Month(month), dayOf, hour, minute, second, nanosecond, at)
	return m, nil
}

// scanner reads a text from left to right and remembers the first mismatch.
type scanner struct {
	text string
	bad  bool
}

func (s *scanner) done() bool { return s.text == "" }

// accept takes the next character if it is one of those wanted.
func (s *scanner) accept(wanted ...byte) bool {
	if s.bad || s.text == "" {
		return false
	}
	for _, c := range wanted {
		if s.text[0] == c {
			s.text = s.text[1:]
			return true
		}
	}
	return false
}

func (s *scanner) literal(wanted ...byte) {
	if !s.accept(wanted...) {
		s.bad = true
	}
}

// number reads exactly so many digits of a value between low and high.
func (s *scanner) number(digits, low, high int) int {
	if s.bad || len(s.text) < digits {
		s.bad = true
		return low
	}
	value := 0
	for _, c := range []byte(s.text[:digits]) {
		if c < '0' || c > '9' {
			s.bad = true
			return low
		}
		value = 10*value + int(c-'0')
	}
	s.text = s.text[digits:]
	if value < low || value > high {
		s.bad = true
		return low
	}
	return value
}

// fraction reads one digit or more as nanoseconds.
func (s *scanner) fraction() int {
	nanoseconds, unit, digits := 0, 100_000_000, 0
	for ; digits < len(s.text) && s.text[digits] >= '0' && s.text[digits] <= '9'; digits++ {
		nanoseconds += unit * int(s.text[digits]-'0')
		unit /= 10
	}
	s.text = s.text[digits:]
	if digits == 0 {
		s.bad = true
	}
	return nanoseconds
}

// offset reads Z, +01:00, +0100 or +01.
func (s *scanner) offset() *time.Location {
	if s.accept('Z', 'z') {
		return time.UTC
	}
	sign := 1
	if !s.accept('+') {
		s.literal('-')
		sign = -1
	}
	hours := s.number(2, 0, 23)
	minutes := 0
	if !s.done() {
		s.accept(':')
		minutes = s.number(2, 0, 59)
	}
	return time.FixedZone("", sign*(hours*60+minutes)*60)
}
