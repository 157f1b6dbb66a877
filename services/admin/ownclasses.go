package admin

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// ownClassesPath is the path of the pages of a teacher.
const ownClassesPath = "/my-classes"

// ownSlot is a date of the teacher who is signed in.
type ownSlot struct{ slot }

// Path returns the path of the teacher's page of the date.
func (s ownSlot) Path() string { return ownClassesPath + "/" + s.GetDate().GetId() }

// ownSlot returns a date as pages show it.
func (r *request) ownSlot(d *bookingv1.OwnDate) ownSlot {
	return ownSlot{slot{clock: r.session.Clock, ScheduledDate: &bookingv1.ScheduledDate{
		EventTitle: d.GetTitle(), EventType: d.GetEventType(), EventStatus: bookingv1.EventStatus_EVENT_STATUS_PUBLISHED, Location: d.GetLocation(),
		Date: &bookingv1.EventDate{
			Id: d.GetId(), StartsAt: d.GetStartsAt(), DurationMinutes: d.GetDurationMinutes(), Timezone: d.GetTimezone(),
			Capacity: d.Capacity, Booked: d.GetBooked(), Status: d.GetStatus(), Rooms: d.GetRooms(),
		},
	}}}
}

// ownDay is a day of the teacher's schedule.
type ownDay struct {
	At    time.Time
	Today bool
	Slots []ownSlot
}

// ownClassesPage is the schedule of the teacher for seven days.
type ownClassesPage struct {
	Days               []ownDay
	From, To           time.Time
	Previous, Next     time.Time
	Cut, Empty, Recent bool
}

func (ownClassesPage) head() (*message, string) { return msg("door.own.title"), "my-classes" }

func (r *request) ownClasses() error {
	from := r.chosenDay("from")
	page := ownClassesPage{From: from, To: r.midnight(from, 6), Previous: r.midnight(from, -7), Next: r.midnight(from, 7), Empty: true}
	slots, cut, err := r.ownSlots(from, page.Next)
	if err != nil {
		return err
	}
	page.Cut, page.Recent = cut, from.Equal(r.midnight(r.now(), 0))
	for i := range 7 {
		span := r.daySpan(r.midnight(from, i))
		d := ownDay{At: span.from, Today: span.from.Equal(r.midnight(r.now(), 0))}
		for _, s := range slots {
			if _, ok := startingIn(s.slot, span); ok {
				d.Slots = append(d.Slots, s)
			}
		}
		page.Empty = page.Empty && len(d.Slots) == 0
		page.Days = append(page.Days, d)
	}
	return r.render("my-classes", page)
}

// ownSlots lists the teacher's dates from one instant to before another; cut reports that there are more than
// calendarPages pages.
func (r *request) ownSlots(from, before time.Time) (all []ownSlot, cut bool, err error) {
	req := &bookingv1.ListOwnDatesRequest{StartsFrom: timestamppb.New(from), StartsBefore: timestamppb.New(before), PageSize: calendarSize}
	for range calendarPages {
		res, err := r.services.own.ListOwnDates(r.ctx, req)
		if err != nil {
			return nil, false, err
		}
		for _, d := range res.GetDates() {
			all = append(all, r.ownSlot(d))
		}
		if req.PageToken = res.GetNextPageToken(); req.PageToken == "" {
			return all, false, nil
		}
	}
	return all, true, nil
}

// ownClassPage is the roster of one of the teacher's dates.
type ownClassPage struct {
	Slot     ownSlot
	Rows     []rosterRow
	Arrivals arrivals
	// Total is the number of bookings; Rows has at most rosterMost of them.
	Total int64
}

func (p ownClassPage) head() (*message, string) { return literal(p.Slot.GetEventTitle()), "my-classes" }

// Cut reports whether the page does not show all bookings.
func (p ownClassPage) Cut() bool { return p.Total > int64(len(p.Rows)) }

func (r *request) ownClass() error {
	res, err := r.services.own.GetOwnDate(r.ctx, &bookingv1.GetOwnDateRequest{Id: r.path("date")})
	if err != nil {
		return err
	}
	page := ownClassPage{Slot: r.ownSlot(res.GetDate())}
	req := &bookingv1.ListOwnBookingsRequest{EventDateId: res.GetDate().GetId(), PageSize: rosterRead}
	for {
		list, err := r.services.own.ListOwnBookings(r.ctx, req)
		if err != nil {
			return err
		}
		for _, b := range list.GetBookings() {
			page.Rows = append(page.Rows, ownRosterRow(b, page.Slot.Started()))
		}
		page.Total, req.PageToken = list.GetTotal(), list.GetNextPageToken()
		if req.PageToken == "" || len(page.Rows) >= rosterMost {
			break
		}
	}
	r.sortByName(page.Rows)
	page.Arrivals = arrivalsOf(page.Rows)
	return r.render("my-class", page)
}

// ownRosterRow returns a booking as a row of a roster.
func ownRosterRow(b *bookingv1.OwnBooking, started bool) rosterRow {
	return rosterRow{Started: started, registrationView: registrationView{&bookingv1.Registration{
		Purchaser: &bookingv1.CustomerReference{FirstName: b.GetFirstName(), LastName: b.GetLastName()},
		Booking:   &bookingv1.Booking{Id: b.GetId(), Spaces: b.GetSpaces(), Attendance: b.GetAttendance(), EventDateId: b.GetEventDateId()},
	}}}
}

// ownAttendance records an attendance on one of the teacher's dates.
func (r *request) ownAttendance() error {
	name, booking := r.value("attendance"), r.value("booking")
	a, ok := attendances[name]
	if !ok {
		return fault.Missing("page")
	}
	back := ownClassesPath + "/" + r.path("date")
	res, err := performPart(r, name+booking, r.services.own.RecordOwnAttendance, &bookingv1.RecordOwnAttendanceRequest{BookingId: booking, Attendance: a.value})
	if err != nil {
		return r.refused(back, err)
	}
	r.target(booking)
	r.detail("attendance", "", name)
	if !res.GetChanged() {
		r.unchanged()
	}
	return r.back(back, r.text(a.done, "name", ownRosterRow(res.GetBooking(), true).Name()))
}
