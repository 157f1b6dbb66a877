package customer

import "reservation.dev/platform/check"

// field is a text that people give of a customer. Columns, messages, checks, changes,
// imports, exports and erasures follow the list of fields: a new field is one more
// entry, a member of Customer, a column and a member of the protos, which all have the
// same name.
type field struct {
	// name is that of the column, of the protos' fields and of faults.
	name  string
	value func(*Customer) *string
	// check trims a value and checks it.
	check            func(f *check.Fields, field, value string, minimum, maximum int) string
	minimum, maximum int // characters
	// erased is what an erasure leaves.
	erased string
}

const (
	maxName      = 100
	maxMobile    = 40
	maxReference = 200
)

// fields are the fields of a customer, in the order in which faults are listed.
func fields() []field {
	return []field{
		{"first_name", func(c *Customer) *string { return &c.FirstName }, (*check.Fields).Line, 1, maxName, "Erased"},
		{"last_name", func(c *Customer) *string { return &c.LastName }, (*check.Fields).Line, 1, maxName, "customer"},
		{"email", func(c *Customer) *string { return &c.Email }, email, 1, check.MaxEmail, erasedEmail},
		{"mobile", func(c *Customer) *string { return &c.Mobile }, (*check.Fields).Line, 0, maxMobile, ""},
	}
}

func email(f *check.Fields, field, value string, _, _ int) string { return f.Email(field, value) }
