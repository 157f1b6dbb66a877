package admin

import (
	"net/url"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// agendaColumns is the largest number of people whom the agenda of a day shows next to each other.
const agendaColumns = 12

// agendaItem is an appointment, a class or time off in a column of the agenda.
type agendaItem struct {
	placed
	// Before and After are the places of the buffers; without rows if there are none.
	Before, After placed
	starts        time.Time
	From, To      string
	Title, Who    string
	Path          string
	Color         string
	Appointment   bool
	Held, Off     bool
	OneLine       bool // there is space for one line of text
	// Move is the path of the form that moves an appointment; "" if it cannot be moved.
	Move    string
	Version int64
}

// freePlace is a time at which a person works and nothing is booked.
type freePlace struct {
	placed
	Time, Path string
}

// agendaColumn is a column of the agenda: a person on a day.
type agendaColumn struct {
	Name, Path string
	Color      string
	Today      bool
	// Staff and Start are for moving an appointment: the person, and the first instant of the column.
	Staff string
	Start string
	Hours []placed
	Items []agendaItem
	Free  []freePlace
	Now   placed // without rows if the column does not show the present
}

// agenda is what the agenda of a span shows.
type agenda struct {
	people    []staffView
	entries   []*bookingv1.Assignment // of people
	off       []*bookingv1.TimeOff
	holidays  []*bookingv1.Holiday
	hours     map[string]*bookingv1.WorkingHours // by person
	truncated bool
}

// readAgenda reads the people, and what takes their time, in four calls.
func (r *request) readAgenda(of interval) (agenda, error) {
	var a agenda
	var err error
	if a.people, err = r.people(); err != nil {
		return a, err
	}
	from, before := timestamppb.New(of.from), timestamppb.New(of.until)
	entries, err := r.services.appointments.ListAssignments(r.ctx, &bookingv1.ListAssignmentsRequest{StartsFrom: from, StartsBefore: before})
	if err != nil {
		return a, err
	}
	a.truncated = entries.GetTruncated()
	for _, x := range entries.GetAssignments() {
		if kindPrefix(x.GetResourceId()) == "staff_" {
			a.entries = append(a.entries, x)
		}
	}
	off, err := r.services.staff.ListTimeOff(r.ctx, &bookingv1.ListTimeOffRequest{PageSize: resourcesMost, StartsFrom: from, StartsBefore: before})
	if err != nil {
		return a, err
	}
	a.off = off.GetTimeOff()
	holidays, err := r.services.staff.ListHolidays(r.ctx, &bookingv1.ListHolidaysRequest{
		PageSize: resourcesMost, From: of.from.Format(time.DateOnly), To: of.until.Add(-time.Second).Format(time.DateOnly),
	})
	a.holidays = holidays.GetHolidays()
	return a, err
}

// readHours reads the working hours of people. Shifts that began two days before the span can be in it: zones
// differ by up to a day, and shifts end on the next day.
func (r *request) readHours(a *agenda, people []staffView, of interval) error {
	a.hours = map[string]*bookingv1.WorkingHours{}
	if len(people) == 0 {
		return nil
	}
	res, err := r.services.staff.ListWorkingHours(r.ctx, &bookingv1.ListWorkingHoursRequest{
		StaffIds: views(people, staffView.GetId), From: r.midnight(of.from, -2).Format(time.DateOnly), To: r.midnight(of.until, 2).Format(time.DateOnly),
	})
	for _, h := range res.GetHours() {
		a.hours[h.GetStaffId()] = h
	}
	return err
}

// closed reports whether a holiday closes all locations on a day.
func (a agenda) closed(day time.Time) bool {
	return slices.ContainsFunc(a.holidays, func(h *bookingv1.Holiday) bool {
		return h.GetLocation() == "" && h.GetDate() == day.Format(time.DateOnly)
	})
}

// shifts returns when a person works on a day.
func (a agenda) shifts(staffID string, day interval) []interval {
	if a.closed(day.from) {
		return nil
	}
	return shiftsIn(a.hours[staffID], day, day.from.Location())
}

// spanOf returns a span of two timestamps.
func spanOf(from, until *timestamppb.Timestamp) interval {
	return interval{from.AsTime(), until.AsTime()}
}

// daySpan returns the span of a calendar day.
func (r *request) daySpan(day time.Time) interval { return interval{day, r.midnight(day, 1)} }

// hoursShown returns the hours that columns for people and days have in common. They include the present.
func (r *request) hoursShown(a agenda, people []staffView, days []interval) hourRange {
	shown := usualHours
	for _, day := range days {
		shown.widen(interval{r.now(), r.now().Add(time.Second)}, day)
	}
	for _, s := range people {
		for _, day := range days {
			for _, shift := range a.shifts(s.GetId(), day) {
				shown.widen(shift, day)
			}
			for _, x := range a.entries {
				if x.GetResourceId() == s.GetId() {
					shown.widen(spanOf(x.GetStartsAt(), x.GetEndsAt()), day)
				}
			}
		}
	}
	return shown
}

// column returns the column of a person on a day.
func (r *request) column(a agenda, s staffView, day, shown interval) agendaColumn {
	c := agendaColumn{
		Name: s.GetName(), Path: s.Path(), Color: s.GetColor(), Staff: s.GetId(), Start: shown.from.UTC().Format(time.RFC3339),
		Today: !r.now().Before(day.from) && r.now().Before(day.until),
	}
	var taken []interval
	shifts := a.shifts(s.GetId(), day)
	for _, shift := range shifts {
		if p, ok := placeIn(shift, shown); ok {
			c.Hours = append(c.Hours, p)
		}
	}
	for _, off := range a.off {
		if off.GetStaffId() != s.GetId() {
			continue
		}
		at := spanOf(off.GetStartsAt(), off.GetEndsAt())
		taken = append(taken, at)
		if p, ok := placeIn(at, shown); ok {
			c.Items = append(c.Items, agendaItem{placed: p, Off: true, Title: off.GetReason(), Path: s.Path() + "/time-off"})
		}
	}
	for _, x := range a.entries {
		if x.GetResourceId() != s.GetId() {
			continue
		}
		taken = append(taken, spanOf(x.GetStartsAt(), x.GetEndsAt()))
		if item, ok := r.agendaItem(x, shown); ok {
			item.Color = s.GetColor()
			c.Items = append(c.Items, item)
		}
	}
	if s.GetActive() {
		c.Free = r.freePlaces(gaps(shifts, taken), s, shown)
	}
	if c.Today {
		c.Now, _ = placeIn(interval{r.now(), r.now().Add(time.Second)}, shown)
	}
	return c
}

// freePlaces returns links that book the free time of a person.
func (r *request) freePlaces(free []interval, s staffView, shown interval) []freePlace {
	var all []freePlace
	for _, at := range places(free, r.now(), r.session.Clock.Zone) {
		p, ok := placeIn(at, shown)
		if !ok {
			continue
		}
		wall := at.from.In(r.session.Clock.Zone)
		path := bookPath(url.Values{"staff": {s.GetId()}, "day": {wall.Format(time.DateOnly)}, "start": {at.from.UTC().Format(time.RFC3339)}})
		all = append(all, freePlace{p, r.format("time", wall), path})
	}
	return all
}

// agendaItem returns an assignment in a column.
func (r *request) agendaItem(x *bookingv1.Assignment, shown interval) (agendaItem, bool) {
	starts := x.GetDateStartsAt().AsTime()
	ends := starts.Add(time.Duration(x.GetDurationMinutes()) * time.Minute)
	zone := r.session.Clock.Zone
	item := agendaItem{
		From: r.format("time", starts.In(zone)), To: r.format("time", ends.In(zone)), starts: starts, Title: x.GetTitle(), Path: datePath(x.GetEventId(), x.GetEventDateId()),
	}
	place, ok := placeIn(interval{starts, ends}, shown)
	item.placed = place
	item.Before, _ = placeIn(interval{x.GetStartsAt().AsTime(), starts}, shown)
	item.After, _ = placeIn(interval{ends, x.GetEndsAt().AsTime()}, shown)
	if v := x.GetAppointment(); v != nil {
		item.Appointment, item.Path, item.Who = true, appointmentPath(v.GetId()), fullName(v.GetCustomer())
		item.Held = v.GetStatus() == bookingv1.AppointmentStatus_APPOINTMENT_STATUS_HELD
		if v.GetStatus() == bookingv1.AppointmentStatus_APPOINTMENT_STATUS_BOOKED && starts.After(r.now()) {
			item.Move, item.Version = item.Path+"/move", v.GetVersion()
		}
	}
	return item, ok
}

// dayAgendaPage is the agenda of a day, with a column for each person.
type dayAgendaPage struct {
	Day            time.Time
	Today          bool
	Previous, Next time.Time
	Columns        []agendaColumn
	RowHeight      string // class
	Marks          []hourMark
	People         []staffView
	Form           *form
	Holidays       []*bookingv1.Holiday
	Truncated      bool
	// Hidden is the number of people whom the page leaves out.
	Hidden int
	// Query is the filter, for links to other days.
	Query string
}

func (dayAgendaPage) head() (*message, string) {
	return msg("appointments.agenda.title"), "appointments"
}

func (r *request) dayAgenda() error {
	at := r.chosenDay("day")
	day := r.daySpan(at)
	a, err := r.readAgenda(day)
	if err != nil {
		return err
	}
	f := newForm("day", at.Format(time.DateOnly))
	f.values["staff"] = r.http.URL.Query()["staff"]
	page := dayAgendaPage{
		Day: at, Today: at.Equal(r.midnight(r.now(), 0)), Previous: r.midnight(at, -1), Next: r.midnight(at, 1), People: active(a.people), Form: f,
		Holidays: a.holidays, Truncated: a.truncated,
	}
	if len(f.All("staff")) > 0 {
		page.Query = "&" + url.Values{"staff": f.All("staff")}.Encode()
	}
	shown := a.shownOn(f.All("staff"))
	if page.Hidden = len(shown) - agendaColumns; page.Hidden > 0 {
		shown = shown[:agendaColumns]
	}
	if err := r.readHours(&a, shown, day); err != nil {
		return err
	}
	part := r.hoursShown(a, shown, []interval{day}).column(day)
	page.Marks = hourMarks(r.texts, part, r.session.Clock.Zone)
	for _, s := range shown {
		page.Columns = append(page.Columns, r.column(a, s, day, part))
	}
	page.RowHeight = spread(page.Columns)
	return r.render("agenda", page)
}

// shownOn returns the chosen people; if none is chosen, those who are active and those who are busy.
func (a agenda) shownOn(chosen []string) []staffView {
	busy := map[string]bool{}
	for _, x := range a.entries {
		busy[x.GetResourceId()] = true
	}
	var some []staffView
	for _, s := range a.people {
		if len(chosen) == 0 && (s.GetActive() || busy[s.GetId()]) || slices.Contains(chosen, s.GetId()) {
			some = append(some, s)
		}
	}
	return some
}

// agendaLine is an appointment or a class in the list of a day.
type agendaLine struct {
	agendaItem
	Names []string // of the people
}

// agendaDay is a day in the list of a week.
type agendaDay struct {
	At    time.Time
	Today bool
	Lines []agendaLine
}

// weekAgendaPage is the agenda of a week: of one person in columns, or of all people as lists.
type weekAgendaPage struct {
	From, To       time.Time
	Previous, Next time.Time
	People         []option
	Form           *form
	Person         *staffView
	Columns        []agendaColumn
	RowHeight      string // class
	Marks          []hourMark
	Days           []agendaDay
	Holidays       []*bookingv1.Holiday
	Truncated      bool
	Empty          bool
}

func (weekAgendaPage) head() (*message, string) {
	return msg("appointments.agenda.week_title"), "appointments"
}

// Query is the filter, for links to other weeks.
func (p weekAgendaPage) Query() string {
	if p.Person == nil {
		return ""
	}
	return "&staff=" + url.QueryEscape(p.Person.GetId())
}

func (r *request) weekAgenda() error {
	from := r.chosenDay("from")
	from = r.midnight(from, -r.dayOfWeek(from))
	week := interval{from, r.midnight(from, 7)}
	a, err := r.readAgenda(week)
	if err != nil {
		return err
	}
	page := weekAgendaPage{
		From: from, To: r.midnight(from, 6), Previous: r.midnight(from, -7), Next: week.until, Form: newForm("from", from.Format(time.DateOnly), "staff", r.query("staff")),
		People: staffOptions(active(a.people), r.text("appointments.agenda.everyone")), Holidays: a.holidays, Truncated: a.truncated, Empty: len(a.entries) == 0,
	}
	var days []interval
	for i := range 7 {
		days = append(days, r.daySpan(r.midnight(from, i)))
	}
	if at := slices.IndexFunc(a.people, func(s staffView) bool { return s.GetId() == r.query("staff") }); at >= 0 {
		page.Person = &a.people[at]
		err = r.weekOf(&page, a, days)
	} else {
		page.Days = r.agendaDays(a, days)
	}
	if err != nil {
		return err
	}
	return r.render("agenda-week", page)
}

// weekOf adds the columns of a person, one for each day.
func (r *request) weekOf(page *weekAgendaPage, a agenda, days []interval) error {
	only := []staffView{*page.Person}
	if err := r.readHours(&a, only, interval{days[0].from, days[len(days)-1].until}); err != nil {
		return err
	}
	hours := r.hoursShown(a, only, days)
	page.Marks = hourMarks(r.texts, hours.column(days[0]), r.session.Clock.Zone)
	for _, day := range days {
		c := r.column(a, *page.Person, day, hours.column(day))
		c.Name, c.Path = r.format("weekday_month_day", day.from), "/appointments?day="+day.from.Format(time.DateOnly)
		page.Columns = append(page.Columns, c)
	}
	page.RowHeight = spread(page.Columns)
	return nil
}

// agendaDays returns the lists of the days, with one line for each date.
func (r *request) agendaDays(a agenda, days []interval) []agendaDay {
	names := map[string]staffView{}
	for _, s := range a.people {
		names[s.GetId()] = s
	}
	all := make([]agendaDay, len(days))
	for i, day := range days {
		all[i] = agendaDay{At: day.from, Today: !r.now().Before(day.from) && r.now().Before(day.until)}
		lines := map[string]int{}
		for _, x := range a.entries {
			if starts := x.GetDateStartsAt().AsTime(); starts.Before(day.from) || !starts.Before(day.until) {
				continue
			}
			at, known := lines[x.GetEventDateId()]
			if !known {
				item, _ := r.agendaItem(x, day)
				item.Color = names[x.GetResourceId()].GetColor()
				at = len(all[i].Lines)
				lines[x.GetEventDateId()] = at
				all[i].Lines = append(all[i].Lines, agendaLine{agendaItem: item})
			}
			all[i].Lines[at].Names = append(all[i].Lines[at].Names, names[x.GetResourceId()].GetName())
		}
		slices.SortStableFunc(all[i].Lines, func(a, b agendaLine) int { return a.starts.Compare(b.starts) })
	}
	return all
}
