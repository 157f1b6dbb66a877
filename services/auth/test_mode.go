package auth

import (
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// maxClockYears is by how many years a test clock can be ahead of the real time.
const maxClockYears = 5

// inModeOf returns the identifier of a credential in the mode of its company.
func inModeOf(company id.Company, credential id.UUID) id.UUID {
	if company.IsTest() {
		return credential.Test()
	}
	return credential
}

// newTestCompany returns the company in test mode of a company in live mode.
func newTestCompany(live Company, now time.Time) Company {
	c := live
	c.ID, c.Version, c.LiveVersion, c.ClockOffset = live.ID.Test(), 1, live.Version, 0
	c.CreatedAt, c.UpdatedAt = now, now
	return c
}

// follow takes over the settings of the company in live mode, and reports whether that changed
// anything. Settings that are older than those of c change nothing.
func (c *Company) follow(live Company, now time.Time) bool {
	if live.Version <= c.LiveVersion {
		return false
	}
	c.Name, c.Timezone, c.Currency = live.Name, live.Timezone, live.Currency
	c.UniqueEmails, c.OptionalEmails = live.UniqueEmails, live.OptionalEmails
	c.LiveVersion, c.UpdatedAt = live.Version, now
	c.Version++
	return true
}

// clock returns what the test clock shows at an instant.
func (c *Company) clock(now time.Time) time.Time {
	return now.Add(time.Duration(c.ClockOffset) * time.Second)
}

// advance moves the test clock forward to an instant.
func (c *Company) advance(to, now time.Time) error {
	switch {
	case to.Before(c.clock(now)):
		return fault.InvalidFields(fault.Field{
			Field: "to", Rule: "range", Message: "must not be before the clock's time, which is " + c.clock(now).UTC().Format(time.RFC3339),
		})
	case to.After(now.AddDate(maxClockYears, 0, 0)):
		return fault.InvalidFields(fault.Field{Field: "to", Rule: "range", Message: "must be at most 5 years after the real time"})
	}
	c.setClock(int64((to.Sub(now)+time.Second-1)/time.Second), now)
	return nil
}

// setClock sets by how many seconds the test clock is ahead.
func (c *Company) setClock(offset int64, now time.Time) {
	c.ClockOffset, c.UpdatedAt = offset, now
	c.Version++
}
