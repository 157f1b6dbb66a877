package admin

import (
	"cmp"
	"slices"
	"strings"

	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// auditPage is a page of the audit log.
type auditPage struct {
	Days     []auditDay
	Next     string
	Form     *form
	Actors   []actorGroup
	Subjects []option
}

// auditDay is the entries of a day.
type auditDay struct {
	ID      int // of its heading
	Day     string
	Entries []auditLine
}

// actorGroup is a part of the list of actors by which the log can be filtered.
type actorGroup struct {
	Label   *message // nil: none
	Options []option
}

// The values of the filter by actor that select several actors.
const (
	allPeople      = "people"
	allCredentials = "credentials"
)

func (auditPage) head() (*message, string) { return msg("audit.page.title"), "audit" }

// auditSubjects are the prefixes of actions by which the log can be filtered.
var auditSubjects = []string{
	"administrator.", "api_client.", "api_key.", "appointment.", "appointment_type.", "booking.", "calendar.", "collection.", "company.", "company_data.", "customer.", "customer_pass.", "discount.", "event.",
	"event_date.", "holiday.", "invitation.", "media.", "pass_type.", "payments_due.", "plan.", "publishable_key.", "room.", "service_credential.", "session.", "staff.", "subscription.", "test_clock.", "test_data.", "waitlist.", "webhook_delivery.", "webhook_endpoint.",
}

// auditLog shows a page of the audit log. It makes at most one call for each kind of thing that
// the page names.
func (r *request) auditLog() error {
	req := &authv1.ListAuditEntriesRequest{
		PageSize: 50, PageToken: r.query("page"), Actor: r.query("actor"), Action: r.query("action"), Target: r.query("target"),
		Since: r.day("since", 0), Until: r.day("until", 1),
	}
	if actor := req.GetActor(); actor == allPeople || actor == allCredentials {
		req.Actor, req.ByCredential = "", new(actor == allCredentials)
	}
	res, err := r.services.audit.ListAuditEntries(r.ctx, req)
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
	names := r.namesOf(res.GetEntries(), people.GetAdministrators())
	page := auditPage{
		Next: r.with("page", res.GetNextPageToken()), Actors: r.actorGroups(people.GetAdministrators(), names),
		Form: r.filterForm("actor", "action", "target", "since", "until"), Subjects: []option{{"", r.text("audit.subject.all")}},
		Days: r.auditDays(res.GetEntries(), names),
	}
	for _, subject := range auditSubjects {
		page.Subjects = append(page.Subjects, option{subject, r.text("audit.subject." + strings.TrimSuffix(subject, "."))})
	}
	return r.render("audit", page)
}

// auditDays groups entries by the day of the company's zone.
func (r *request) auditDays(entries []*authv1.AuditEntry, names *auditNames) (days []auditDay) {
	for _, e := range entries {
		day := r.session.Clock.Day(e.GetAt())
		if last := len(days) - 1; last < 0 || days[last].Day != day {
			days = append(days, auditDay{ID: len(days) + 1, Day: day})
		}
		d := &days[len(days)-1]
		d.Entries = append(d.Entries, auditLine{e, names, r.session.Clock, r.session.Company.GetCurrency()})
	}
	return days
}

// actorGroups returns the actors by which the log can be filtered. A credential that the names lack, for
// example a deleted one, is offered if the filter has it.
func (r *request) actorGroups(people []*authv1.Administrator, names *auditNames) []actorGroup {
	all := actorGroup{Options: []option{
		{"", r.text("audit.subject.everyone")}, {allPeople, r.text("audit.subject.people")}, {allCredentials, r.text("audit.subject.credentials")},
	}}
	admins := actorGroup{Label: msg("audit.subject.administrator")}
	for _, a := range people {
		admins.Options = append(admins.Options, option{a.GetId(), a.GetName()})
	}
	groups := []actorGroup{all, admins}
	for _, kind := range []struct{ prefix, label string }{
		{"key_", "audit.subject.api_key"}, {"m2m_", "audit.subject.api_client"}, {"svc_", "audit.subject.service_credential"},
	} {
		g := actorGroup{Label: msg(kind.label)}
		for id, thing := range names.things {
			if kindPrefix(id) == kind.prefix {
				g.Options = append(g.Options, option{id, thing.name})
			}
		}
		slices.SortFunc(g.Options, func(a, b option) int {
			return cmp.Or(strings.Compare(a.Text, b.Text), strings.Compare(a.Value, b.Value))
		})
		if len(g.Options) > 0 {
			groups = append(groups, g)
		}
	}
	chosen := r.query("actor")
	if !slices.ContainsFunc(groups, func(g actorGroup) bool {
		return slices.ContainsFunc(g.Options, func(o option) bool { return o.Value == chosen })
	}) {
		groups[0].Options = append(groups[0].Options, option{chosen, chosen})
	}
	return groups
}
