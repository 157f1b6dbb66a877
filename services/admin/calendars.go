package admin

import (
	"cmp"
	"net/url"

	"reservation.dev/platform/enum"
	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// calendarView is a calendar with a secret address, as a page shows it.
type calendarView struct {
	*bookingv1.Calendar
	name string
}

// Of says whose dates the calendar shows.
func (c calendarView) Of() *message {
	if c.GetSubjectId() == "" {
		return msg("appointments.calendars.of_company")
	}
	return literal(cmp.Or(c.name, c.GetSubjectId()))
}

// Path is the path of the page of the person or the customer; "" for the company.
func (c calendarView) Path() string { return pageOf(c.GetSubjectId()) }

// calendarsPage lists the calendars with a secret address, and adds to them.
type calendarsPage struct {
	Calendars []calendarView
	Total     int64
	Next      string
	Form      *form
	Subjects  []option
	// Of is the person or the customer whose calendars the page shows; "" for all calendars.
	Of     string
	OfName string
}

func (calendarsPage) head() (*message, string) { return msg("appointments.calendars.title"), "staff" }

// calendarsPage returns a page of the calendars of a person or a customer; "" means all of them. It makes one
// call for the people and one for the customers.
func (r *request) calendarsPage(f *form, subject string) (calendarsPage, error) {
	page := calendarsPage{Form: f, Of: subject}
	res, err := r.services.calendars.ListCalendars(r.ctx, &bookingv1.ListCalendarsRequest{PageSize: 50, PageToken: r.query("page"), SubjectId: subject})
	if err != nil {
		return page, err
	}
	page.Total, page.Next = res.GetTotal(), r.with("page", res.GetNextPageToken())
	people, err := r.people()
	if err != nil {
		return page, err
	}
	var customers []string
	for _, c := range append(res.GetCalendars(), &bookingv1.Calendar{SubjectId: subject}) {
		if kindPrefix(c.GetSubjectId()) == "cust_" {
			customers = append(customers, c.GetSubjectId())
		}
	}
	names, err := r.customerNames(customers)
	if err != nil {
		return page, err
	}
	page.Subjects = []option{{"company", r.text("appointments.calendars.of_company")}}
	for _, s := range people {
		names[s.GetId()] = s.GetName()
		if s.GetActive() {
			page.Subjects = append(page.Subjects, option{s.GetId(), s.GetName()})
		}
	}
	if page.OfName = names[subject]; kindPrefix(subject) == "cust_" {
		page.Subjects = append(page.Subjects, option{subject, cmp.Or(page.OfName, subject)})
	}
	page.Calendars = views(res.GetCalendars(), func(c *bookingv1.Calendar) calendarView { return calendarView{c, names[c.GetSubjectId()]} })
	return page, nil
}

func (r *request) listCalendars() error {
	page, err := r.calendarsPage(newForm("subject", cmp.Or(r.query("subject"), "company")), r.query("subject"))
	if err != nil {
		return err
	}
	return r.render("calendars", page)
}

// calendarSecretPage shows the address of a new calendar, once.
type calendarSecretPage struct {
	Calendar calendarView
	Address  string
}

func (calendarSecretPage) head() (*message, string) {
	return msg("appointments.calendars.created"), "staff"
}

// calendarKindOf returns the kind of calendar of a subject.
func calendarKindOf(subject string) bookingv1.CalendarKind {
	kind, _ := enum.Parse[bookingv1.CalendarKind](map[string]string{"staff_": "staff", "cust_": "customer", "": "company"}[kindPrefix(subject)])
	return kind
}

// calendarAddress returns the public address of a calendar. Gateway B serves it outside the path of its API.
func (web *web) calendarAddress(secret string) (string, error) {
	base, err := url.Parse(web.cfg.InterfaceB)
	if err != nil {
		return "", err
	}
	base.Path, base.RawPath, base.RawQuery = "/calendar/"+secret+".ics", "", ""
	return base.String(), nil
}

func (r *request) createCalendar() error {
	f := r.sent(map[string]string{"subject_id": "subject", "kind": "subject"})
	subject := f.text("subject")
	req := &bookingv1.CreateCalendarRequest{Kind: calendarKindOf(subject)}
	if req.GetKind() != bookingv1.CalendarKind_CALENDAR_KIND_COMPANY {
		req.SubjectId = subject
	}
	res, err := submit(r, f, r.services.calendars.CreateCalendar, req)
	if err != nil {
		if !f.Failed() {
			return err
		}
		page, trouble := r.calendarsPage(f, req.GetSubjectId())
		if trouble != nil {
			return trouble
		}
		return r.again(err, "calendars", page)
	}
	c := calendarView{Calendar: res.GetCalendar()}
	r.target(c.GetId())
	r.detail("who", "", c.GetSubjectId())
	if res.GetSecret() == "" {
		return r.render("already", alreadyPage{
			Title: r.text("appointments.calendars.created"), Section: "staff", Subject: c.GetSecretStart(), Text: r.text("appointments.calendars.already"),
			Lost: r.text("appointments.calendars.lost"), Next: "/calendars", Button: r.text("appointments.calendars.title"),
		})
	}
	address, err := r.web.calendarAddress(res.GetSecret())
	if err != nil {
		return err
	}
	return r.render("calendar-secret", calendarSecretPage{c, address})
}

// findCalendar returns the calendar in the path.
func (r *request) findCalendar() (*bookingv1.Calendar, error) {
	res, err := r.services.calendars.GetCalendar(r.ctx, &bookingv1.GetCalendarRequest{Id: r.path("id")})
	return res.GetCalendar(), err
}

func (r *request) confirmCalendar() error {
	c, err := r.findCalendar()
	if err != nil {
		return err
	}
	return r.confirm(r.confirmEnd("calendar"), "staff", r.text("appointments.calendars.starts", "start", c.GetSecretStart()), "/calendars")
}

func (r *request) revokeCalendar() error {
	if _, err := perform(r, r.services.calendars.RevokeCalendar, &bookingv1.RevokeCalendarRequest{Id: r.path("id")}); err != nil {
		if fault.Is(err, fault.NotFound) {
			return r.sayFailed("/calendars", r.text("appointments.calendars.gone"))
		}
		return r.refused("/calendars", err)
	}
	return r.back("/calendars", r.text("appointments.calendars.revoked"))
}
