package auth

import (
	"strconv"
	"time"

	"reservation.dev/platform/id"
)

// Company is a tenant.
type Company struct {
	ID       id.Company `db:"company_id"`
	Name     string     `db:"name"`
	Timezone string     `db:"timezone"`
	Currency string     `db:"currency"`
	// UniqueEmails asks that no two customers have the same e-mail address.
	UniqueEmails bool      `db:"unique_customer_emails"`
	Version      int64     `db:"version"`
	CreatedAt    time.Time `db:"created_at"`
	UpdatedAt    time.Time `db:"updated_at"`
}

// facts are what the audit log says of a company.
func (c *Company) facts() []Detail {
	return []Detail{
		{Field: "name", After: c.Name}, {Field: "timezone", After: c.Timezone}, {Field: "currency", After: c.Currency},
		{Field: "unique_customer_emails", After: strconv.FormatBool(c.UniqueEmails)},
	}
}
