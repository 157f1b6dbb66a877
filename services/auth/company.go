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
	// UniqueEmails requires that no two customers have the same e-mail address.
	UniqueEmails bool `db:"unique_customer_emails"`
	// OptionalEmails allows customers without an e-mail address.
	OptionalEmails bool      `db:"optional_customer_emails"`
	Version        int64     `db:"version"`
	CreatedAt      time.Time `db:"created_at"`
	UpdatedAt      time.Time `db:"updated_at"`
	// LiveVersion is the version of the company in live mode whose settings a company in test mode
	// has; 0 for a company in live mode.
	LiveVersion int64 `db:"live_version"`
	// ClockOffset is by how many seconds the test clock is ahead.
	ClockOffset int64 `db:"clock_offset_seconds"`
}

// facts returns what the audit log records of a company.
func (c *Company) facts() []Detail {
	all := []Detail{
		{Field: "name", After: c.Name}, {Field: "timezone", After: c.Timezone}, {Field: "currency", After: c.Currency},
		{Field: "unique_customer_emails", After: strconv.FormatBool(c.UniqueEmails)},
		{Field: "optional_customer_emails", After: strconv.FormatBool(c.OptionalEmails)},
	}
	if c.ID.IsTest() {
		all = append(all, Detail{Field: "clock_offset_seconds", After: strconv.FormatInt(c.ClockOffset, 10)})
	}
	return all
}

// companyFields are the fields that a change sets; nil: unchanged.
type companyFields struct {
	name, timezone, currency     *string
	uniqueEmails, optionalEmails *bool
}

// checked checks the fields and returns them as they are stored.
func (f companyFields) checked() (companyFields, error) {
	var check checks
	if f.name != nil {
		f.name = new(check.Line("name", *f.name, 1, maxName))
	}
	if f.timezone != nil {
		check.Timezone("timezone", *f.timezone)
	}
	if f.currency != nil {
		check.Currency("currency", *f.currency)
	}
	return f, check.Err()
}

// areCopied reports whether one of the fields is part of the copies in other services.
func (f companyFields) areCopied() bool {
	return f.timezone != nil || f.currency != nil || f.uniqueEmails != nil || f.optionalEmails != nil
}

// update applies the fields to c, and reports whether that changed anything.
func (c *Company) update(f companyFields, now time.Time) bool {
	before := *c
	if f.name != nil {
		c.Name = *f.name
	}
	if f.timezone != nil {
		c.Timezone = *f.timezone
	}
	if f.currency != nil {
		c.Currency = *f.currency
	}
	if f.uniqueEmails != nil {
		c.UniqueEmails = *f.uniqueEmails
	}
	if f.optionalEmails != nil {
		c.OptionalEmails = *f.optionalEmails
	}
	if *c == before {
		return false
	}
	c.Version++
	c.UpdatedAt = now
	return true
}
