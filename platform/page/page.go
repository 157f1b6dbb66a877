// Package page implements the pages of lists: it reads the requested page from a list request, adds
// the page to the list's SQL statement, and creates the token of the next page.
//
// A list is sorted by one column and then by identifier, so the order of its rows is unambiguous. A
// page begins after the last row of the previous page, even if rows were added or deleted in between.
// The statement reads one row more than the page holds. If that row exists, there is a next page.
package page

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// Request is the page in a list request. Zero values mean the defaults.
type Request struct {
	Size   int32
	Token  string // the token that the previous page returned
	Offset int64  // how many rows to skip; cannot be combined with Token
}

// request is implemented by generated list requests.
type request interface {
	GetPageSize() int32
	GetPageToken() string
}

// Of returns the page in a generated list request.
func Of(req request) Request {
	r := Request{Size: req.GetPageSize(), Token: req.GetPageToken()}
	if o, ok := req.(interface{ GetOffset() int64 }); ok {
		r.Offset = o.GetOffset()
	}
	return r
}

// Sizes are the page sizes of a list.
type Sizes struct{ Default, Max int }

// Order is an order in which a list can be read.
type Order struct {
	// Code names the order in tokens. A service uses each code for one order.
	Code byte
	// Column is the timestamptz column before the identifier; "" for lists that are
	// sorted by identifier alone.
	Column string
	// ID is the column of the identifier; "" means "id".
	ID   string
	Desc bool
	// Within is the owner of the list if there are several lists with this order, for example the
	// endpoint of a list of deliveries. Tokens are valid only for the list of the same owner. Zero
	// means that there is only one list.
	Within id.UUID
}

// Page is a page of a list to read.
type Page struct {
	Order  Order
	Size   int
	Offset int64
	After  *Cursor // the page begins after this row; nil means at the start of the list
}

// Cursor is the position of a row in an order. It stays valid after the row is deleted.
type Cursor struct {
	Code   byte
	Key    int64 // the time in Column, in microseconds since 1970
	ID     id.UUID
	Within id.UUID
}

// At returns the cursor of a row. at is the time in the order's column.
func At(at time.Time, row id.UUID) Cursor { return Cursor{Key: at.UnixMicro(), ID: row} }

// Time returns the key of the cursor as a time.
func (c Cursor) Time() time.Time { return time.UnixMicro(c.Key).UTC() }

// Read checks the page in a request and returns it. Faults are INVALID_PARAMETER and name page_size,
// page_token or offset.
func Read(r Request, o Order, s Sizes) (Page, error) {
	p := Page{Order: o, Size: int(r.Size), Offset: r.Offset}
	if p.Size == 0 {
		p.Size = s.Default
	}
	switch {
	case p.Size < 1 || p.Size > s.Max:
		return p, fault.InvalidParameter("page_size", "range", fmt.Sprintf("must be 1 to %d", s.Max))
	case p.Offset < 0:
		return p, fault.InvalidParameter("offset", "range", "must be 0 or more")
	case p.Offset > 0 && r.Token != "":
		return p, fault.InvalidParameter("offset", "exclusive", "cannot be used together with page_token")
	case r.Token == "":
		return p, nil
	}
	c, err := Decode(r.Token)
	if err != nil {
		return p, err
	}
	if c.Code != o.Code || c.Within != o.Within {
		return p, wrongList()
	}
	p.After = &c
	return p, nil
}

// The lengths of a decoded token, in bytes: a code, a key and an identifier, and in boundTokenLen the
// owner of the list.
const (
	tokenLen       = 1 + 8 + 16
	boundTokenLen  = tokenLen + 16
	earliestMicros = -62_135_596_800_000_000 // the start of year 1
	latestMicros   = 253_402_300_800_000_000 // the end of year 9999
)

// Token returns the page token of a cursor.
func (c Cursor) Token() string {
	raw := append(make([]byte, 0, boundTokenLen), c.Code)
	raw = binary.BigEndian.AppendUint64(raw, uint64(c.Key))
	raw = append(raw, c.ID[:]...)
	if !c.Within.IsZero() {
		raw = append(raw, c.Within[:]...)
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

// Decode reads a page token. Lists with an Order use Read, which also checks that the token has the
// same order.
func Decode(token string) (Cursor, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(raw) != tokenLen && len(raw) != boundTokenLen {
		return Cursor{}, malformed()
	}
	c := Cursor{Code: raw[0], Key: int64(binary.BigEndian.Uint64(raw[1:])), ID: id.UUID(raw[9:tokenLen])}
	if len(raw) == boundTokenLen {
		c.Within = id.UUID(raw[tokenLen:])
	}
	if c.Key < earliestMicros || c.Key >= latestMicros { // outside of the times that PostgreSQL can store
		return Cursor{}, malformed()
	}
	return c, nil
}

func malformed() error {
	return fault.InvalidParameter("page_token", "format", "is not valid; use the value that the previous page returned")
}

func wrongList() error {
	return fault.InvalidParameter("page_token", "order", "belongs to another list or order; start again from the first page")
}

// Cut returns the rows of the page and the token of the next page, or "" if there is none. rows are
// the rows that the statement returned, and cursor returns the cursor of a row.
func Cut[T any](p Page, rows []T, cursor func(*T) Cursor) (page []T, next string) {
	if len(rows) <= p.Size {
		return rows, ""
	}
	last := cursor(&rows[p.Size-1])
	last.Code, last.Within = p.Order.Code, p.Order.Within
	return rows[:p.Size], last.Token()
}

// Start returns the cursor before the first row. If a list always begins after a cursor, the planner
// uses the index of the order even before the table has statistics.
func (o Order) Start() Cursor {
	c := Cursor{Code: o.Code, Key: earliestMicros, Within: o.Within}
	if o.Desc {
		c.Key = latestMicros - 1
		for i := range c.ID {
			c.ID[i] = 0xff
		}
	}
	return c
}

// Add adds the page to a statement that ends with a where clause: the condition of the cursor, the
// order, the offset, and a limit of one row more than the page holds.
func (p Page) Add(s *pg.Statement) {
	o := p.Order
	if o.ID == "" {
		o.ID = "id"
	}
	direction, beyond := "", " > "
	if o.Desc {
		direction, beyond = " desc", " < "
	}
	p.addCursor(s, o, beyond)
	s.SQL += " order by "
	if o.Column != "" {
		s.SQL += o.Column + direction + ", "
	}
	s.SQL += o.ID + direction + " limit " + s.Arg(p.Size+1)
	if p.Offset > 0 {
		s.SQL += " offset " + s.Arg(p.Offset)
	}
}

func (p Page) addCursor(s *pg.Statement, o Order, beyond string) {
	if p.After == nil {
		return
	}
	// Convert it to bytes, because pgx would send the zero identifier as null.
	row := [16]byte(p.After.ID)
	if o.Column == "" {
		s.And(o.ID+beyond+"%s", row)
		return
	}
	s.And("("+o.Column+", "+o.ID+")"+beyond+"(%s, %s)", p.After.Time(), row)
}
