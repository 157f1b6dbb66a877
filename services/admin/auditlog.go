package admin

import (
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// auditPage is a page of the audit log.
type auditPage struct {
	Entries  []*authv1.AuditEntry
	Next     string
	Form     *form
	Actors   []option
	Subjects []option
}

func (auditPage) head() (*message, string) { return literal("Audit log"), "audit" }

// auditSubjects are what entries are about, as the filter offers them.
var auditSubjects = []option{
	{"", "Everything"}, {"api_client.", "API clients"}, {"api_key.", "API keys"}, {"webhook_endpoint.", "Webhook endpoints"},
	{"webhook_delivery.", "Webhook deliveries"}, {"administrator.", "Administrators"}, {"invitation.", "Invitations"}, {"session.", "Sessions"},
	{"company.", "Company"}, {"event.", "Events"}, {"event_date.", "Event dates"}, {"booking.", "Bookings"}, {"waitlist.", "Waitlist"}, {"discount.", "Discount codes"},
	{"customer.", "Customers"}, {"customer_pass.", "Customers' passes"}, {"pass_type.", "Pass types"},
}

func (r *request) auditLog() error {
	res, err := r.services.audit.ListAuditEntries(r.ctx, &authv1.ListAuditEntriesRequest{
		PageSize: 50, PageToken: r.query("page"), Actor: r.query("actor"), Action: r.query("action"), Target: r.query("target"),
		Since: r.day("since", 0), Until: r.day("until", 1),
	})
	if err != nil {
		return r.refused("/settings/audit", err)
	}
	people, err := r.services.admins.ListAdministrators(r.ctx, &authv1.ListAdministratorsRequest{PageSize: 100})
	if err != nil {
		return err
	}
	page := auditPage{Entries: res.GetEntries(), Next: r.with("page", res.GetNextPageToken()), Subjects: auditSubjects, Actors: []option{{"", "Everybody"}},
		Form: r.filterForm("actor", "action", "target", "since", "until")}
	for _, a := range people.GetAdministrators() {
		page.Actors = append(page.Actors, option{a.GetId(), a.GetName()})
	}
	return r.render("audit", page)
}
