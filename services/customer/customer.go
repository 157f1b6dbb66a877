package customer

import (
	"time"

	"reservation.dev/platform/check"
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

// field is a text that is given for a customer. Columns, messages, checks, changes, imports,
// exports and erasures follow the list of fields. To add a field, add an entry, a member of
// Customer, a column and a member of the protos, all with the same name.
type field struct {
	// name is the name of the column, of the protos' fields and in faults.
	name  string
	value func(*Customer) *string
	// check trims and checks a value.
	check            func(f *check.Fields, field, value string, minimum, maximum int) string
	minimum, maximum int // characters
	// erased is the value after an erasure.
	erased string
}

const (
	maxName      = 100
	maxMobile    = 40
	maxReference = 200
)

// fields returns the fields of a customer, in the order in which faults are listed.
func fields() []field {
	return []field{
		{"first_name", func(c *Customer) *string { return &c.FirstName }, (*check.Fields).Line, 1, maxName, "Erased"},
		{"last_name", func(c *Customer) *string { return &c.LastName }, (*check.Fields).Line, 1, maxName, "customer"},
		{"email", func(c *Customer) *string { return &c.Email }, email, 1, check.MaxEmail, erasedEmail},
		{"mobile", func(c *Customer) *string { return &c.Mobile }, (*check.Fields).Line, 0, maxMobile, ""},
	}
}

func email(f *check.Fields, field, value string, _, _ int) string { return f.Email(field, value) }

// Change is the set of fields that an update sets; the others stay unchanged.
type Change struct {
	Fields   map[string]string // by name
	Archived *bool
}

// check trims and checks all fields that are given for a customer.
func (c *Customer) check(failed *check.Fields) {
	for _, f := range fields() {
		value := f.value(c)
		*value = f.check(failed, f.name, *value, f.minimum, f.maximum)
	}
}

// check trims and checks the fields that an update sets.
func (c Change) check(failed *check.Fields) {
	for _, f := range fields() {
		if value, ok := c.Fields[f.name]; ok {
			c.Fields[f.name] = f.check(failed, f.name, value, f.minimum, f.maximum)
		}
	}
}

// emptiesEmail reports whether the update sets the e-mail address to nothing.
func (c Change) emptiesEmail() bool {
	email, ok := c.Fields["email"]
	return ok && email == ""
}

// Apply makes a change at an instant and reports whether anything changed.
func (c *Customer) Apply(in Change, now time.Time) bool {
	before := *c
	for _, f := range fields() {
		if value, ok := in.Fields[f.name]; ok {
			*f.value(c) = value
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

// touch sets the time of a change. The times of a customer's changes increase with the versions
// even if the clocks of two processes differ: lists in the order of changes rely on that.
func (c *Customer) touch(now time.Time) {
	c.Version++
	if !now.After(c.UpdatedAt) {
		now = c.UpdatedAt.Add(time.Microsecond)
	}
	c.UpdatedAt = now
}

// ReasonEmailExists is the reason of a fault about an address that another customer of the company
// has.
const ReasonEmailExists = "EMAIL_ALREADY_EXISTS"

func emailExists() *fault.Error {
	f := fault.Refuse(ReasonEmailExists, "another customer has this e-mail address")
	f.Fields = []fault.Field{{Field: "email", Rule: "unique", Message: "belongs to another customer"}}
	return f
}
