package customer

import (
	"strings"
	"time"
	"unicode/utf8"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// importedLine is a line of an import that is checked.
type importedLine struct {
	// reference is that of the line as it was sent.
	reference string
	customer  Customer
	// failed is why the line is refused; nil if it is not.
	failed error
	// exceptEmail is the same without the check of the e-mail address.
	exceptEmail error
}

// refused returns why the line is refused by the rules of the company; nil if it is not.
func (l importedLine) refused(rules emailRules) error {
	if rules.optional && l.customer.Email == "" {
		return l.exceptEmail
	}
	return l.failed
}

// accepted returns the customers of the lines that are not refused, with their references. If several lines have
// the same reference, the first one counts.
func accepted(lines []importedLine, rules emailRules) (customers []Customer, references []string) {
	seen := map[string]bool{}
	for _, l := range lines {
		if l.refused(rules) != nil || seen[*l.customer.Reference] {
			continue
		}
		seen[*l.customer.Reference] = true
		customers, references = append(customers, l.customer), append(references, *l.customer.Reference)
	}
	return customers, references
}

// imported checks one line.
func (s *Server) imported(line *customerv1.ImportedCustomer, now time.Time) importedLine {
	var f check.Fields
	reference := f.Line("reference", line.GetReference(), 1, maxReference)
	c := described(line)
	c.check(&f)
	c.ID, c.Reference, c.Version, c.CreatedAt, c.UpdatedAt = id.Customer(s.newID()), &reference, 1, now, now
	if line.GetCreatedAt() != nil {
		c.CreatedAt = line.GetCreatedAt().AsTime().Truncate(time.Microsecond)
		if line.GetCreatedAt().CheckValid() != nil || c.CreatedAt.After(now) || c.CreatedAt.Year() < 1900 {
			f.Add("created_at", "range", "must be in the past, and not before 1900")
		}
	}
	return importedLine{reference: line.GetReference(), customer: c, failed: f.Err(), exceptEmail: exceptEmail(&f)}
}

// importOutcome is the outcome for the references of a batch.
type importOutcome struct {
	rules  emailRules
	erased map[string]bool // references of erased customers
	// identified are the customers whose identifiers are references, known these references, and deleted those of
	// deleted customers.
	identified     map[string]id.Customer
	known, deleted map[string]bool
	taken          map[string]bool        // references with an e-mail address that another customer has
	stored         map[string]id.Customer // customers by reference
	isNew          map[id.Customer]bool
}

// result returns the result of a line. The first line with a reference has created the customer.
func (o importOutcome) result(line importedLine) *customerv1.ImportCustomerResult {
	if err := line.refused(o.rules); err != nil {
		return refused(line.reference, fault.From(err))
	}
	reference := *line.customer.Reference
	switch {
	case o.erased[reference]:
		return refused(reference, fault.InvalidFields(fault.Field{Field: "reference", Rule: "erased", Message: "belongs to an erased customer"}))
	case o.deleted[reference]:
		return refused(reference, fault.InvalidFields(fault.Field{Field: "reference", Rule: "deleted", Message: "is the identifier of a deleted customer"}))
	case o.taken[reference]:
		return refused(reference, emailExists())
	}
	customer, known := o.identified[reference]
	if !known {
		customer = o.stored[reference]
	}
	r := &customerv1.ImportCustomerResult{
		Reference: reference, Id: customer.String(), Outcome: customerv1.ImportOutcome_IMPORT_OUTCOME_EXISTED,
	}
	if o.isNew[customer] {
		r.Outcome = customerv1.ImportOutcome_IMPORT_OUTCOME_CREATED
		delete(o.isNew, customer)
	}
	return r
}

func refused(reference string, f *fault.Error) *customerv1.ImportCustomerResult {
	r := &customerv1.ImportCustomerResult{Reference: reference, Outcome: customerv1.ImportOutcome_IMPORT_OUTCOME_REFUSED}
	if len(f.Fields) > 0 {
		r.Field, r.Rule, r.Message = f.Fields[0].Field, f.Fields[0].Rule, f.Fields[0].Message
	}
	return r
}

// storable drops texts that PostgreSQL cannot store, which cannot be references.
func storable(references []string) []string {
	list := make([]string, 0, len(references))
	for _, r := range references {
		if r != "" && utf8.ValidString(r) && !strings.ContainsRune(r, 0) {
			list = append(list, r)
		}
	}
	return list
}
