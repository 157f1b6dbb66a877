package admin

import (
	"strconv"
	"strings"

	"reservation.dev/platform/fault"
	ids "reservation.dev/platform/resource"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// scanResult is the result of scanning a ticket.
type scanResult struct {
	// Class is the colour: "done", "warn" or "failed".
	Class string
	Title *message
	// Name is the customer's; "" if the code is unknown.
	Name string
	Text *message
	// Path is the page to look at; "" if there is none.
	Path string
}

// scanPage checks customers in by their tickets.
type scanPage struct {
	Event    eventView
	Slot     slot
	Result   *scanResult // nil before the first scan
	Arrivals arrivals
	Action   string
}

func (scanPage) head() (*message, string) { return msg("door.scan.title"), "events" }

func (r *request) scanForm() error {
	page, err := r.scanPage()
	if err != nil {
		return err
	}
	if page.Arrivals, err = r.arrivals(page.Event.GetId(), page.Slot.GetDate().GetId()); err != nil {
		return err
	}
	page.Arrivals.Swap = false
	return r.render("scan", page)
}

func (r *request) scanPage() (scanPage, error) {
	e, s, err := r.findDate()
	return scanPage{Event: e, Slot: s, Action: s.Path() + "/scan"}, err
}

// scan checks in the booking of a ticket, and shows the result on the same page.
func (r *request) scan() error {
	page, err := r.scanPage()
	if err != nil {
		return err
	}
	result, err := r.checkTicket(page.Slot, r.value("code"))
	if err != nil {
		return err
	}
	page.Result = &result
	if page.Arrivals, err = r.arrivals(page.Event.GetId(), page.Slot.GetDate().GetId()); err != nil {
		return err
	}
	if r.live() {
		return r.fragment("scan", "scanned", page)
	}
	page.Arrivals.Swap = false
	return r.render("scan", page)
}

// bookingOf returns the booking that a ticket or a person names; "" if the text is not an identifier.
func bookingOf(code string) string {
	code = strings.ToLower(strings.TrimSpace(code))
	if strings.HasPrefix(code, "booking_") {
		return code
	}
	return ids.BookingID(code)
}

// checkTicket checks a booking in if it is on this date, and returns what to say.
func (r *request) checkTicket(s slot, code string) (scanResult, error) {
	unknown := scanResult{Class: "failed", Title: msg("door.scan.unknown"), Text: msg("door.scan.unknown_help")}
	id := bookingOf(code)
	if id == "" || len(id) > 100 {
		return unknown, nil
	}
	res, err := r.services.bookings.GetRegistration(r.ctx, &bookingv1.GetRegistrationRequest{BookingId: id})
	if fault.Is(err, fault.NotFound) {
		return unknown, nil
	}
	if err != nil {
		return unknown, err
	}
	row := r.rosterRow(res.GetRegistration())
	b := row.GetBooking()
	result := scanResult{Class: "failed", Name: row.Name(), Text: spacesText(b.GetSpaces()), Path: "/bookings/" + b.GetId()}
	switch {
	case b.GetEventDateId() != s.GetDate().GetId():
		result.Title, result.Text = msg("door.scan.elsewhere"), msg("door.scan.other_date", "event", b.GetEventTitle(), "time", r.session.Clock.Time(b.GetStartsAt()))
		return result, nil
	case b.GetIsCancelled():
		result.Title = msg("door.scan.cancelled")
		return result, nil
	case row.CheckedIn():
		result.Class, result.Title = "warn", msg("door.scan.already")
		return result, nil
	}
	return r.checkIn(result, row.Registration)
}

// checkIn checks a booking in. Another device may have done so since it was read. The version is a part of the key:
// if a check-in was undone, the form that made it checks in again when it is sent again.
func (r *request) checkIn(result scanResult, reg *bookingv1.Registration) (scanResult, error) {
	b := reg.GetBooking()
	done, err := performPart(r, b.GetId()+" "+strconv.FormatInt(reg.GetVersion(), 10), r.services.bookings.RecordAttendance, &bookingv1.RecordAttendanceRequest{
		BookingId: b.GetId(), Attendance: bookingv1.Attendance_ATTENDANCE_CHECKED_IN,
	})
	if f := fault.From(err); err != nil && isRefusal(f) {
		result.Title, result.Text = msg("door.scan.refused"), sentence(f)
		return result, nil
	}
	if err != nil {
		return result, err
	}
	r.target(b.GetId())
	r.detail("attendance", "", "checked-in")
	result.Class, result.Title = "done", msg("door.scan.in")
	if !done.GetChanged() {
		r.unchanged()
		result.Class, result.Title = "warn", msg("door.scan.already")
	}
	return result, nil
}
