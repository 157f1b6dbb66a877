package admin

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// newSalon returns the dashboard of a salon, with a member of staff signed in.
func newSalon(t *testing.T) (*world, *salon) {
	t.Helper()
	w := newWorld(t)
	w.role = authv1.AdministratorRole_ADMINISTRATOR_ROLE_MANAGER
	w.signIn()
	return w, withSalon(w)
}

func TestAgenda(t *testing.T) {
	t.Parallel()
	w, s := newSalon(t)
	t.Run("shows a day with a column for each person", func(t *testing.T) {
		w.backend.count()
		a := w.get("/appointments?day=" + s.day())
		a.must(t, `href="/appointments/appt_1"`, "10:00–11:00", "Ann Smith", `data-move="/appointments/appt_1/move"`, `data-version="9"`,
			`fill="#3366cc"`, "12:00–13:00", `href="/events/evt_1/dates/date_1"`, "Dentist", "Fair", `aria-label="Alex"`, `aria-label="Sam"`)
		// Authenticate, staff, assignments, time off, holidays and hours.
		if n := w.backend.count(); n != 6 {
			t.Errorf("%d calls", n)
		}
		// The appointment begins two hours after 8:00, and lasts an hour.
		a.must(t, `class="block r24 n12"`, `class="buffer r23 n1"`, `class="buffer r36 n2"`)
	})
	t.Run("links free time to the form that books it", func(t *testing.T) {
		body := w.page("/appointments?day=" + s.day())
		free := func(hour int) string {
			at := time.Date(s.at.Year(), s.at.Month(), s.at.Day(), hour, 0, 0, 0, s.at.Location())
			return strings.ReplaceAll(bookPath(url.Values{"day": {s.day()}, "staff": {"staff_1"}, "start": {at.UTC().Format(time.RFC3339)}}), "&", "&amp;")
		}
		for hour, want := range map[int]bool{8: false, 9: true, 10: false, 12: true, 14: true, 15: false, 16: true, 17: false} {
			if strings.Contains(body, free(hour)) != want {
				t.Errorf("%d:00 is free: %v", hour, !want)
			}
		}
	})
	t.Run("shows only the chosen people", func(t *testing.T) {
		body := w.page("/appointments?day=" + s.day() + "&staff=staff_2")
		if strings.Contains(body, `aria-label="Alex"`) || !strings.Contains(body, `aria-label="Sam"`) || !strings.Contains(body, "&amp;staff=staff_2") {
			t.Error(text(body))
		}
	})
	t.Run("shows nothing as free on a holiday of all locations", func(t *testing.T) {
		w, s := newSalon(t)
		on(w.backend, "ListHolidays", func(*bookingv1.ListHolidaysRequest) (*bookingv1.ListHolidaysResponse, error) {
			return &bookingv1.ListHolidaysResponse{Holidays: []*bookingv1.Holiday{{Id: "hol_1", Date: s.day(), Name: "Fair"}}}, nil
		})
		if body := w.page("/appointments?day=" + s.day()); strings.Contains(body, `class="free`) || strings.Contains(body, `class="hours`) {
			t.Error("the day has free time")
		}
	})
	t.Run("says what to do when there is nobody", func(t *testing.T) {
		w, _ := newSalon(t)
		withoutAppointments(w)
		on(w.backend, "ListAssignments", func(*bookingv1.ListAssignmentsRequest) (*bookingv1.ListAssignmentsResponse, error) {
			return &bookingv1.ListAssignmentsResponse{}, nil
		})
		w.get("/appointments").must(t, "Nobody to show on this day", "/staff/new", "/appointment-types/new")
		w.get("/appointments/week").must(t, "Nothing in this week")
	})
	t.Run("shows at most 12 people and says so", func(t *testing.T) {
		w, s := newSalon(t)
		on(w.backend, "ListStaff", func(*bookingv1.ListStaffRequest) (*bookingv1.ListStaffResponse, error) {
			return &bookingv1.ListStaffResponse{Staff: slices.Repeat([]*bookingv1.StaffMember{s.alex}, 14)}, nil
		})
		w.backend.count()
		w.get("/appointments?day="+s.day()).must(t, "2 more staff members are not shown")
		req := last[*bookingv1.ListWorkingHoursRequest](w, "ListWorkingHours")
		if n := len(w.backend.called("ListWorkingHours")); n != 1 || len(req.GetStaffIds()) != 12 {
			t.Errorf("%d calls for hours, the last for %v", n, req)
		}
	})
	t.Run("shows the present outside the usual hours", func(t *testing.T) {
		w, s := newSalon(t)
		day := w.get("/appointments?day=" + s.day()).body
		if strings.Contains(day, `class="now`) || strings.Contains(day, ">05:00<") {
			t.Error("another day shows the present")
		}
		w.web.now = func() time.Time { return s.at.Add(-5*time.Hour + 20*time.Minute) }
		w.get("/appointments?day="+s.day()).must(t, ">05:00<", `class="now r4 n1"`)
	})
	t.Run("shows a week of all people, and of one", func(t *testing.T) {
		w.web.now = func() time.Time { return s.at } // the hours that are shown include the present
		w.get("/appointments/week?from="+s.day()).must(t, `href="/appointments/appt_1"`, "Ann Smith", "Alex", `href="/events/evt_1/dates/date_1"`)
		w.get("/appointments/week?staff=staff_1&from="+s.day()).must(t, `class="block r24 n12"`, `href="/appointments?day=`+s.day(), "&amp;staff=staff_1")
	})
}

func TestBookAppointment(t *testing.T) {
	t.Parallel()
	w, s := newSalon(t)
	start := s.at.Add(3 * time.Hour).UTC().Format(time.RFC3339)
	query := url.Values{"type": {"apt_1"}, "length": {"60"}, "day": {s.day()}, "start": {start}}
	form := []string{"type", "apt_1", "length", "60", "day", s.day(), "start", start, "customer", "cust_1", "method", "cash", "reference", "till 7", "option", "po-60"}
	t.Run("begins with the choice of a type", func(t *testing.T) {
		w.get("/appointments/book?day="+s.day()+"&staff=staff_1").must(t, "Massage", "Consultation", "30 min, 1 h", "from £30.00", "staff=staff_1&amp;type=apt_1")
	})
	t.Run("shows free times, with the reasons of days without one", func(t *testing.T) {
		w.get("/appointments/book?type=apt_1&staff=staff_2&length=60&day="+s.day()).must(t, "13:00", "Sam", "Holiday", `name="length"`)
		want := &bookingv1.FindSlotsRequest{
			AppointmentTypeId: "apt_1", LengthMinutes: 60, StaffId: "staff_2", From: s.day(), To: s.at.AddDate(0, 0, 6).Format(time.DateOnly),
			Timezone: "Europe/London", Explain: true, WaiveNotice: true,
		}
		if req := last[*bookingv1.FindSlotsRequest](w, "FindSlots"); !proto.Equal(req, want) {
			t.Errorf("%v", req)
		}
	})
	t.Run("offers only the types of the chosen person", func(t *testing.T) {
		w, s := newSalon(t)
		on(w.backend, "ListAppointmentTypes", func(*bookingv1.ListAppointmentTypesRequest) (*bookingv1.ListAppointmentTypesResponse, error) {
			other := proto.CloneOf(s.massage)
			other.Id, other.Title, other.StaffIds = "apt_2", "Consultation", []string{"staff_1"}
			third := proto.CloneOf(other)
			third.Id, third.Title = "apt_3", "Haircut"
			return &bookingv1.ListAppointmentTypesResponse{AppointmentTypes: []*bookingv1.AppointmentType{s.massage, other, third}, Total: 3}, nil
		})
		w.get("/appointments/book?staff=staff_1").must(t, "Massage", "Consultation", "Haircut")
		if a := w.get("/appointments/book?staff=staff_2"); strings.Contains(a.body, "Consultation") {
			t.Error(describe(a)) // Sam gives only Massage, which is therefore chosen
		}
		before := len(w.backend.called("FindSlots"))
		slot := "start=" + url.QueryEscape(start) + "&day=" + s.day()
		w.get("/appointments/book?type=apt_2&staff=staff_2&"+slot).must(t, "Sam does not give Consultation. Choose another staff member, or another appointment type.",
			"Consultation with anyone", "staff=staff_2&amp;start="+url.QueryEscape(start)+"&amp;type=apt_1")
		w.get("/appointments/book?staff=staff_9").must(t, "This staff member does not give any appointments.", "Anyone")
		a := w.post("/appointments/book", "type", "apt_2", "length", "60", "day", s.day(), "start", start, "staff", "staff_2", "customer", "cust_1", "method", "card")
		a.must(t, "Sam does not give Consultation.")
		if a.StatusCode != http.StatusUnprocessableEntity || len(w.backend.called("BookAppointment")) != 0 || len(w.backend.called("FindSlots")) != before {
			t.Error(describe(a))
		}
	})
	t.Run("says that a chosen time is not free", func(t *testing.T) {
		w.get("/appointments/book?type=apt_1&day="+s.day()+"&start="+url.QueryEscape(s.at.UTC().Format(time.RFC3339))).must(t, "10:00–10:30 is not free", "13:00")
	})
	t.Run("finds the customer", func(t *testing.T) {
		w.get(bookPath(query)+"&q=ann").must(t, "Ann Smith", "customer=cust_1", "Long: £50.00", "New customer")
	})
	t.Run("books for a customer, and shows the day", func(t *testing.T) {
		query := url.Values{"customer": {"cust_1"}, "type": {"apt_1"}, "length": {"60"}, "day": {s.day()}, "start": {start}}
		w.get(bookPath(query)).must(t, "Ann Smith", `name="start" value="`+start+`"`, "Payment", "Book the appointment")
		a := w.post("/appointments/book", form...)
		if a.to() != "/appointments?day="+s.day() {
			t.Fatal(describe(a))
		}
		w.get(a.to()).must(t, "Massage is booked for Ann Smith", "with Alex, £50.00")
		want := &bookingv1.BookAppointmentRequest{
			Slot: &bookingv1.SlotRequest{
				AppointmentTypeId: "apt_1", LengthMinutes: 60, StartsAt: timestamppb.New(s.at.Add(3 * time.Hour)), WaiveNotice: true,
			},
			PurchaserId: "cust_1", PricingOptionId: "po-60", PaymentMethod: bookingv1.PaymentMethod_PAYMENT_METHOD_CASH, PaymentReference: "till 7",
		}
		if req := last[*bookingv1.BookAppointmentRequest](w, "BookAppointment"); !proto.Equal(req, want) {
			t.Errorf("%v", req)
		}
	})
	t.Run("adds a new customer with the booking, and records both", func(t *testing.T) {
		w.get(bookPath(query)+"&new=1").must(t, `name="first"`, "Choose an existing customer")
		w.post("/appointments/book", "type", "apt_1", "length", "60", "day", s.day(), "start", start, "staff", "staff_1", "new", "1", "method", "card", "option", "po-60",
			"first", "Bo", "last", "Lee", "email", "bo@example.com", "mobile", "123")
		if req := last[*customerv1.CreateCustomerRequest](w, "CreateCustomer"); req.GetFirstName() != "Bo" || req.GetEmail() != "bo@example.com" {
			t.Errorf("%v", req)
		}
		if req := last[*bookingv1.BookAppointmentRequest](w, "BookAppointment"); req.GetPurchaserId() != "cust_2" || req.GetSlot().GetStaffId() != "staff_1" {
			t.Errorf("%v", req)
		}
		if all := w.recorded(); !slices.Equal(all[len(all)-2:], []string{"customer.create", "appointment.create"}) {
			t.Errorf("%v", all)
		}
	})
	t.Run("asks for the name of a new customer", func(t *testing.T) {
		before := len(w.backend.called("CreateCustomer"))
		a := w.post("/appointments/book", "type", "apt_1", "length", "60", "day", s.day(), "start", start, "new", "1", "first", "", "last", "Lee", "email", "bo@example.com")
		a.must(t, "Enter a first name.", `value="Lee"`)
		if a.StatusCode != http.StatusUnprocessableEntity || len(w.backend.called("CreateCustomer")) != before {
			t.Error(describe(a))
		}
	})
	t.Run("says why the service refuses the slot, and keeps what was typed", func(t *testing.T) {
		on(w.backend, "BookAppointment", func(*bookingv1.BookAppointmentRequest) (*bookingv1.BookAppointmentResponse, error) {
			return nil, fault.Refuse("SLOT_UNAVAILABLE", "taken").With("why", "staff_busy")
		})
		a := w.post("/appointments/book", form...)
		a.must(t, "This time was just taken", `value="till 7"`)
		if a.StatusCode != http.StatusUnprocessableEntity {
			t.Error(describe(a))
		}
	})
	t.Run("asks for a time", func(t *testing.T) {
		w.post("/appointments/book", "type", "apt_1").must(t, "Choose a time.")
	})
}

func TestAppointmentPage(t *testing.T) {
	t.Parallel()
	w, s := newSalon(t)
	t.Run("shows everything about it", func(t *testing.T) {
		w.get("/appointments/appt_1").must(t, "Massage, Ann Smith", "10:00–11:00", "Alex", "Blue room", "5 min before, 10 min after", "£50.00", "/customers/cust_1",
			"/bookings/booking_1", "/appointments/appt_1/move", "/appointments/appt_1/cancel", "Check in")
	})
	t.Run("cancels it with a preview, and returns to it", func(t *testing.T) {
		w.get("/appointments/appt_1/cancel").must(t, "Cancel this booking", "Ann Smith, Massage",
			"The time becomes free. If a customer waits for it, that customer gets it first.")
		a := w.post("/appointments/appt_1/cancel", "reason", "Ill")
		if a.to() != "/appointments/appt_1" {
			t.Fatal(describe(a))
		}
		want := &bookingv1.CancelBookingRequest{BookingId: "booking_1", Reason: "Ill"}
		if req := last[*bookingv1.CancelBookingRequest](w, "CancelBooking"); !proto.Equal(req, want) {
			t.Errorf("%v", req)
		}
		entry := last[*authv1.RecordAuditEntryRequest](w, "RecordAuditEntry")
		if entry.GetAction() != "booking.cancel" || entry.GetTarget() != "booking_1" {
			t.Errorf("%v", entry)
		}
	})
	t.Run("waives the policy", func(t *testing.T) {
		w.get("/appointments/appt_1/waive").must(t, "waive the policy", "The time becomes free.")
		w.post("/appointments/appt_1/waive")
		if req := last[*bookingv1.CancelBookingRequest](w, "CancelBooking"); !req.GetWaivePolicy() {
			t.Errorf("%v", req)
		}
		if a := w.get("/appointments/appt_1/dance"); a.StatusCode != http.StatusNotFound {
			t.Error(describe(a))
		}
	})
	t.Run("says that an appointment without a price is free", func(t *testing.T) {
		w, s := newSalon(t)
		s.appointment.Booking.Payment = &bookingv1.Booking_Card{Card: &bookingv1.CardPayment{Currency: "GBP", Method: bookingv1.PaymentMethod_PAYMENT_METHOD_CASH}}
		if a := w.get("/appointments/appt_1"); strings.Contains(a.body, "£0.00") || !strings.Contains(a.body, "free") {
			t.Error(describe(a))
		}
	})
	t.Run("is on the page of its booking, its customer and its day", func(t *testing.T) {
		on(w.backend, "GetRegistration", func(*bookingv1.GetRegistrationRequest) (*bookingv1.GetRegistrationResponse, error) {
			return &bookingv1.GetRegistrationResponse{Registration: &bookingv1.Registration{Booking: s.appointment.GetBooking(), Purchaser: s.appointment.GetPurchaser()}}, nil
		})
		w.get("/bookings/booking_1").must(t, `href="/appointments/appt_1"`)
		w.get("/customers/cust_1").must(t, "Next appointments", `href="/appointments/appt_1"`, "/appointments/book?customer=cust_1", "/calendars?subject=cust_1")
		on(w.backend, "ListEventDates", func(*bookingv1.ListEventDatesRequest) (*bookingv1.ListEventDatesResponse, error) {
			date := &bookingv1.EventDate{Id: "date_9", StartsAt: timestamppb.New(s.at), DurationMinutes: 60}
			gone := &bookingv1.EventDate{Id: "date_8", StartsAt: timestamppb.New(s.at), DurationMinutes: 60, Status: bookingv1.EventDateStatus_EVENT_DATE_STATUS_CANCELLED}
			kind := bookingv1.EventType_EVENT_TYPE_APPOINTMENT
			return &bookingv1.ListEventDatesResponse{Dates: []*bookingv1.ScheduledDate{
				{Date: date, EventId: "evt_9", EventTitle: "Massage", EventType: kind}, {Date: gone, EventId: "evt_9", EventTitle: "Massage", EventType: kind},
			}}, nil
		})
		a := w.get("/?day=" + s.day())
		a.must(t, `href="/appointments/appt_1"`, "Massage, Ann Smith", "1 date")
		if strings.Contains(a.body, "date_8") {
			t.Error("the page shows the date from which the appointment was moved")
		}
	})
}

func TestMoveAppointment(t *testing.T) {
	t.Parallel()
	w, s := newSalon(t)
	const page = "/appointments/appt_1/move"
	t.Run("offers free times, also the appointment's own", func(t *testing.T) {
		w.get(page+"?day="+s.day()).must(t, "13:00", "Sam", `name="version" value="9"`, "Also outside working hours", `value="`+s.day()+`T10:00"`)
		want := &bookingv1.FindSlotsRequest{
			AppointmentTypeId: "apt_1", LengthMinutes: 60, StaffId: "staff_1", From: s.day(), To: s.at.AddDate(0, 0, 6).Format(time.DateOnly),
			Timezone: "Europe/London", Explain: true, WaiveNotice: true, MovingId: "appt_1",
		}
		if req := last[*bookingv1.FindSlotsRequest](w, "FindSlots"); !proto.Equal(req, want) {
			t.Errorf("%v", req)
		}
		w.page(page + "?staff=anyone")
		if req := last[*bookingv1.FindSlotsRequest](w, "FindSlots"); req.GetStaffId() != "" {
			t.Errorf("%v", req)
		}
	})
	t.Run("moves it to the time of a button", func(t *testing.T) {
		at := s.at.Add(3 * time.Hour)
		a := w.post(page, "start", at.UTC().Format(time.RFC3339), "staff", "anyone", "length", "60", "version", "9")
		if a.to() != "/appointments/appt_1" {
			t.Fatal(describe(a))
		}
		version := int64(9)
		want := &bookingv1.MoveAppointmentRequest{Id: "appt_1", StartsAt: timestamppb.New(at), LengthMinutes: 60, AnyStaff: true, WaiveNotice: true, ExpectedVersion: &version}
		if req := last[*bookingv1.MoveAppointmentRequest](w, "MoveAppointment"); !proto.Equal(req, want) {
			t.Errorf("%v", req)
		}
	})
	t.Run("moves it to where it was dragged, and returns to the day", func(t *testing.T) {
		a := w.post(page, "start", s.at.Add(time.Hour).UTC().Format(time.RFC3339), "staff", "staff_2", "version", "9", "back", "agenda")
		if a.to() != "/appointments?day="+s.day() {
			t.Fatal(describe(a))
		}
		if req := last[*bookingv1.MoveAppointmentRequest](w, "MoveAppointment"); req.GetStaffId() != "staff_2" || req.GetWaiveHours() {
			t.Errorf("%v", req)
		}
	})
	t.Run("moves it to a typed time outside the hours", func(t *testing.T) {
		w.post(page, "local", s.day()+"T20:10", "staff", "staff_1", "length", "60", "hours", "on", "version", "9")
		req := last[*bookingv1.MoveAppointmentRequest](w, "MoveAppointment")
		if !req.GetStartsAt().AsTime().Equal(s.at.Add(10*time.Hour+10*time.Minute)) || !req.GetWaiveHours() {
			t.Errorf("%v", req)
		}
	})
	t.Run("says that nothing changed, and records nothing", func(t *testing.T) {
		on(w.backend, "MoveAppointment", func(*bookingv1.MoveAppointmentRequest) (*bookingv1.MoveAppointmentResponse, error) {
			return &bookingv1.MoveAppointmentResponse{Appointment: s.appointment}, nil
		})
		before := len(w.recorded())
		a := w.post(page, "start", s.at.UTC().Format(time.RFC3339), "staff", "staff_1")
		w.get(a.to()).must(t, "already has this time")
		if len(w.recorded()) != before {
			t.Error(w.recorded())
		}
	})
	t.Run("says why it is refused, and offers other times", func(t *testing.T) {
		on(w.backend, "MoveAppointment", func(*bookingv1.MoveAppointmentRequest) (*bookingv1.MoveAppointmentResponse, error) {
			return nil, fault.Refuse("SLOT_UNAVAILABLE", "no").With("why", "no_hours")
		})
		a := w.post(page, "start", s.at.Add(12*time.Hour).UTC().Format(time.RFC3339), "staff", "staff_1", "version", "9")
		a.must(t, "Nobody works at this time", "13:00", `T22:00"`)
		if a.StatusCode != http.StatusUnprocessableEntity {
			t.Error(describe(a))
		}
	})
	t.Run("does not move a cancelled one", func(t *testing.T) {
		s.appointment.Status = bookingv1.AppointmentStatus_APPOINTMENT_STATUS_CANCELLED
		if a := w.get(page); a.to() != "/appointments/appt_1" {
			t.Error(describe(a))
		}
	})
}
