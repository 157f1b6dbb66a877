package browser

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// salonData is the data of the pages of appointments.
type salonData struct {
	staff, room, off, roomOff, holiday, kind, option, appointment, calendar, customer, event, date string
	starts                                                                                         time.Time
}

// addShort adds appointments of 5 and 10 minutes that follow each other.
func (w *world) addShort(t *testing.T, d *salonData) {
	t.Helper()
	ctx := w.company.Ctx(t.Context())
	kind, err := w.op.Types.CreateAppointmentType(ctx, &bookingv1.CreateAppointmentTypeRequest{
		Title: "Blood pressure check", Lengths: []int32{5, 10}, SlotMinutes: 5, StaffIds: []string{d.staff},
		Prices: []*bookingv1.NewAppointmentPrice{{Option: &bookingv1.NewPricingOption{Name: "Standard", Price: 500}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var lines []*bookingv1.ImportedAppointment
	at := d.starts.Add(-2 * time.Hour)
	for _, minutes := range []int32{5, 5, 10, 5, 10, 10} {
		lines = append(lines, &bookingv1.ImportedAppointment{
			Reference: "short-" + at.Format("15:04"), Customer: d.customer, AppointmentType: kind.GetAppointmentType().GetId(), Staff: d.staff,
			StartsAt: timestamppb.New(at), LengthMinutes: minutes,
		})
		at = at.Add(time.Duration(minutes) * time.Minute)
	}
	res, err := w.op.Appointments.ImportAppointments(ctx, &bookingv1.ImportAppointmentsRequest{Appointments: lines})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range res.GetResults() {
		if x.GetId() == "" {
			t.Fatalf("a short appointment is not imported: %v", x)
		}
	}
}

// addSalon adds a staff member with hours and time off, a room, a holiday, an appointment type, an
// appointment in two days, and a calendar address.
func (w *world) addSalon(t *testing.T) (d salonData) {
	t.Helper()
	ctx := w.company.Ctx(t.Context())
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	person, err := w.op.Staff.CreateStaffMember(ctx, &bookingv1.CreateStaffMemberRequest{Name: "Alex Page"})
	must(err)
	d.staff = person.GetStaffMember().GetId()
	var week []*bookingv1.WeeklyHours
	for day := int32(1); day <= 7; day++ {
		week = append(week, &bookingv1.WeeklyHours{Weekday: day, Range: &bookingv1.HoursRange{Starts: "08:00", Ends: "20:00"}})
	}
	_, err = w.op.Staff.SetWorkingHours(ctx, &bookingv1.SetWorkingHoursRequest{StaffId: d.staff, Weekly: week})
	must(err)
	noon := time.Now().UTC().Truncate(24 * time.Hour).Add(12 * time.Hour)
	off, err := w.op.Staff.CreateTimeOff(ctx, &bookingv1.CreateTimeOffRequest{
		StaffId: d.staff, StartsAt: timestamppb.New(noon.AddDate(0, 0, 3)), EndsAt: timestamppb.New(noon.AddDate(0, 0, 3).Add(time.Hour)), Reason: "Dentist",
	})
	must(err)
	d.off = off.GetTimeOff().GetId()
	holiday, err := w.op.Staff.CreateHoliday(ctx, &bookingv1.CreateHolidayRequest{Date: noon.AddDate(0, 0, 40).Format(time.DateOnly), Name: "Fair"})
	must(err)
	d.holiday = holiday.GetHoliday().GetId()
	room, err := w.op.Rooms.CreateRoom(ctx, &bookingv1.CreateRoomRequest{Name: "Blue room", Capacity: 2})
	must(err)
	d.room = room.GetRoom().GetId()
	off, err = w.op.Staff.CreateTimeOff(ctx, &bookingv1.CreateTimeOffRequest{
		RoomId: d.room, StartsAt: timestamppb.New(noon.AddDate(0, 0, 4)), EndsAt: timestamppb.New(noon.AddDate(0, 0, 4).Add(time.Hour)), Reason: "Painting",
	})
	must(err)
	d.roomOff = off.GetTimeOff().GetId()
	kind, err := w.op.Types.CreateAppointmentType(ctx, &bookingv1.CreateAppointmentTypeRequest{
		Title: "Massage of the pages", Lengths: []int32{30, 60}, StaffIds: []string{d.staff}, Rooms: []*bookingv1.RoomRequirement{{AnyOf: []string{d.room}}},
		Prices: []*bookingv1.NewAppointmentPrice{{Option: &bookingv1.NewPricingOption{Name: "Standard", Price: 5000}}},
	})
	must(err)
	d.kind = kind.GetAppointmentType().GetId()
	d.option = kind.GetAppointmentType().GetPrices()[0].GetOption().GetId()
	customer, err := w.op.Customers.CreateCustomer(ctx, &customerv1.CreateCustomerRequest{FirstName: "Ann", LastName: "Page", Email: "ann.page@example.com"})
	must(err)
	d.customer, d.starts = customer.GetCustomer().GetId(), noon.AddDate(0, 0, 2)
	booked, err := w.op.Appointments.ImportAppointments(ctx, &bookingv1.ImportAppointmentsRequest{Appointments: []*bookingv1.ImportedAppointment{{
		Reference: "page-1", Customer: d.customer, AppointmentType: d.kind, Staff: d.staff, StartsAt: timestamppb.New(d.starts), LengthMinutes: 60,
	}}})
	must(err)
	if d.appointment = booked.GetResults()[0].GetId(); d.appointment == "" {
		t.Fatalf("the appointment is not imported: %v", booked.GetResults())
	}
	w.addShort(t, &d)
	calendar, err := w.op.Calendars.CreateCalendar(ctx, &bookingv1.CreateCalendarRequest{Kind: bookingv1.CalendarKind_CALENDAR_KIND_STAFF, SubjectId: d.staff})
	must(err)
	d.calendar = calendar.GetCalendar().GetId()
	dates, err := w.op.Events.ListEventDates(ctx, &bookingv1.ListEventDatesRequest{StartsFrom: timestamppb.New(noon), PageSize: 200})
	must(err)
	for _, x := range dates.GetDates() {
		if x.GetEventType() == bookingv1.EventType_EVENT_TYPE_CLASS {
			d.date = "/events/" + x.GetEventId() + "/dates/" + x.GetDate().GetId()
			d.event = x.GetEventId()
		}
	}
	if d.date == "" {
		t.Fatal("there is no class to come")
	}
	return d
}

// appointmentPlaces returns the pages of appointments, staff and rooms, after adding data that they show.
func (w *world) appointmentPlaces(t *testing.T) []place {
	t.Helper()
	d := w.addSalon(t)
	day := d.starts.Format(time.DateOnly)
	appointment, kind, staff, room := "/appointments/"+d.appointment, "/appointment-types/"+d.kind, "/staff/"+d.staff, "/rooms/"+d.room
	return []place{
		{"appointments of a day", "/appointments?day=" + day}, {"appointments of a week", "/appointments/week?from=" + day},
		{"week of a staff member", "/appointments/week?from=" + day + "&staff=" + d.staff},
		{"book an appointment", "/appointments/book"}, {"book an appointment at a time", "/appointments/book?type=" + d.kind + "&day=" + day},
		{"appointment", appointment}, {"move an appointment", appointment + "/move"}, {"cancel an appointment", appointment + "/cancel"},
		{"appointment types", "/appointment-types"}, {"new appointment type", "/appointment-types/new"}, {"appointment type", kind},
		{"new price of an appointment type", kind + "/prices/new"}, {"price of an appointment type", kind + "/prices/" + d.option},
		{"end a price of an appointment type", kind + "/prices/" + d.option + "/end"},
		{"staff", "/staff"}, {"new staff member", "/staff/new"}, {"staff member", staff}, {"working hours", staff + "/hours"},
		{"locations of working hours", staff + "/hours?places=1"}, {"time off", staff + "/time-off"}, {"remove time off", staff + "/time-off/" + d.off + "/delete"},
		{"rooms", "/rooms"}, {"new room", "/rooms/new"}, {"room", room}, {"time off of a room", room + "/time-off"},
		{"remove time off of a room", room + "/time-off/" + d.roomOff + "/delete"},
		{"holidays", "/holidays"}, {"remove a holiday", "/holidays/" + d.holiday + "/delete"},
		{"calendar addresses", "/calendars"}, {"revoke a calendar address", "/calendars/" + d.calendar + "/revoke"},
		{"staff of an event", "/events/" + d.event + "/staff"}, {"staff of a date", d.date + "/staff"},
		{"customer with appointments", "/customers/" + d.customer},
	}
}
