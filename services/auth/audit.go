package auth

import (
	"regexp"
	"slices"
	"time"

	"reservation.dev/platform/id"
)

// Entry is a line of the audit log.
type Entry struct {
	Company id.Company    `db:"company_id"`
	ID      id.AuditEntry `db:"id"`
	At      time.Time     `db:"at"`
	Actor   string        `db:"actor"`
	Action  string        `db:"action"`
	Target  string        `db:"target"`
	Details []Detail      `db:"details"`
}

// customers returns the customers that the entry is about.
func (e *Entry) customers() []id.Customer {
	subjects := []string{e.Target}
	for _, d := range e.Details {
		subjects = append(subjects, d.After)
	}
	var list []id.Customer
	for _, subject := range subjects {
		if customer, err := id.Parse[id.Customer](subject); err == nil {
			list = append(list, customer)
		}
	}
	return list
}

// forget removes from the entry what it says of a customer, except that it is about them.
func (e *Entry) forget(customer id.Customer) {
	var left []Detail
	for _, d := range e.Details {
		if d.After == customer.String() {
			left = append(left, Detail{Field: d.Field, After: d.After})
		}
	}
	e.Details = left
}

// Detail is one fact of a change. It never holds a secret.
type Detail struct {
	Field  string `json:"field"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// differences returns the facts that differ between two lists with the same fields.
func differences(before, after []Detail) []Detail {
	var out []Detail
	for i, d := range after {
		if before[i].After != d.After {
			out = append(out, Detail{Field: d.Field, Before: before[i].After, After: d.After})
		}
	}
	return out
}

// withoutEmpty leaves out the facts without a value.
func withoutEmpty(all []Detail) []Detail {
	return slices.DeleteFunc(all, func(d Detail) bool { return d.After == "" })
}

// auditFilter limits a list of entries; empty and nil fields match every entry.
type auditFilter struct {
	actor, action, target string
	since, until          *time.Time
	// byCredential selects the changes that credentials made in other services, or all others.
	byCredential *bool
}

var (
	actionPattern = regexp.MustCompile(`^[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*$`)

	// reservedThings are the things that only the auth service writes entries about.
	reservedThings = []string{"company", "api_client", "api_key", "publishable_key", "service_credential", "signing_key", "administrator", "session", "invitation", "test_clock", "test_data"}
)
