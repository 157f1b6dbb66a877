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

// imported checks one line and returns its customer.
func (s *Server) imported(line *customerv1.ImportedCustomer, now time.Time) (Customer, error) {
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
	return c, f.Err()
}

// importOutcome is the outcome for the references of a batch.
type importOutcome struct {
	erased map[string]bool        // references of erased customers
	taken  map[string]bool        // references with an e-mail address that another customer has
	stored map[string]id.Customer // customers by reference
	isNew  map[id.Customer]bool
}

// write completes the result of a line. The first line with a reference has created the customer.
func (o importOutcome) write(r *customerv1.ImportCustomerResult) {
	switch {
	case r.GetOutcome() == customerv1.ImportOutcome_IMPORT_OUTCOME_REFUSED:
		return
	case o.erased[r.GetReference()]:
		refuse(r, fault.InvalidFields(fault.Field{Field: "reference", Rule: "erased", Message: "belongs to an erased customer"}))
		return
	case o.taken[r.GetReference()]:
		refuse(r, emailExists())
		return
	}
	customer := o.stored[r.GetReference()]
	r.Id, r.Outcome = customer.String(), customerv1.ImportOutcome_IMPORT_OUTCOME_EXISTED
	if o.isNew[customer] {
		r.Outcome = customerv1.ImportOutcome_IMPORT_OUTCOME_CREATED
		delete(o.isNew, customer)
	}
}

func refuse(r *customerv1.ImportCustomerResult, f *fault.Error) {
	r.Outcome = customerv1.ImportOutcome_IMPORT_OUTCOME_REFUSED
	if len(f.Fields) > 0 {
		r.Field, r.Rule, r.Message = f.Fields[0].Field, f.Fields[0].Rule, f.Fields[0].Message
	}
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
