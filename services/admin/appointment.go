package admin

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

func appointmentPath(id string) string { return "/appointments/" + id }

// appointmentView is an appointment as a page shows it.
type appointmentView struct {
	*bookingv1.Appointment
	clock clock
}

// Path is the path of the appointment's page.
func (v appointmentView) Path() string { return appointmentPath(v.GetId()) }

// Guest returns the name of the customer who attends.
func (v appointmentView) Guest() string { return fullName(v.GetCustomer()) }

// When prints the start and the end: "Sat 21 Nov 2026, 13:04–14:04".
func (v appointmentView) When() string {
	b := v.GetBooking()
	ends := b.GetStartsAt().AsTime().Add(time.Duration(b.GetDurationMinutes()) * time.Minute)
	return v.clock.Time(b.GetStartsAt()) + "–" + v.clock.Hour(timestamppb.New(ends))
}

// Day is the calendar day of the start, YYYY-MM-DD.
func (v appointmentView) Day() string {
	return v.GetBooking().GetStartsAt().AsTime().In(v.clock.Zone).Format(time.DateOnly)
}

// Cancelled reports whether the appointment was cancelled.
func (v appointmentView) Cancelled() bool {
	return v.GetStatus() == bookingv1.AppointmentStatus_APPOINTMENT_STATUS_CANCELLED
}

// Held reports whether the slot is held for somebody who has not paid yet.
func (v appointmentView) Held() bool {
	return v.GetStatus() == bookingv1.AppointmentStatus_APPOINTMENT_STATUS_HELD
}

// Movable reports whether the appointment is booked and has not started.
func (v appointmentView) Movable() bool {
	return !v.Held() && !v.Cancelled() && !v.clock.Past(v.GetBooking().GetStartsAt())
}

// State returns the appointment's status.
func (v appointmentView) State() stateTag {
	switch {
	case v.Cancelled():
		return stateTag{"bad", msg("desk.state.cancelled")}
	case v.Held():
		return stateTag{"warn", msg("appointments.state.held")}
	case v.clock.Past(v.GetBooking().GetStartsAt()):
		return stateTag{"", msg("desk.state.past")}
	}
	return stateTag{"good", msg("desk.state.booked")}
}

// Registration returns the booking of the appointment.
func (v appointmentView) Registration() registrationView {
	return registrationView{&bookingv1.Registration{
		Booking: v.GetBooking(), TransactionId: v.GetTransactionId(), Purchaser: v.GetPurchaser(), CreatedAt: v.GetCreatedAt(), Version: v.GetVersion(),
	}}
}

// RoomNames lists the rooms: "Room 1, Table 2".
func (v appointmentView) RoomNames() string {
	return strings.Join(views(v.GetRooms(), func(x *bookingv1.RoomReference) string { return x.GetName() }), ", ")
}

// appointmentsBetween returns the appointments of a span, in the order of their start.
func (r *request) appointmentsBetween(from, before time.Time) ([]appointmentView, error) {
	req := &bookingv1.ListAppointmentsRequest{PageSize: calendarSize, StartsFrom: timestamppb.New(from), StartsBefore: timestamppb.New(before)}
	var all []appointmentView
	for range calendarPages {
		res, err := r.services.appointments.ListAppointments(r.ctx, req)
		if err != nil {
			return nil, err
		}
		for _, v := range res.GetAppointments() {
			all = append(all, appointmentView{v, r.session.Clock})
		}
		if req.PageToken = res.GetNextPageToken(); req.PageToken == "" {
			break
		}
	}
	return all, nil
}

// appointmentPage is an appointment, with what cancelling it would do now.
type appointmentPage struct {
	Appointment appointmentView
	Outcome     *bookingv1.CancellationOutcome // nil if it cannot be cancelled
	Self        string
}

func (p appointmentPage) head() (*message, string) { return p.Title(), "appointments" }

// Title names the appointment and its customer.
func (p appointmentPage) Title() *message {
	return msg("appointments.appointment.of", "title", p.Appointment.GetTitle(), "name", p.Appointment.Guest())
}

func (r *request) findAppointment() (appointmentView, error) {
	res, err := r.services.appointments.GetAppointment(r.ctx, &bookingv1.GetAppointmentRequest{Id: r.path("id")})
	return appointmentView{res.GetAppointment(), r.session.Clock}, err
}

func (r *request) findAppointmentPage() (appointmentPage, error) {
	v, err := r.findAppointment()
	page := appointmentPage{Appointment: v, Self: appointmentPath(v.GetId())}
	if err != nil || v.Held() || v.Cancelled() {
		return page, err
	}
	page.Outcome, err = r.outcome(v.GetBooking())
	return page, err
}

func (r *request) appointment() error {
	page, err := r.findAppointmentPage()
	if err != nil {
		return err
	}
	return r.render("appointment", page)
}

func (r *request) confirmAppointment() error {
	page, err := r.findAppointmentPage()
	if err != nil {
		return err
	}
	if action := r.path("action"); action != "cancel" && action != "waive" {
		return fault.Missing("page")
	}
	v := page.Appointment
	return r.confirmCancellation(bookingPage{Registration: v.Registration(), Outcome: page.Outcome}, "appointments", v.GetTitle(), v.Path())
}

func (r *request) changeAppointment() error {
	action := r.path("action")
	if action != "cancel" && action != "waive" {
		return fault.Missing("page")
	}
	v, err := r.findAppointment()
	if err != nil {
		return err
	}
	r.action("booking.cancel")
	req := &bookingv1.CancelBookingRequest{BookingId: v.GetBooking().GetId(), WaivePolicy: action == "waive", Reason: r.value("reason")}
	return r.cancelBooking(req, v.Path())
}

// movePage moves an appointment to another slot.
type movePage struct {
	Appointment appointmentView
	Form        *form
	Slots       slotDays
	People      []option
	Lengths     []option
	Day         time.Time
	Zone        string
}

func (movePage) head() (*message, string) { return msg("appointments.move.title"), "appointments" }

// anyPerson is the value of a choice of people that leaves the choice to the service.
const anyPerson = "anyone"

// movePage returns the page with the free slots that a form selects: of its person and length, from its day
// on.
func (r *request) movePage(v appointmentView, f *form) (movePage, error) {
	page := movePage{Appointment: v, Form: f, Zone: r.session.Clock.Name()}
	t, people, err := r.typeAndPeople(v.GetAppointmentTypeId())
	if err != nil {
		return page, err
	}
	page.People = append(staffOptions(t.offering(people), "")[1:], option{anyPerson, r.text("appointments.book.anyone")})
	if !slices.ContainsFunc(page.People, func(o option) bool { return o.Value == f.Get("staff") }) {
		for _, s := range people {
			if s.GetId() == f.Get("staff") {
				page.People = slices.Insert(page.People, 0, option{s.GetId(), s.GetName()})
			}
		}
	}
	page.Lengths = r.lengthOptions(t.lengthsWith(v.GetBooking().GetDurationMinutes()))
	page.Day, err = dayOf(f.text("day"), r.session.Clock.Zone)
	if err != nil {
		page.Day = r.midnight(later(r.now(), v.GetBooking().GetStartsAt().AsTime()), 0)
	}
	f.values.Set("day", page.Day.Format(time.DateOnly))
	length, _ := strconv.ParseInt(f.text("length"), 10, 32)
	req := &bookingv1.FindSlotsRequest{AppointmentTypeId: v.GetAppointmentTypeId(), LengthMinutes: int32(length), MovingId: v.GetId()}
	if f.text("staff") != anyPerson {
		req.StaffId = f.text("staff")
	}
	page.Slots, err = r.findSlots(req, page.Day, people)
	if fault.Is(err, fault.Invalid) { // the type no longer has this length, or the person no longer offers it
		page.Slots, err = slotDays{}, nil
	}
	return page, err
}

// moveValues returns the form with the appointment's own person and length, unless the address has others.
func (r *request) moveValues(v appointmentView) *form {
	f := newForm("staff", v.GetStaff().GetId(), "length", strconv.Itoa(int(v.GetBooking().GetDurationMinutes())), "day", r.query("day"))
	for _, name := range []string{"staff", "length", "start"} {
		if value := r.query(name); value != "" {
			f.values.Set(name, value)
		}
	}
	start := v.GetBooking().GetStartsAt()
	if at := startOfSlot(f.text("start")); at != nil {
		start = timestamppb.New(*at)
	}
	f.values.Set("local", wallText(start, r.session.Clock.Zone))
	f.setVersion(v.GetVersion())
	return f
}

func (r *request) moveForm() error {
	v, err := r.findAppointment()
	if err != nil {
		return err
	}
	if !v.Movable() {
		return r.sayFailed(v.Path(), r.text("appointments.move.not_movable"))
	}
	page, err := r.movePage(v, r.moveValues(v))
	if err != nil {
		return err
	}
	return r.render("move", page)
}

// moveNames are the form's names of the service's fields.
var moveNames = map[string]string{"starts_at": "local", "local_start": "local", "length_minutes": "length", "staff_id": "staff"}

// moveAppointment moves an appointment to the slot of a button, or to the time that was typed.
func (r *request) moveAppointment() error {
	v, err := r.findAppointment()
	if err != nil {
		return err
	}
	f := r.sent(moveNames)
	req := &bookingv1.MoveAppointmentRequest{
		Id: v.GetId(), WaiveNotice: true, WaiveHours: f.text("hours") != "", ExpectedVersion: f.expectedVersion(v.GetVersion()),
	}
	if at := startOfSlot(f.text("start")); at != nil {
		req.StartsAt = timestamppb.New(*at)
		f.values.Set("local", wallText(req.GetStartsAt(), r.session.Clock.Zone))
	} else if at := r.instant(f, "local"); !f.Failed() {
		req.StartsAt = timestamppb.New(at)
	}
	if length, given := f.integer("length", msg("desk.field.duration"), 5, 1440); given {
		req.LengthMinutes = int32(length)
	}
	if req.StaffId = f.text("staff"); req.GetStaffId() == anyPerson {
		req.StaffId, req.AnyStaff = "", true
	}
	res, err := submit(r, f, r.services.appointments.MoveAppointment, req)
	if err != nil {
		if !f.Failed() {
			return err
		}
		page, trouble := r.movePage(v, f)
		if trouble != nil {
			return trouble
		}
		return r.again(err, "move", page)
	}
	moved := appointmentView{res.GetAppointment(), r.session.Clock}
	if !res.GetChanged() {
		r.unchanged()
		return r.back(v.Path(), r.text("appointments.move.unchanged"))
	}
	r.detail("starts_at", v.When(), moved.When())
	r.detail("staff", v.GetStaff().GetName(), moved.GetStaff().GetName())
	back := v.Path()
	if f.text("back") == "agenda" {
		back = "/appointments?day=" + moved.GetBooking().GetStartsAt().AsTime().In(r.session.Clock.Zone).Format(time.DateOnly)
	}
	return r.back(back, r.text("appointments.move.moved", "when", moved.When(), "staff", moved.GetStaff().GetName()))
}
