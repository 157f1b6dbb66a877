package media

import (
	"reservation.dev/platform/pg"
	"reservation.dev/platform/tenancy"
)

// NewCompanies returns the copy of companies in db, which fetches missing companies from auth.
func NewCompanies(db *pg.DB, auth tenancy.Auth) *tenancy.Companies {
	return tenancy.New(db, auth, tenancy.Timezone(), tenancy.Currency(), tenancy.ClockOffset())
}
