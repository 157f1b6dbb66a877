package customer

import "reservation.dev/platform/check"

// field is a text that people give of a customer. Columns, messages, checks, changes,
// imports, exports and erasures follow the list of fields: a new field is one more
// entry, a member of Customer, a column and a member of the protos, which all have the
// same name.
type field struct {
	// Name is that of the column, of the protos' fields and of faults.
	Name  string
	Value func(*Customer) *string
	// check trims a value and checks it.
	check func(f *check.Fields, field, value string) string
	// Erased is what an erasure leaves.
	Erased string
}

const (
	maxName      = 100
	maxMobile    = 40
	maxReference = 200
)

// fields are the fields of a customer, in the order in which faults are listed.
func fields() []field {
	return []field{
		{"first_name", func(c *Customer) *string { return &c.FirstName }, required(maxName), "Erased"},
		{"last_name", func(c *Customer) *string { return &c.LastName }, required(maxName), "customer"},
		{"email", func(c *Customer) *string { return &c.Email }, (*check.Fields).Email, erasedEmail},
		{"mobile", func(c *Customer) *string { return &c.Mobile }, optional(maxMobile), ""},
	}
}

// required checks a line of text of 1 to so many characters.
func required(most int) func(f *check.Fields, field, value string) string {
	return func(f *check.Fields, field, value string) string { return f.Line(field, value, 1, most) }
}

// optional checks a line of text that may be empty.
func optional(most int) func(f *check.Fields, field, value string) string {
	return func(f *check.Fields, field, value string) string { return f.Line(field, value, 0, most) }
}
