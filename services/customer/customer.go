package customer

import (
	"fmt"
	"net/mail"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// Customer is a person who books.
type Customer struct {
	ID        id.Customer `db:"id"`
	Reference *string     `db:"reference"`
	FirstName string      `db:"first_name"`
	LastName  string      `db:"last_name"`
	Email     string      `db:"email"`
	Mobile    string      `db:"mobile"`
	Archived  bool        `db:"archived"`
	Version   int64       `db:"version"`
	CreatedAt time.Time   `db:"created_at"`
	UpdatedAt time.Time   `db:"updated_at"`
	DeletedAt *time.Time  `db:"deleted_at"`
}

// Change is what an update sets; what it does not have stays.
type Change struct {
	Fields   map[string]string // by name
	Archived *bool
}

// checks collects the faults of a request, in the order in which they are found.
type checks struct{ fault.Checks }

func (c *checks) add(field, rule, phrase string) { c.Add(field, rule, phrase) }

// err is a VALIDATION_ERROR with all faults, or nil.
func (c *checks) err() error { return c.Err() }

// text trims a line of text and checks it.
func (c *checks) text(field, s string, least, most int) string {
	s = strings.TrimSpace(s)
	n := utf8.RuneCountInString(s)
	switch {
	case n == 0 && least > 0:
		c.add(field, "required", "is required")
	case n > most:
		c.add(field, "max_length", fmt.Sprintf("must be at most %d characters", most))
	case !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl):
		c.add(field, "characters", "must not contain control characters")
	}
	return s
}

// email trims an address and checks that it is one address and nothing else.
func (c *checks) email(field, s string) string {
	before := c.Len()
	s = c.text(field, s, 1, maxEmail)
	if c.Len() > before {
		return s
	}
	if len(s) > maxEmail {
		c.add(field, "max_length", fmt.Sprintf("must be at most %d bytes", maxEmail))
		return s
	}
	parsed, err := mail.ParseAddress(s)
	if err != nil || parsed.Address != s || parsed.Name != "" || !domainLike(s[strings.LastIndexByte(s, '@')+1:]) {
		c.add(field, "email", "must be an e-mail address")
	}
	return s
}

// domainLike reports whether mail could be delivered to a domain of this form.
func domainLike(domain string) bool {
	labels := strings.Split(domain, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") {
			return false
		}
		if strings.ContainsFunc(label, func(r rune) bool {
			return r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
		}) {
			return false
		}
	}
	return len(labels) > 1
}

// customer trims and checks everything that people give of a customer.
func (c *checks) customer(in *Customer) {
	for _, f := range Fields() {
		value := f.Value(in)
		*value = f.check(c, f.Name, *value)
	}
}

// change trims and checks what an update sets.
func (c *checks) change(in Change) {
	for _, f := range Fields() {
		if value, ok := in.Fields[f.Name]; ok {
			in.Fields[f.Name] = f.check(c, f.Name, value)
		}
	}
}

// Apply makes a change at an instant and reports whether it changed anything.
func (c *Customer) Apply(in Change, now time.Time) bool {
	before := *c
	for _, f := range Fields() {
		if value, ok := in.Fields[f.Name]; ok {
			*f.Value(c) = value
		}
	}
	if in.Archived != nil {
		c.Archived = *in.Archived
	}
	if *c == before {
		return false
	}
	c.touch(now)
	return true
}

// Delete marks the customer as deleted.
func (c *Customer) Delete(now time.Time) {
	c.touch(now)
	c.DeletedAt = &c.UpdatedAt
}

// touch dates a change. The dates of a customer's changes rise with the versions
// even when the clocks of two processes differ: lists in the order of changes
// rely on that.
func (c *Customer) touch(now time.Time) {
	c.Version++
	if !now.After(c.UpdatedAt) {
		now = c.UpdatedAt.Add(time.Microsecond)
	}
	c.UpdatedAt = now
}

// expect refuses a version that the caller has not seen.
func (c *Customer) expect(version *int64) error {
	if version == nil || *version == c.Version {
		return nil
	}
	return fault.New(fault.VersionMismatch, fault.ReasonVersionMismatch, "the customer has changed since it was read")
}

// ReasonEmailExists is the reason of a fault about an address that another
// customer of the company has.
const ReasonEmailExists = "EMAIL_ALREADY_EXISTS"

func emailExists() *fault.Error {
	f := fault.Refuse(ReasonEmailExists, "another customer has this e-mail address")
	f.Fields = []fault.Field{{Field: "email", Rule: "unique", Message: "belongs to another customer"}}
	return f
}
