package admin

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// shiftRow is a shift in the form of the working hours, as typed.
type shiftRow struct{ Date, From, To, Place, Zone string }

// Overnight reports whether the shift ends on the next day.
func (s shiftRow) Overnight() bool { return s.From != "" && s.To != "" && s.To <= s.From }

// empty reports whether the row has no times.
func (s shiftRow) empty() bool { return s.From == "" && s.To == "" }

// hoursRange returns the shift as the service has it.
func (s shiftRow) hoursRange() *bookingv1.HoursRange {
	return &bookingv1.HoursRange{Starts: s.From, Ends: s.To, Location: s.Place, Timezone: s.Zone}
}

// shiftOf returns a shift as the form has it. A time field has no 24:00; an end at 00:00 is midnight, too.
func shiftOf(date string, h *bookingv1.HoursRange) shiftRow {
	row := shiftRow{Date: date, From: h.GetStarts(), To: h.GetEnds(), Place: h.GetLocation(), Zone: h.GetTimezone()}
	if row.To == "24:00" {
		row.To = "00:00"
	}
	return row
}

// hoursDay is a weekday in the form.
type hoursDay struct {
	Number int // 1 is Monday
	Name   string
	Rows   []shiftRow
}

// hoursPage changes when a person works.
type hoursPage struct {
	Member staffView
	Form   *form
	Days   []hoursDay // from Monday
	Dates  []shiftRow
	// Places says whether the form has fields for the location and the zone of a shift.
	Places bool
	// Focus is the name of the field that a button has added.
	Focus  string
	Zone   string
	locale *locale
}

func (p hoursPage) head() (*message, string) {
	return msg("appointments.hours.title_of", "name", p.Member.GetName()), "staff"
}

// Path is the path of the form.
func (p hoursPage) Path() string { return p.Member.Path() + "/hours" }

// weekdayName returns the name of a weekday; 1 is Monday.
func (r *request) weekdayName(number int) string {
	return r.text(msg("desk.schedule.weekday." + weekdays[number-1]))
}

// weekText says when a person works, a line for each weekday with shifts.
func weekText(l *locale, h *bookingv1.WorkingHours) []*message {
	var lines []*message
	for _, number := range inWeek(l, []int{1, 2, 3, 4, 5, 6, 7}) {
		var shifts *message
		for _, w := range h.GetWeekly() {
			if int(w.GetWeekday()) == number {
				shifts = listed(shifts, shiftText(w.GetRange()))
			}
		}
		if shifts != nil {
			day := msg("desk.schedule.weekday." + weekdays[number-1])
			lines = append(lines, msg("appointments.hours.line", "day", day, "shifts", shifts))
		}
	}
	return lines
}

// shiftText says when a shift starts and ends: "09:00–17:00".
func shiftText(h *bookingv1.HoursRange) *message {
	return printed(func(x *texts) string { return x.wallTime(h.GetStarts()) + "–" + x.wallTime(h.GetEnds()) })
}

func (r *request) hoursForm() error {
	s, err := r.findStaffMember()
	if err != nil {
		return err
	}
	res, err := r.services.staff.GetWorkingHours(r.ctx, &bookingv1.GetWorkingHoursRequest{StaffId: s.GetId()})
	if err != nil {
		return err
	}
	page := r.hoursPage(s, newForm())
	page.Form.setVersion(res.GetHours().GetVersion())
	for _, w := range res.GetHours().GetWeekly() {
		if day := int(w.GetWeekday()); day >= 1 && day <= 7 {
			page.Days[day-1].Rows = append(page.Days[day-1].Rows, shiftOf("", w.GetRange()))
		}
	}
	for _, d := range res.GetHours().GetDates() {
		if len(d.GetRanges()) == 0 {
			page.Dates = append(page.Dates, shiftRow{Date: d.GetDate()})
		}
		for _, h := range d.GetRanges() {
			page.Dates = append(page.Dates, shiftOf(d.GetDate(), h))
		}
	}
	page.Places = r.query("places") != "" || page.hasPlaces(r.session.Company.GetTimezone())
	return r.render("hours", page)
}

// hoursPage returns the page without shifts.
func (r *request) hoursPage(s staffView, f *form) hoursPage {
	page := hoursPage{Member: s, Form: f, Zone: r.session.Clock.Name(), locale: r.locale}
	for number := 1; number <= 7; number++ {
		page.Days = append(page.Days, hoursDay{Number: number, Name: r.weekdayName(number)})
	}
	return page
}

// hasPlaces reports whether a shift has a location, or another zone than the company's.
func (p hoursPage) hasPlaces(company string) bool {
	rows := slices.Clone(p.Dates)
	for _, day := range p.Days {
		rows = append(rows, day.Rows...)
	}
	return slices.ContainsFunc(rows, func(s shiftRow) bool { return s.Place != "" || s.Zone != "" && s.Zone != company })
}

// shiftRows returns the rows of fields whose names end in suffix.
func (f *form) shiftRows(suffix string) []shiftRow {
	at := func(name string, i int) string {
		if all := f.All(name + suffix); i < len(all) {
			return strings.TrimSpace(all[i])
		}
		return ""
	}
	rows := make([]shiftRow, len(f.All("from"+suffix)))
	for i := range rows {
		rows[i] = shiftRow{at("date", i), at("from", i), at("to", i), at("place", i), at("zone", i)}
	}
	return rows
}

// hoursNames are the form's names of the service's fields.
var hoursNames = map[string]string{"weekly": "hours", "dates": "exceptions"}

// setHours saves the working hours, or carries out a button that adds, removes or copies rows of the form.
func (r *request) setHours() error {
	s, err := r.findStaffMember()
	if err != nil {
		return err
	}
	page := r.hoursPage(s, r.sent(hoursNames))
	page.Places = r.value("places") != ""
	for i := range page.Days {
		page.Days[i].Rows = page.Form.shiftRows(strconv.Itoa(i + 1))
	}
	page.Dates = page.Form.shiftRows("x")
	if do := r.value("do"); do != "" && do != "save" {
		page.edit(do)
		return r.render("hours", page)
	}
	req := page.request()
	req.ExpectedVersion = page.Form.expectedVersion(s.GetVersion())
	res, err := submit(r, page.Form, r.services.staff.SetWorkingHours, req)
	if err != nil {
		return r.again(err, "hours", page)
	}
	var after []string
	for _, line := range weekText(r.logTexts().locale, res.GetHours()) {
		after = append(after, r.logTexts().text(line))
	}
	r.detail("hours", "", strings.Join(after, "; "))
	return r.back(s.Path(), r.text("appointments.hours.saved"))
}

// request returns the working hours of the form. Rows without times are left out; of an exception, they say
// that the person does not work on that day.
func (p hoursPage) request() *bookingv1.SetWorkingHoursRequest {
	req := &bookingv1.SetWorkingHoursRequest{StaffId: p.Member.GetId()}
	for _, day := range p.Days {
		for _, row := range day.Rows {
			if p.complete(row, fmt.Sprintf("day-%d", day.Number)) && !row.empty() {
				req.Weekly = append(req.Weekly, &bookingv1.WeeklyHours{Weekday: int32(day.Number), Range: row.hoursRange()})
			}
		}
	}
	for _, row := range p.Dates {
		if row.Date == "" && row.empty() || !p.complete(row, "exceptions") {
			continue
		}
		if row.Date == "" {
			p.Form.add("exceptions", msg("appointments.hours.no_date"))
			continue
		}
		at := slices.IndexFunc(req.GetDates(), func(d *bookingv1.DateHours) bool { return d.GetDate() == row.Date })
		if at < 0 {
			at = len(req.GetDates())
			req.Dates = append(req.Dates, &bookingv1.DateHours{Date: row.Date})
		}
		if !row.empty() {
			req.Dates[at].Ranges = append(req.Dates[at].Ranges, row.hoursRange())
		}
	}
	slices.SortFunc(req.GetDates(), func(a, b *bookingv1.DateHours) int { return cmp.Compare(a.GetDate(), b.GetDate()) })
	return req
}

// complete reports whether a row has both times or none; otherwise it adds an error to a part of the form.
func (p hoursPage) complete(row shiftRow, part string) bool {
	if (row.From == "") == (row.To == "") {
		return true
	}
	p.Form.add(part, msg("appointments.hours.incomplete"))
	return false
}

// edit changes the rows of the form as a button says: "add-1" adds a shift on Monday, "remove-1-0" removes
// the first one, and x stands for the exceptions. "copy" copies a weekday to the ticked ones, and "places"
// shows the locations and zones.
func (p *hoursPage) edit(do string) {
	verb, rest, _ := strings.Cut(do, "-")
	part, number, _ := strings.Cut(rest, "-")
	rows := p.rowsOf(part)
	row, err := strconv.Atoi(number)
	switch {
	case verb == "places":
		p.Places = true
	case verb == "copy":
		p.copyDay()
	case rows == nil:
	case verb == "add" && len(*rows) < 20:
		*rows = append(*rows, shiftRow{})
		p.Focus = fmt.Sprintf("%s-%d", part, len(*rows)-1)
	case verb == "remove" && err == nil && row >= 0 && row < len(*rows):
		*rows = slices.Delete(*rows, row, row+1)
	}
}

// rowsOf returns the rows of a part of the form; nil for an unknown part.
func (p *hoursPage) rowsOf(part string) *[]shiftRow {
	if part == "x" {
		return &p.Dates
	}
	number, err := strconv.Atoi(part)
	if err != nil || number < 1 || number > 7 {
		return nil
	}
	return &p.Days[number-1].Rows
}

// copyDay replaces the shifts of the ticked weekdays by those of the selected one.
func (p *hoursPage) copyDay() {
	from := p.rowsOf(p.Form.text("copyfrom"))
	if from == nil || p.Form.text("copyfrom") == "x" {
		return
	}
	for _, part := range p.Form.All("copyto") {
		if to := p.rowsOf(part); to != nil && part != "x" {
			*to = slices.Clone(*from)
		}
	}
}

// Week returns the days from the first day of the week.
func (p hoursPage) Week() []hoursDay { return inWeek(p.locale, p.Days) }

// WeekdayOptions are the weekdays as choices.
func (p hoursPage) WeekdayOptions() []option {
	return views(p.Week(), func(d hoursDay) option { return option{strconv.Itoa(d.Number), d.Name} })
}

// hoursOn returns the shifts of a person that begin on a calendar day, YYYY-MM-DD.
func hoursOn(h *bookingv1.WorkingHours, date string, weekday int) []*bookingv1.HoursRange {
	for _, d := range h.GetDates() {
		if d.GetDate() == date {
			return d.GetRanges()
		}
	}
	var all []*bookingv1.HoursRange
	for _, w := range h.GetWeekly() {
		if int(w.GetWeekday()) == weekday {
			all = append(all, w.GetRange())
		}
	}
	return all
}
