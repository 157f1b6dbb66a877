package customer

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// order is how a list is sorted. Customers that compare equal are sorted by id.
type order struct {
	code byte   // of the order in a cursor
	by   string // the column before the id; "": none
	desc bool
}

// at is the instant by which a customer is sorted.
func (o order) at(c Customer) time.Time {
	if o.by == byUpdated {
		return c.UpdatedAt
	}
	return c.CreatedAt
}

const (
	byCreated = "created_at"
	byUpdated = "updated_at"
)

// filter is what the customers of a list have in common; zero: nothing.
type filter struct {
	archived *bool
	email    string
	query    []string  // the words and numbers of a search
	since    time.Time // of the last change
	match    *match    // what a search has looked up; nil: there is none
}

func (f filter) isZero() bool {
	return f.archived == nil && f.email == "" && len(f.query) == 0 && f.match == nil && f.since.IsZero()
}

// check trims the filter and refuses what no customer can have and PostgreSQL
// would not take.
func (f *filter) check() error {
	f.email = strings.TrimSpace(f.email)
	switch {
	case utf8.RuneCountInString(f.email) > maxEmail:
		return fault.InvalidParameter("email", "max_length", fmt.Sprintf("must be at most %d characters", maxEmail))
	case !utf8.ValidString(f.email) || strings.ContainsFunc(f.email, unicode.IsControl):
		return fault.InvalidParameter("email", "characters", "must not contain control characters")
	}
	return nil
}

// list is one page of a list.
type list struct {
	order  order
	filter filter
	after  cursor
	offset int64
	size   int
	most   int64 // to which a total is counted; 0: to the end
}

// tier returns the tier of the customers in the list.
func (l list) tier() tier {
	if l.filter.match == nil {
		return noTier
	}
	return l.filter.match.tier
}

// cursor is where a page ends: the list goes on behind it. It is a place in the
// order, not a customer, so that it stays good when the customer goes.
type cursor struct {
	tier tier
	at   time.Time
	id   id.UUID
}

// cursorLen is that of a tier and an order, microseconds since 1970 and an identifier.
const cursorLen = 1 + 8 + 16

// tierBits is the number of low bits that hold the code of an order in the first byte
// of a cursor. The tier is in the bits above them.
const tierBits = 4

// token writes the cursor behind a customer of a tier.
func (o order) token(t tier, c Customer) string {
	raw := append(make([]byte, 0, cursorLen), byte(t)<<tierBits|o.code)
	raw = binary.BigEndian.AppendUint64(raw, uint64(o.at(c).UnixMicro()))
	customer := c.ID.UUID()
	return base64.RawURLEncoding.EncodeToString(append(raw, customer[:]...))
}

// start is the cursor before all customers. A list has it for want of another:
// a bound in every statement leads the planner to the index of the order, also
// before the table has statistics.
func (o order) start() cursor {
	if !o.desc {
		return cursor{}
	}
	c := cursor{at: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)}
	for i := range c.id {
		c.id[i] = 0xff
	}
	return c
}

// cursor reads a token, which another order does not take.
func (o order) cursor(token string) (cursor, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(raw) != cursorLen {
		return cursor{}, fault.InvalidParameter("page_token", "format", "is not one that a list returned")
	}
	t := tier(raw[0] >> tierBits)
	if raw[0]&(1<<tierBits-1) != o.code || t > oneTypo {
		return cursor{}, fault.InvalidParameter("page_token", "order", "is of a list in another order")
	}
	c := cursor{tier: t, at: time.UnixMicro(int64(binary.BigEndian.Uint64(raw[1:9]))), id: id.UUID(raw[9:])}
	if year := c.at.UTC().Year(); year < 1 || year > 9999 {
		return c, fault.InvalidParameter("page_token", "format", "is not one that a list returned")
	}
	return c, nil
}
