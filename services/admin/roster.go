package admin

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/collate"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"

	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// rosterMost is the largest number of bookings that the roster of a date shows on one page, sorted by name.
// The bookings of a date that has more are listed in pages, in the order in which they were made.
const rosterMost = 500

// rosterRead is the number of bookings that one call reads.
const rosterRead = 200

// rosterPart is the largest number of bookings on a page that is not compressed: the result of a search, and a page
// of a date that has more than rosterMost.
const rosterPart = 50

// rosterRow is a booking in the roster of its date.
type rosterRow struct {
	registrationView
	// Started reports whether the date has started.
	Started bool
	// Swap says that the row replaces the same row of the page.
	Swap bool
	// Words are the texts that all rows have.
	Words *rosterWords
}

// rosterWords are the texts that all rows of a roster have. They are looked up once for a page.
type rosterWords struct {
	In, Missed, CheckIn, More, Paid, Undo, NoShow, Early, Open, Customer, Ticket string
}

func (r *request) rosterWords() *rosterWords {
	return &rosterWords{
		In: r.text("desk.state.checked_in"), Missed: r.text("desk.state.no_show"), CheckIn: r.text("desk.attend.check_in"), More: r.text("door.roster.more"),
		Paid: r.text("desk.column.paid"), Undo: r.text("desk.attend.undo"), NoShow: r.text("desk.attend.no_show"), Early: r.text("door.no_show.link"),
		Open: r.text("desk.booking.link"), Customer: r.text("desk.column.customer"), Ticket: r.text("door.ticket.link"),
	}
}

// Expected reports whether the row can be checked in.
func (r rosterRow) Expected() bool { return !r.CheckedIn() && !r.GetBooking().GetIsCancelled() }

// Name returns the name of the customer who takes part.
func (r rosterRow) Name() string { return fullName(r.Guest()) }

// BoughtFor reports whether somebody else bought the booking.
func (r rosterRow) BoughtFor() bool { return r.GetBooking().GetBoughtFor() != nil }

// Class is the row's style: "here", "missed", or "" if no attendance is recorded.
func (r rosterRow) Class() string {
	switch {
	case r.CheckedIn():
		return "here"
	case r.NoShow():
		return "missed"
	}
	return ""
}

// arrivals is how many of the people who have booked a date are checked in.
type arrivals struct {
	Come, Of int64
	// Bookings says that bookings are counted instead of people.
	Bookings bool
	// Swap says that the bar replaces the one of the page.
	Swap bool
}

// Percent returns the share of those who are checked in, 0 to 100.
func (a arrivals) Percent() int64 { return min(100, 100*a.Come/max(1, a.Of)) }

// Text says it in words: "23 of 40 have come".
func (a arrivals) Text() *message {
	if a.Bookings {
		return msg("door.arrivals.bookings", "come", a.Come, "of", a.Of)
	}
	return msg("door.arrivals.people", "come", a.Come, "of", a.Of)
}

// roster is the bookings of a date.
type roster struct {
	Rows  []rosterRow
	Total int64
	// Complete says that all bookings were read.
	Complete bool
	// Found is the number of bookings that a search has found. Rows can have fewer.
	Found    int
	Next     string
	Arrivals arrivals
}

// Cut reports whether the page shows only some of the bookings that a search has found.
func (all roster) Cut() bool { return all.Complete && len(all.Rows) < all.Found }

// readRoster reads the bookings of a date, in at most 3 calls. If they are more than rosterMost, it reads some of them
// and counts the rest.
func (r *request) readRoster(event, date string, cancelled bool) (all roster, err error) {
	req := &bookingv1.ListRegistrationsRequest{EventId: event, EventDateId: date, PageSize: rosterRead, Cancelled: &cancelled}
	for {
		if err := r.addRows(&all, req); err != nil {
			return all, err
		}
		if all.Total > rosterMost {
			if !cancelled {
				all.Arrivals, err = r.countArrivals(event, date, all.Total)
			}
			return all, err
		}
		if req.PageToken == "" || len(all.Rows) > rosterMost {
			break
		}
	}
	all.Complete = true
	all.Arrivals = arrivalsOf(all.Rows)
	return all, nil
}

// addRows reads a page of bookings. In the request, it sets the token of the next page.
func (r *request) addRows(all *roster, req *bookingv1.ListRegistrationsRequest) error {
	res, err := r.services.bookings.ListRegistrations(r.ctx, req)
	if err != nil {
		return err
	}
	words := r.rosterWords()
	for _, booked := range res.GetRegistrations() {
		row := r.rosterRow(booked)
		row.Words = words
		all.Rows = append(all.Rows, row)
	}
	all.Total, req.PageToken = res.GetTotal(), res.GetNextPageToken()
	return nil
}

// showRows leaves in a roster the rows that the page shows: those that a search finds, sorted by name, or for a date
// with more bookings than rosterMost, the page that the query names.
func (r *request) showRows(all *roster, e eventView, s slot, cancelled bool) error {
	if all.Complete {
		all.find(r.query("q"))
		r.sortByName(all.Rows)
		if all.Found = len(all.Rows); !r.plain {
			all.Rows = all.Rows[:min(all.Found, rosterPart)]
		}
		return nil
	}
	all.Rows = nil
	req := &bookingv1.ListRegistrationsRequest{
		EventId: e.GetId(), EventDateId: s.GetDate().GetId(), PageSize: rosterPart, PageToken: r.query("page"), Cancelled: &cancelled,
	}
	err := r.addRows(all, req)
	all.Next = r.with("page", req.PageToken)
	return err
}

func (r *request) rosterRow(booked *bookingv1.Registration) rosterRow {
	return rosterRow{registrationView: registrationView{booked}, Started: r.session.Clock.Past(booked.GetBooking().GetStartsAt())}
}

// arrivalsOf counts the people of all bookings of a date.
func arrivalsOf(rows []rosterRow) arrivals {
	var a arrivals
	for _, row := range rows {
		spaces := int64(row.GetBooking().GetSpaces())
		a.Of += spaces
		if row.CheckedIn() {
			a.Come += spaces
		}
	}
	return a
}

// countArrivals counts the bookings of a date that has more of them than are read.
func (r *request) countArrivals(event, date string, total int64) (arrivals, error) {
	res, err := r.services.bookings.ListRegistrations(r.ctx, &bookingv1.ListRegistrationsRequest{
		EventId: event, EventDateId: date, PageSize: 1, Cancelled: new(bool), Attendance: bookingv1.Attendance_ATTENDANCE_CHECKED_IN,
	})
	return arrivals{Come: res.GetTotal(), Of: total, Bookings: true}, err
}

// sortByName sorts bookings by the last and then the first name of the customer who takes part, in the order
// of the reader's language.
func (r *request) sortByName(rows []rosterRow) {
	order := collate.New(r.language, collate.IgnoreCase)
	slices.SortStableFunc(rows, func(a, b rosterRow) int {
		x, y := a.Guest(), b.Guest()
		return cmp.Or(
			order.CompareString(cmp.Or(x.GetLastName(), x.GetFirstName()), cmp.Or(y.GetLastName(), y.GetFirstName())),
			order.CompareString(x.GetFirstName(), y.GetFirstName()), cmp.Compare(a.GetBooking().GetId(), b.GetBooking().GetId()))
	})
}

// find removes the rows whose names do not contain all words of a search. checkin.js does the same while people
// type.
func (all *roster) find(search string) {
	words := strings.Fields(plain(search))
	all.Rows = slices.DeleteFunc(all.Rows, func(row rosterRow) bool {
		name := plain(row.Name() + " " + row.Purchaser())
		return slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(name, word) })
	})
}

// letters are letters without a decomposition, as people type them who do not have them on their keyboards.
var letters = strings.NewReplacer("ł", "l", "ø", "o", "đ", "d", "ð", "d", "ı", "i", "ß", "ss", "æ", "ae", "œ", "oe", "þ", "th")

// plain returns a text in lower case and without accents, for searching.
func plain(text string) string {
	bare, _, err := transform.String(transform.Chain(norm.NFD, runes.Remove(runes.In(unicode.Mn))), text)
	if err != nil {
		bare = text
	}
	return letters.Replace(strings.ToLower(bare))
}

// eventDatePage is a date with its bookings and its waitlist.
type eventDatePage struct {
	Event     eventView
	Slot      slot
	Roster    roster
	Query     string // the search
	Waitlist  []entryView
	Waiting   int64
	Cancelled bool // the page shows cancelled bookings
	Self      string
	Teachers  []*message
}

func (p eventDatePage) head() (*message, string) { return literal(p.Event.GetTitle()), "events" }

func (r *request) eventDate() error {
	e, s, err := r.findDate()
	if err != nil {
		return err
	}
	page := eventDatePage{Event: e, Slot: s, Cancelled: r.query("show") == "cancelled", Query: r.query("q"), Self: r.http.URL.RequestURI()}
	if page.Roster, err = r.readRoster(e.GetId(), s.GetDate().GetId(), page.Cancelled); err != nil {
		return err
	}
	if err = r.showRows(&page.Roster, e, s, page.Cancelled); err != nil {
		return err
	}
	if page.Teachers, err = r.teacherLines(s.GetDate()); err != nil {
		return err
	}
	if page.Waitlist, page.Waiting, err = r.waitlist(s.GetDate().GetId()); err != nil {
		return err
	}
	return r.render("event-date", page)
}

// attendedPart is what changes on the page of a date when an attendance is recorded.
type attendedPart struct {
	Row      rosterRow
	Arrivals arrivals
	Said     string
}

func (attendedPart) head() (*message, string) { return nil, "events" }

// attendances are the values of an attendance form, with the messages that confirm them.
var attendances = map[string]struct {
	value bookingv1.Attendance
	done  string
}{
	"checked-in": {bookingv1.Attendance_ATTENDANCE_CHECKED_IN, "desk.attend.checked_in"},
	"no-show":    {bookingv1.Attendance_ATTENDANCE_NO_SHOW, "desk.attend.marked"},
	"unknown":    {bookingv1.Attendance_ATTENDANCE_UNKNOWN, "desk.attend.undone"},
}

// attendance records the attendance of a booking. Marking a no-show before the date starts needs a
// confirmation.
func (r *request) attendance() error {
	back, name := local(r.value("back"), home), r.value("attendance")
	if _, ok := attendances[name]; !ok {
		return fault.Missing("page")
	}
	if name == "no-show" {
		res, err := r.services.bookings.GetRegistration(r.ctx, &bookingv1.GetRegistrationRequest{BookingId: r.path("id")})
		if err != nil {
			return err
		}
		if !r.session.Clock.Past(res.GetRegistration().GetBooking().GetStartsAt()) {
			return r.to("/bookings/" + url.PathEscape(r.path("id")) + "/no-show")
		}
	}
	return r.recordAttendance(name, back)
}

// recordAttendance records an attendance. It responds with the changed parts of the page, or redirects to a
// page.
func (r *request) recordAttendance(name, back string) error {
	a := attendances[name]
	res, err := performPart(r, name, r.services.bookings.RecordAttendance, &bookingv1.RecordAttendanceRequest{BookingId: r.path("id"), Attendance: a.value})
	if err != nil {
		return r.refused(back, err)
	}
	r.detail("attendance", "", name)
	if !res.GetChanged() {
		r.unchanged()
	}
	row := r.rosterRow(res.GetRegistration())
	said := r.text(a.done, "name", row.Name())
	if !r.live() {
		// After each check-in, the page stays at the row.
		return r.back(back+"#"+url.PathEscape(r.path("id")), said)
	}
	part := attendedPart{Row: row, Said: said}
	part.Row.Swap, part.Row.Words = true, r.rosterWords()
	if part.Arrivals, err = r.arrivals(row.GetBooking().GetEventId(), row.GetBooking().GetEventDateId()); err != nil {
		return err
	}
	return r.fragment("event-date", "attended", part)
}

// arrivals counts who has come to a date, for a page that is already open.
func (r *request) arrivals(event, date string) (arrivals, error) {
	all, err := r.readRoster(event, date, false)
	all.Arrivals.Swap = true
	return all.Arrivals, err
}

func (r *request) confirmNoShow() error {
	res, err := r.services.bookings.GetRegistration(r.ctx, &bookingv1.GetRegistrationRequest{BookingId: r.path("id")})
	if err != nil {
		return err
	}
	row := r.rosterRow(res.GetRegistration())
	b := row.GetBooking()
	back := doorPath(b)
	if b.GetIsCancelled() {
		return r.sayFailed(back, r.text(reason("ALREADY_CANCELLED")))
	}
	effect := "door.no_show.started"
	if !row.Started {
		effect = "door.no_show.early"
	}
	return r.confirm(confirmPage{
		Title: r.text("door.no_show.title"), Button: r.text("door.no_show.button"),
		Effects: []string{r.text(effect, "time", r.session.Clock.Time(b.GetStartsAt())), r.text("door.no_show.effect")},
	}, "events", row.Name()+", "+b.GetEventTitle(), back)
}

// markNoShow marks a no-show after a confirmation.
func (r *request) markNoShow() error {
	res, err := r.services.bookings.GetRegistration(r.ctx, &bookingv1.GetRegistrationRequest{BookingId: r.path("id")})
	if err != nil {
		return err
	}
	return r.recordAttendance("no-show", doorPath(res.GetRegistration().GetBooking()))
}

// doorPath returns the path of the page on which the customer of a booking is checked in.
func doorPath(b *bookingv1.Booking) string {
	if b.GetEventType() == bookingv1.EventType_EVENT_TYPE_APPOINTMENT {
		return appointmentPath(appointmentOf(b.GetId()))
	}
	return datePath(b.GetEventId(), b.GetEventDateId())
}
