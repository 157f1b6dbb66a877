// Package page reads which page of a list a request wants, adds it to the SQL statement
// of the list, and writes the token of the next page.
//
// A list is sorted by one column and then by identifier, so that rows have one order
// and a page begins behind the last row of the previous page, even if rows were added or
// deleted in between. The statement reads one row more than the page holds. If that row
// exists, there is a next page.
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

// Request is the page that a list request asks for; zero values are defaults.
type Request struct {
	Size   int32
	Token  string // of the page before
	Offset int64  // how many rows to skip; not together with Token
}

// request is the page of a generated list request.
type request interface {
	GetPageSize() int32
	GetPageToken() string
}

// Of returns the page that a generated list request asks for.
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
	// ID is the column of the identifier; "" is "id".
	ID   string
	Desc bool
	// Within binds tokens to a list of which there are several, as to one endpoint's
	// deliveries; zero binds them to no list.
	Within id.UUID
}

// Page is the page of a list that a request asks for.
type Page struct {
	Order  Order
	Size   int
	Offset int64
	After  *Cursor // the page begins behind this row; nil at the start of the list
}

// Cursor is the place of a row in an order. It stays valid when the row goes.
type Cursor struct {
	Code   byte
	Key    int64 // the time in Column, in microseconds since 1970
	ID     id.UUID
	Within id.UUID
}

// At returns the cursor of a row by the time in its order's column.
func At(at time.Time, row id.UUID) Cursor { return Cursor{Key: at.UnixMicro(), ID: row} }

// Time returns the key of the cursor as a time.
func (c Cursor) Time() time.Time { return time.UnixMicro(c.Key).UTC() }

// Read reads the page that a request asks for. Faults name the parameters page_size,
// page_token and offset.
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

// The lengths of a decoded token: a code, a key and an identifier, and the list
// that it is bound to.
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

// Decode reads a page token. Lists with orders use Read, which compares the order.
func Decode(token string) (Cursor, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(raw) != tokenLen && len(raw) != boundTokenLen {
		return Cursor{}, malformed()
	}
	c := Cursor{Code: raw[0], Key: int64(binary.BigEndian.Uint64(raw[1:])), ID: id.UUID(raw[9:tokenLen])}
	if len(raw) == boundTokenLen {
		c.Within = id.UUID(raw[tokenLen:])
	}
	if c.Key < earliestMicros || c.Key >= latestMicros { // PostgreSQL has no such time
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

// Cut returns the rows of the page, and the token of the next page; "" if there is
// none. rows are those of the statement, and cursor returns the place of a row.
func Cut[T any](p Page, rows []T, cursor func(*T) Cursor) (page []T, next string) {
	if len(rows) <= p.Size {
		return rows, ""
	}
	last := cursor(&rows[p.Size-1])
	last.Code, last.Within = p.Order.Code, p.Order.Within
	return rows[:p.Size], last.Token()
}

// Start returns the place before the first row. A list that always begins behind a
// cursor leads the planner to the index of its order, also before the table has
// statistics.
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

// Add adds the page to a statement that ends with a where-clause: what is behind the
// cursor, in order, one row more than the page holds.
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
	// As bytes, because the zero identifier would be sent as null.
	row := [16]byte(p.After.ID)
	if o.Column == "" {
		s.And(o.ID+beyond+"%s", row)
		return
	}
	s.And("("+o.Column+", "+o.ID+")"+beyond+"(%s, %s)", p.After.Time(), row)
}
