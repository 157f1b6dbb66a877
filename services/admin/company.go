package admin

import (
	"reservation.dev/platform/money"
	"reservation.dev/platform/zone"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// companyPage is the form of the company settings.
type companyPage struct {
	Form       *form
	Zones      []string
	Currencies []option
}

func (companyPage) head() (*message, string) { return msg("settings.company.title"), "company" }

func (r *request) companyPage(f *form) companyPage {
	return companyPage{f, zoneNames, optionsOf(money.Currencies(), func(code string) string { return code + " – " + r.text(currencyName(code)) })}
}

func (r *request) company() error {
	c := r.session.Company
	f := newForm("name", c.GetName(), "timezone", c.GetTimezone(), "currency", c.GetCurrency())
	if c.GetUniqueCustomerEmails() {
		f.values.Set("unique", "on")
	}
	if c.GetOptionalCustomerEmails() {
		f.values.Set("optional", "on")
	}
	return r.render("company", r.companyPage(f))
}

func (r *request) updateCompany() error {
	f := r.sent(map[string]string{"unique_customer_emails": "unique", "optional_customer_emails": "optional"})
	name, timezone, currency, unique := f.required("name", msg("settings.company.name_label")), f.required("timezone", msg("settings.company.timezone_label")), f.text("currency"), f.Get("unique") != ""
	optional := f.Get("optional") != ""
	if _, err := zone.Load(timezone); timezone != "" && err != nil {
		f.add("timezone", msg("settings.company.timezone_unknown"))
	}
	_, err := submit(r, f, r.services.companies.UpdateCompany, &authv1.UpdateCompanyRequest{
		Name: &name, Timezone: &timezone, Currency: &currency, UniqueCustomerEmails: &unique, OptionalCustomerEmails: &optional,
	})
	if err != nil {
		return r.again(err, "company", r.companyPage(f))
	}
	return r.back("/settings/company", r.text("settings.company.saved"))
}

// zoneNames are the suggested time zones; every IANA name is accepted.
var zoneNames = []string{
	"Africa/Cairo", "Africa/Johannesburg", "Africa/Lagos", "Africa/Nairobi", "America/Bogota", "America/Chicago", "America/Denver",
	"America/Halifax", "America/Los_Angeles", "America/Mexico_City", "America/New_York", "America/Phoenix", "America/Santiago",
	"America/Sao_Paulo", "America/Toronto", "America/Vancouver", "Asia/Bangkok", "Asia/Dubai", "Asia/Hong_Kong", "Asia/Jakarta",
	"Asia/Jerusalem", "Asia/Kolkata", "Asia/Manila", "Asia/Riyadh", "Asia/Seoul", "Asia/Shanghai", "Asia/Singapore", "Asia/Tokyo",
	"Atlantic/Canary", "Atlantic/Reykjavik", "Australia/Brisbane", "Australia/Melbourne", "Australia/Perth", "Australia/Sydney",
	"Europe/Amsterdam", "Europe/Athens", "Europe/Berlin", "Europe/Brussels", "Europe/Bucharest", "Europe/Budapest", "Europe/Copenhagen",
	"Europe/Dublin", "Europe/Helsinki", "Europe/Istanbul", "Europe/Kyiv", "Europe/Lisbon", "Europe/London", "Europe/Madrid", "Europe/Oslo",
	"Europe/Paris", "Europe/Prague", "Europe/Rome", "Europe/Stockholm", "Europe/Vienna", "Europe/Warsaw", "Europe/Zurich", "Pacific/Auckland",
	"Pacific/Honolulu", "UTC",
}
