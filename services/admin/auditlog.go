package admin

import (
	"strings"

	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// auditPage is a page of the audit log.
type auditPage struct {
	Entries  []auditLine
	Next     string
	Form     *form
	Actors   []option
	Subjects []option
}

func (auditPage) head() (*message, string) { return msg("audit.page.title"), "audit" }

// auditSubjects are the prefixes of actions by which the log can be filtered.
var auditSubjects = []string{
	"administrator.", "api_client.", "api_key.", "appointment.", "appointment_type.", "booking.", "calendar.", "collection.", "company.", "company_data.", "customer.", "customer_pass.", "discount.", "event.",
	"event_date.", "holiday.", "invitation.", "media.", "pass_type.", "payments_due.", "plan.", "publishable_key.", "room.", "service_credential.", "session.", "staff.", "subscription.", "test_clock.", "test_data.", "waitlist.", "webhook_delivery.", "webhook_endpoint.",
}

// auditLog shows a page of the audit log. It makes at most one call for each kind of thing that
// the page names.
func (r *request) auditLog() error {
	res, err := r.services.audit.ListAuditEntries(r.ctx, &authv1.ListAuditEntriesRequest{
		PageSize: 50, PageToken: r.query("page"), Actor: r.query("actor"), Action: r.query("action"), Target: r.query("target"),
		Since: r.day("since", 0), Until: r.day("until", 1),
	})
	if err != nil {
		return r.refused("/settings/audit", err)
	}
	live, err := r.liveContext()
	if err != nil {
		return err
	}
	people, err := r.services.admins.ListAdministrators(live, &authv1.ListAdministratorsRequest{PageSize: 100})
	if err != nil {
		return err
	}
	page := auditPage{
		Next: r.with("page", res.GetNextPageToken()), Actors: []option{{"", r.text("audit.subject.everyone")}},
		Form: r.filterForm("actor", "action", "target", "since", "until"), Subjects: []option{{"", r.text("audit.subject.all")}},
	}
	for _, subject := range auditSubjects {
		page.Subjects = append(page.Subjects, option{subject, r.text("audit.subject." + strings.TrimSuffix(subject, "."))})
	}
	for _, a := range people.GetAdministrators() {
		page.Actors = append(page.Actors, option{a.GetId(), a.GetName()})
	}
	names := r.namesOf(res.GetEntries(), people.GetAdministrators())
	for _, e := range res.GetEntries() {
		page.Entries = append(page.Entries, auditLine{e, names, r.session.Clock, r.session.Company.GetCurrency()})
	}
	return r.render("audit", page)
}
