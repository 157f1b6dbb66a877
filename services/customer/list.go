package customer

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/page"
)

// The columns by which lists are sorted.
const (
	byCreated = "created_at"
	byUpdated = "updated_at"
)

// filter limits the customers of a list; the zero value matches all.
type filter struct {
	archived *bool
	email    string
	query    []string  // the words and numbers of a search
	since    time.Time // of the last change
	// createdFrom and createdBefore bound the creation.
	createdFrom, createdBefore time.Time
	match                      *match // the result of the search in an index; nil: no search
}

func (f filter) isZero() bool {
	return f.archived == nil && f.email == "" && len(f.query) == 0 && f.match == nil && f.since.IsZero() &&
		f.createdFrom.IsZero() && f.createdBefore.IsZero()
}

// check trims the filter and rejects values that no customer can have and PostgreSQL cannot store.
func (f *filter) check() error {
	f.email = strings.TrimSpace(f.email)
	switch {
	case utf8.RuneCountInString(f.email) > check.MaxEmail:
		return fault.InvalidParameter("email", "max_length", fmt.Sprintf("must be at most %d characters", check.MaxEmail))
	case !utf8.ValidString(f.email) || strings.ContainsFunc(f.email, unicode.IsControl):
		return fault.InvalidParameter("email", "characters", "must not contain control characters")
	}
	return nil
}

// list is one page of a list.
type list struct {
	page.Page
	filter filter
	tier   tier  // of the last customer of the page before; noTier at the start
	most   int64 // limit of the count for the total; 0: none
}

// matchTier returns the tier of the customers in the list.
func (l list) matchTier() tier {
	if l.filter.match == nil {
		return noTier
	}
	return l.filter.match.tier
}

// tierBits is the number of low bits that hold the order in the code of a cursor. The tier is in
// the bits above them.
const tierBits = 4

// token returns the token of the page after a customer of a tier.
func (l list) token(t tier, c Customer) string {
	at := c.CreatedAt
	if l.Order.Column == byUpdated {
		at = c.UpdatedAt
	}
	cursor := page.At(at, c.ID.UUID())
	cursor.Code = byte(t)<<tierBits | l.Order.Code
	return cursor.Token()
}

// tierOf returns the tier in a page token.
func tierOf(token string) (tier, error) {
	if token == "" {
		return noTier, nil
	}
	c, err := page.Decode(token)
	if err != nil {
		return noTier, err
	}
	return min(tier(c.Code>>tierBits), lastTier), nil
}
