package booking

import (
	"encoding/base64"
	"encoding/binary"
	"strconv"
	"strings"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/services/booking/isotime"
)

// cursor is the key of the last row of a page. It holds the order it was made in,
// so that it cannot be followed in another.
type cursor struct {
	order byte
	at    time.Time // the first sort value where there is one
	id    id.UUID
}

// The orders of all lists, which a cursor names.
const (
	eventsByID byte = iota + 1
	eventsByCreation
	eventsByCreationDesc
	eventsByChange
	eventsByChangeDesc
	registrationsByCreation
	registrationsByCreationDesc
	datesByStart
)

const cursorSize = 1 + 8 + 16

func (c cursor) token() string {
	var raw [cursorSize]byte
	raw[0] = c.order
	if !c.at.IsZero() {
		binary.BigEndian.PutUint64(raw[1:], uint64(c.at.UnixMicro()))
	}
	copy(raw[9:], c.id[:])
	return base64.RawURLEncoding.EncodeToString(raw[:])
}

// paging is which part of a list a request wants.
type paging struct {
	order  byte
	size   int
	offset int64
	after  *cursor // nil: from the start, or from offset
}

// pagingOf reads a part of a list; usual and most are sizes of pages.
func pagingOf(order byte, size int32, token string, offset int64, usual, most int32) (paging, error) {
	if size == 0 {
		size = usual
	}
	p := paging{order: order, size: int(size), offset: offset}
	switch {
	case size < 1 || size > most:
		return p, fault.InvalidParameter("page_size", "range", "must be 1 to 200")
	case offset < 0:
		return p, fault.InvalidParameter("offset", "range", "must be 0 or more")
	case offset > 0 && token != "":
		return p, fault.InvalidParameter("offset", "exclusive", "does not go with page_token")
	case token == "":
		return p, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(raw) != cursorSize {
		return p, fault.InvalidParameter("page_token", "format", "is not a token of an earlier answer")
	}
	if raw[0] != order {
		return p, fault.InvalidParameter("page_token", "order", "was made in another order")
	}
	p.after = &cursor{order: order, at: time.UnixMicro(int64(binary.BigEndian.Uint64(raw[1:]))).UTC(), id: id.UUID(raw[9:])}
	if !isotime.InRange(p.after.at) {
		return p, fault.InvalidParameter("page_token", "format", "is not a token of an earlier answer")
	}
	return p, nil
}

// statement is an SQL statement that grows by conditions.
type statement struct {
	sql  string
	args []any
}

// arg adds an argument and returns its place.
func (s *statement) arg(v any) string {
	s.args = append(s.args, v)
	return "$" + strconv.Itoa(len(s.args))
}

// where adds a condition: %s is the place of v.
func (s *statement) where(condition string, v any) {
	s.sql += " and " + strings.ReplaceAll(condition, "%s", s.arg(v))
}
