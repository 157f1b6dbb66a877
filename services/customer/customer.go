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

// Change is what an update sets; nil stays.
type Change struct {
	FirstName, LastName, Email, Mobile *string
	Archived                           *bool
}

const (
	maxName      = 100
	maxEmail     = 254
	maxMobile    = 40
	maxReference = 200
)

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

// customer trims and checks everything that a person gives of a customer.
func (c *checks) customer(in Customer) Customer {
	in.FirstName = c.text("first_name", in.FirstName, 1, maxName)
	in.LastName = c.text("last_name", in.LastName, 1, maxName)
	in.Email = c.email("email", in.Email)
	in.Mobile = c.text("mobile", in.Mobile, 0, maxMobile)
	return in
}

// change trims and checks what an update sets.
func (c *checks) change(in Change) Change {
	set := func(p *string, check func(s string) string) *string {
		if p == nil {
			return nil
		}
		s := check(*p)
		return &s
	}
	return Change{
		FirstName: set(in.FirstName, func(s string) string { return c.text("first_name", s, 1, maxName) }),
		LastName:  set(in.LastName, func(s string) string { return c.text("last_name", s, 1, maxName) }),
		Email:     set(in.Email, func(s string) string { return c.email("email", s) }),
		Mobile:    set(in.Mobile, func(s string) string { return c.text("mobile", s, 0, maxMobile) }),
		Archived:  in.Archived,
	}
}

// Apply makes a change at an instant and reports whether it changed anything.
func (c *Customer) Apply(in Change, now time.Time) bool {
	before := *c
	for _, f := range []struct{ to, from *string }{
		{&c.FirstName, in.FirstName}, {&c.LastName, in.LastName}, {&c.Email, in.Email}, {&c.Mobile, in.Mobile},
	} {
		if f.from != nil {
			*f.to = *f.from
		}
	}
	if in.Archived != nil {
		c.Archived = *in.Archived
	}
	if c.FirstName == before.FirstName && c.LastName == before.LastName && c.Email == before.Email &&
		c.Mobile == before.Mobile && c.Archived == before.Archived {
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
