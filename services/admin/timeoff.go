package admin

import (
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/zone"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// timeOffPage lists the time off of a person or a room, and adds to it.
type timeOffPage struct {
	Of    resource
	Off   []timeOffView
	Total int64
	Form  *form
	Zone  string
	// Conflicts are the first appointments and classes because of which the time off was refused.
	Conflicts []timeOffConflict
}

// timeOffConflict is an appointment or a class that takes the time of a person or a room.
type timeOffConflict struct{ Path, When, Title, Who string }

// conflictsShown is the largest number of conflicts on a page, and conflictsWithin the longest time that is
// searched for them.
const (
	conflictsShown  = 50
	conflictsWithin = 31 * 24 * time.Hour
)

func (p timeOffPage) head() (*message, string) {
	return msg("appointments.off.title_of", "name", p.Of.Name), "staff"
}

// findResource returns the person or the room in the path.
func (r *request) findResource() (resource, error) {
	if strings.HasPrefix(r.http.URL.Path, "/rooms/") {
		room, err := r.findRoom()
		return resource{ID: room.GetId(), Name: room.GetName()}, err
	}
	s, err := r.findStaffMember()
	return resource{Staff: true, ID: s.GetId(), Name: s.GetName()}, err
}

// timeOffShown is the largest number of times off on a page.
const timeOffShown = 100

func (r *request) timeOffPage(f *form) (timeOffPage, error) {
	of, err := r.findResource()
	if err != nil {
		return timeOffPage{}, err
	}
	page := timeOffPage{Of: of, Form: f, Zone: r.session.Clock.Name()}
	page.Off, page.Total, err = r.timeOff(of, timeOffShown)
	return page, err
}

func (r *request) timeOffForm() error {
	tomorrow := r.midnight(r.now(), 1)
	f := newForm("from", tomorrow.Format(wallLayout), "until", r.midnight(tomorrow, 1).Format(wallLayout))
	page, err := r.timeOffPage(f)
	if err != nil {
		return err
	}
	return r.render("time-off", page)
}

// instant returns the instant of a date and time in a field, in the company's zone.
func (r *request) instant(f *form, name string) time.Time {
	wall, ok := f.wall(name, r.session.Clock.Zone)
	if !ok {
		return time.Time{}
	}
	return zone.Instant(wall, r.session.Clock.Zone)
}

// timeOffNames are the form's names of the service's fields.
var timeOffNames = map[string]string{"starts_at": "from", "ends_at": "until"}

func (r *request) addTimeOff() error {
	page, err := r.timeOffPage(r.sent(timeOffNames))
	if err != nil {
		return err
	}
	f := page.Form
	from, until := r.instant(f, "from"), r.instant(f, "until")
	if !f.Failed() && !until.After(from) {
		f.add("until", msg("appointments.off.order"))
	}
	req := &bookingv1.CreateTimeOffRequest{
		StartsAt: timestamppb.New(from), EndsAt: timestamppb.New(until), Reason: f.text("reason"), KeepBookings: f.text("keep") != "",
	}
	if page.Of.Staff {
		req.StaffId = page.Of.ID
	} else {
		req.RoomId = page.Of.ID
	}
	res, err := submit(r, f, r.services.staff.CreateTimeOff, req)
	if err != nil {
		if f.refused == "STAFF_BUSY" || f.refused == "ROOM_BUSY" {
			if page.Conflicts = r.conflicts(page.Of, interval{from, until}); len(page.Conflicts) > 0 {
				f.Summary = msg("appointments.off.busy")
			}
		}
		return r.again(err, "time-off", page)
	}
	off := timeOffView{res.GetTimeOff(), r.logClock()}
	r.detail("time_off", "", r.logTexts().text(off.When()))
	r.detail("reason", "", req.GetReason())
	return r.back(page.Of.Path()+"/time-off", r.text("appointments.off.added"))
}

// conflicts returns the first appointments and classes of a person or a room in a span. If they cannot be
// read, it returns none: the page then only has the refusal, which names one of them.
func (r *request) conflicts(of resource, at interval) []timeOffConflict {
	res, err := r.services.appointments.ListAssignments(r.ctx, &bookingv1.ListAssignmentsRequest{
		StartsFrom: timestamppb.New(at.from), StartsBefore: timestamppb.New(earlier(at.until, at.from.Add(conflictsWithin))), ResourceIds: []string{of.ID},
	})
	if err != nil {
		return nil
	}
	var all []timeOffConflict
	for _, x := range res.GetAssignments()[:min(len(res.GetAssignments()), conflictsShown)] {
		c := timeOffConflict{Path: datePath(x.GetEventId(), x.GetEventDateId()), When: r.session.Clock.Time(x.GetDateStartsAt()), Title: x.GetTitle()}
		if v := x.GetAppointment(); v != nil {
			c.Path, c.Who = appointmentPath(v.GetId()), fullName(v.GetCustomer())
		}
		all = append(all, c)
	}
	return all
}

// findTimeOff returns the time off in the path.
func (r *request) findTimeOff() (timeOffPage, timeOffView, error) {
	page, err := r.timeOffPage(newForm())
	if err != nil {
		return page, timeOffView{}, err
	}
	for _, off := range page.Off {
		if off.GetId() == r.path("off") {
			return page, off, nil
		}
	}
	return page, timeOffView{}, fault.Missing("time off")
}

func (r *request) confirmTimeOff() error {
	page, off, err := r.findTimeOff()
	if err != nil {
		return err
	}
	return r.confirm(r.confirmEnd("time_off"), "staff", page.Of.Name+": "+r.text(off.When()), page.Of.Path()+"/time-off")
}

func (r *request) deleteTimeOff() error {
	page, off, err := r.findTimeOff()
	if err != nil {
		return err
	}
	back := page.Of.Path() + "/time-off"
	if _, err := perform(r, r.services.staff.DeleteTimeOff, &bookingv1.DeleteTimeOffRequest{Id: off.GetId()}); err != nil {
		return r.refused(back, err)
	}
	off.clock = r.logClock()
	r.detail("time_off", r.logTexts().text(off.When()), "")
	return r.back(back, r.text("appointments.off.deleted"))
}

// holidaysPage lists the holidays to come, and adds to them.
type holidaysPage struct {
	Holidays []*bookingv1.Holiday
	Total    int64
	Form     *form
}

func (holidaysPage) head() (*message, string) { return msg("appointments.holidays.title"), "staff" }

func (r *request) holidaysPage(f *form) (holidaysPage, error) {
	res, err := r.services.staff.ListHolidays(r.ctx, &bookingv1.ListHolidaysRequest{
		PageSize: resourcesMost, From: r.midnight(r.now(), 0).Format(time.DateOnly),
	})
	return holidaysPage{Holidays: res.GetHolidays(), Total: res.GetTotal(), Form: f}, err
}

func (r *request) holidays() error {
	page, err := r.holidaysPage(newForm())
	if err != nil {
		return err
	}
	return r.render("holidays", page)
}

func (r *request) createHoliday() error {
	f := r.sent(map[string]string{"date": "day"})
	req := &bookingv1.CreateHolidayRequest{
		Date: f.required("day", msg("appointments.field.day")), Name: f.required("name", msg("desk.field.name")), Location: f.text("location"),
	}
	res, err := submit(r, f, r.services.staff.CreateHoliday, req)
	if err != nil {
		if !f.Failed() {
			return err
		}
		page, trouble := r.holidaysPage(f)
		if trouble != nil {
			return trouble
		}
		return r.again(err, "holidays", page)
	}
	r.target(res.GetHoliday().GetId())
	r.detail("name", "", req.GetName())
	r.detail("day", "", req.GetDate())
	return r.back("/holidays", r.text("appointments.holidays.added", "name", req.GetName(), "day", wallDate(req.GetDate())))
}

// findHoliday returns the holiday in the path.
func (r *request) findHoliday() (*bookingv1.Holiday, error) {
	page, err := r.holidaysPage(newForm())
	if err != nil {
		return nil, err
	}
	for _, h := range page.Holidays {
		if h.GetId() == r.path("id") {
			return h, nil
		}
	}
	return nil, fault.Missing("holiday")
}

func (r *request) confirmHoliday() error {
	h, err := r.findHoliday()
	if err != nil {
		return err
	}
	return r.confirm(r.confirmEnd("holiday"), "staff", h.GetName()+", "+r.wallDate(h.GetDate()), "/holidays")
}

func (r *request) deleteHoliday() error {
	h, err := r.findHoliday()
	if err != nil {
		return err
	}
	if _, err := perform(r, r.services.staff.DeleteHoliday, &bookingv1.DeleteHolidayRequest{Id: h.GetId()}); err != nil {
		return r.refused("/holidays", err)
	}
	r.detail("name", h.GetName(), "")
	r.detail("day", h.GetDate(), "")
	return r.back("/holidays", r.text("appointments.holidays.deleted", "name", h.GetName()))
}

// endEffects are the numbers of effects that the pages before the end of something list.
var endEffects = map[string]int{"time_off": 1, "holiday": 1, "calendar": 2}

// confirmEnd returns the page before the end of time off, a holiday or a calendar.
func (r *request) confirmEnd(what string) confirmPage {
	return r.confirmation("appointments.end."+what, endEffects[what], true)
}
