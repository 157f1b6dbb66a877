package admin

import (
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// salon is the data of the tests of appointments.
type salon struct {
	alex, sam   *bookingv1.StaffMember
	room        *bookingv1.Room
	massage     *bookingv1.AppointmentType
	appointment *bookingv1.Appointment
	hours       *bookingv1.WorkingHours
	// at is the start of the appointment: 10:00 in London on a day to come.
	at time.Time
}

// day is the calendar day of the appointment.
func (s *salon) day() string { return s.at.Format(time.DateOnly) }

// withSalon adds Alex, Sam, a room, a massage, an appointment of Ann with Alex, a class of Sam and time off,
// on the day after tomorrow.
func withSalon(w *world) *salon {
	withEvent(w, "Yoga", "Ann")
	loc, err := time.LoadLocation("Europe/London")
	if err != nil {
		w.t.Fatal(err)
	}
	now := time.Now().In(loc).AddDate(0, 0, 2)
	s := &salon{
		at:   time.Date(now.Year(), now.Month(), now.Day(), 10, 0, 0, 0, loc),
		alex: &bookingv1.StaffMember{Id: "staff_1", Name: "Alex", Color: "#3366cc", Active: true, Version: 4},
		sam:  &bookingv1.StaffMember{Id: "staff_2", Name: "Sam", Color: "#cc3366", Active: true, Version: 1},
		room: &bookingv1.Room{Id: "room_1", Name: "Blue room", Kind: bookingv1.RoomKind_ROOM_KIND_ROOM, Capacity: 2, Active: true, Version: 3},
	}
	s.massage = &bookingv1.AppointmentType{
		Id: "apt_1", EventId: "evt_9", Title: "Massage", Timezone: "Europe/London", Lengths: []int32{30, 60}, BufferBeforeMinutes: 5, BufferAfterMinutes: 10,
		SlotMinutes: 15, MinimumNoticeMinutes: 120, MaximumAdvanceDays: 60, StaffIds: []string{"staff_1", "staff_2"}, Active: true, Version: 7,
		Rooms: []*bookingv1.RoomRequirement{{AnyOf: []string{"room_1"}}},
		Prices: []*bookingv1.AppointmentPrice{
			{Option: &bookingv1.PricingOption{Id: "po-30", Name: "Short", Price: 3000, Currency: "GBP"}, LengthMinutes: 30},
			{Option: &bookingv1.PricingOption{Id: "po-60", Name: "Long", Price: 5000, Currency: "GBP"}, LengthMinutes: 60},
		},
	}
	ann := &bookingv1.CustomerReference{Id: "cust_1", FirstName: "Ann", LastName: "Smith"}
	s.appointment = &bookingv1.Appointment{
		Id: "appt_1", AppointmentTypeId: "apt_1", Title: "Massage", Status: bookingv1.AppointmentStatus_APPOINTMENT_STATUS_BOOKED, Version: 9, Customer: ann, Purchaser: ann,
		Staff: &bookingv1.StaffReference{Id: "staff_1", Name: "Alex", Color: "#3366cc"}, Rooms: []*bookingv1.RoomReference{{Id: "room_1", Name: "Blue room", Unit: 1}},
		BufferBeforeMinutes: 5, BufferAfterMinutes: 10,
		Booking: &bookingv1.Booking{
			Id: "booking_1", Spaces: 1, EventId: "evt_9", EventDateId: "date_9", EventTitle: "Massage", EventType: bookingv1.EventType_EVENT_TYPE_APPOINTMENT,
			StartsAt: timestamppb.New(s.at), DurationMinutes: 60, Timezone: "Europe/London",
			Payment: &bookingv1.Booking_Card{Card: &bookingv1.CardPayment{Currency: "GBP", Gross: 5000}},
		},
	}
	week := []*bookingv1.WeeklyHours{}
	for day := int32(1); day <= 7; day++ {
		week = append(week, &bookingv1.WeeklyHours{Weekday: day, Range: &bookingv1.HoursRange{Starts: "09:00", Ends: "17:00", Timezone: "Europe/London"}})
	}
	s.hours = &bookingv1.WorkingHours{StaffId: "staff_1", Weekly: week, Version: 4}
	s.answerReads(w)
	s.answerLists(w)
	s.answerWrites(w)
	return s
}

// assignments are what takes the time of the staff and the room.
func (s *salon) assignments() []*bookingv1.Assignment {
	of := func(resource string, unit int32) *bookingv1.Assignment {
		return &bookingv1.Assignment{
			ResourceId: resource, Unit: unit, StartsAt: timestamppb.New(s.at.Add(-5 * time.Minute)), EndsAt: timestamppb.New(s.at.Add(70 * time.Minute)),
			EventDateId: "date_9", EventId: "evt_9", Title: "Massage", DateStartsAt: timestamppb.New(s.at), DurationMinutes: 60, Appointment: s.appointment,
		}
	}
	noon := s.at.Add(2 * time.Hour)
	return []*bookingv1.Assignment{of("staff_1", 0), of("room_1", 1), {
		ResourceId: "staff_2", StartsAt: timestamppb.New(noon), EndsAt: timestamppb.New(noon.Add(time.Hour)), EventDateId: "date_1", EventId: "evt_1", Title: "Yoga",
		DateStartsAt: timestamppb.New(noon), DurationMinutes: 60,
	}}
}

func (s *salon) answerReads(w *world) {
	on(w.backend, "GetStaffMember", func(req *bookingv1.GetStaffMemberRequest) (*bookingv1.GetStaffMemberResponse, error) {
		if req.GetId() != "staff_1" {
			return nil, fault.Missing("staff member")
		}
		return &bookingv1.GetStaffMemberResponse{StaffMember: s.alex}, nil
	})
	on(w.backend, "GetWorkingHours", func(req *bookingv1.GetWorkingHoursRequest) (*bookingv1.GetWorkingHoursResponse, error) {
		hours := proto.CloneOf(s.hours)
		hours.StaffId = req.GetStaffId()
		return &bookingv1.GetWorkingHoursResponse{Hours: hours}, nil
	})
	on(w.backend, "ListWorkingHours", func(req *bookingv1.ListWorkingHoursRequest) (*bookingv1.ListWorkingHoursResponse, error) {
		res := &bookingv1.ListWorkingHoursResponse{}
		for _, who := range req.GetStaffIds() {
			hours := proto.CloneOf(s.hours)
			hours.StaffId = who
			res.Hours = append(res.Hours, hours)
		}
		return res, nil
	})
	on(w.backend, "GetRoom", func(*bookingv1.GetRoomRequest) (*bookingv1.GetRoomResponse, error) {
		return &bookingv1.GetRoomResponse{Room: s.room}, nil
	})
	on(w.backend, "GetAppointmentType", func(*bookingv1.GetAppointmentTypeRequest) (*bookingv1.GetAppointmentTypeResponse, error) {
		return &bookingv1.GetAppointmentTypeResponse{AppointmentType: s.massage}, nil
	})
	on(w.backend, "GetAppointment", func(req *bookingv1.GetAppointmentRequest) (*bookingv1.GetAppointmentResponse, error) {
		if req.GetId() != "appt_1" {
			return nil, fault.Missing("appointment")
		}
		return &bookingv1.GetAppointmentResponse{Appointment: s.appointment}, nil
	})
	on(w.backend, "GetCalendar", func(*bookingv1.GetCalendarRequest) (*bookingv1.GetCalendarResponse, error) {
		return &bookingv1.GetCalendarResponse{Calendar: &bookingv1.Calendar{Id: "cal_1", SecretStart: "abcdefgh"}}, nil
	})
}

func (s *salon) answerLists(w *world) {
	on(w.backend, "ListStaff", func(*bookingv1.ListStaffRequest) (*bookingv1.ListStaffResponse, error) {
		return &bookingv1.ListStaffResponse{Staff: []*bookingv1.StaffMember{s.alex, s.sam}, Total: 2}, nil
	})
	on(w.backend, "ListRooms", func(*bookingv1.ListRoomsRequest) (*bookingv1.ListRoomsResponse, error) {
		return &bookingv1.ListRoomsResponse{Rooms: []*bookingv1.Room{s.room}, Total: 1}, nil
	})
	on(w.backend, "ListTimeOff", func(*bookingv1.ListTimeOffRequest) (*bookingv1.ListTimeOffResponse, error) {
		off := &bookingv1.TimeOff{
			Id: "off_1", StaffId: "staff_1", StartsAt: timestamppb.New(s.at.Add(5 * time.Hour)), EndsAt: timestamppb.New(s.at.Add(6 * time.Hour)), Reason: "Dentist",
		}
		return &bookingv1.ListTimeOffResponse{TimeOff: []*bookingv1.TimeOff{off}, Total: 1}, nil
	})
	on(w.backend, "ListHolidays", func(*bookingv1.ListHolidaysRequest) (*bookingv1.ListHolidaysResponse, error) {
		return &bookingv1.ListHolidaysResponse{Holidays: []*bookingv1.Holiday{{Id: "hol_1", Date: s.day(), Name: "Fair", Location: "Annex"}}, Total: 1}, nil
	})
	on(w.backend, "ListAppointmentTypes", func(*bookingv1.ListAppointmentTypesRequest) (*bookingv1.ListAppointmentTypesResponse, error) {
		other := proto.CloneOf(s.massage)
		other.Id, other.Title, other.Prices = "apt_2", "Consultation", nil
		return &bookingv1.ListAppointmentTypesResponse{AppointmentTypes: []*bookingv1.AppointmentType{s.massage, other}, Total: 2}, nil
	})
	on(w.backend, "ListAppointments", func(*bookingv1.ListAppointmentsRequest) (*bookingv1.ListAppointmentsResponse, error) {
		return &bookingv1.ListAppointmentsResponse{Appointments: []*bookingv1.Appointment{s.appointment}, Total: 1}, nil
	})
	on(w.backend, "ListAssignments", func(*bookingv1.ListAssignmentsRequest) (*bookingv1.ListAssignmentsResponse, error) {
		return &bookingv1.ListAssignmentsResponse{Assignments: s.assignments()}, nil
	})
	on(w.backend, "FindSlots", func(req *bookingv1.FindSlotsRequest) (*bookingv1.FindSlotsResponse, error) {
		slot := &bookingv1.Slot{StartsAt: timestamppb.New(s.at.Add(3 * time.Hour)), EndsAt: timestamppb.New(s.at.Add(4 * time.Hour)), StaffIds: []string{"staff_2", "staff_1"}}
		return &bookingv1.FindSlotsResponse{Timezone: req.GetTimezone(), LengthMinutes: 60, Days: []*bookingv1.SlotDay{
			{Date: s.day(), Slots: []*bookingv1.Slot{slot}}, {Date: s.at.AddDate(0, 0, 1).Format(time.DateOnly), Reason: bookingv1.NoSlotsReason_NO_SLOTS_REASON_HOLIDAY},
		}}, nil
	})
	on(w.backend, "ListCalendars", func(*bookingv1.ListCalendarsRequest) (*bookingv1.ListCalendarsResponse, error) {
		return &bookingv1.ListCalendarsResponse{Calendars: []*bookingv1.Calendar{
			{Id: "cal_1", Kind: bookingv1.CalendarKind_CALENDAR_KIND_STAFF, SubjectId: "staff_1", SecretStart: "abcdefgh"},
			{Id: "cal_2", Kind: bookingv1.CalendarKind_CALENDAR_KIND_CUSTOMER, SubjectId: "cust_1", SecretStart: "ijklmnop"},
			{Id: "cal_3", Kind: bookingv1.CalendarKind_CALENDAR_KIND_COMPANY, SecretStart: "qrstuvwx"},
		}, Total: 3}, nil
	})
}

func (s *salon) answerWrites(w *world) {
	on(w.backend, "CreateStaffMember", func(*bookingv1.CreateStaffMemberRequest) (*bookingv1.CreateStaffMemberResponse, error) {
		return &bookingv1.CreateStaffMemberResponse{StaffMember: s.alex}, nil
	})
	on(w.backend, "UpdateStaffMember", func(*bookingv1.UpdateStaffMemberRequest) (*bookingv1.UpdateStaffMemberResponse, error) {
		return &bookingv1.UpdateStaffMemberResponse{StaffMember: s.alex}, nil
	})
	on(w.backend, "SetWorkingHours", func(*bookingv1.SetWorkingHoursRequest) (*bookingv1.SetWorkingHoursResponse, error) {
		return &bookingv1.SetWorkingHoursResponse{Hours: s.hours}, nil
	})
	on(w.backend, "CreateTimeOff", func(req *bookingv1.CreateTimeOffRequest) (*bookingv1.CreateTimeOffResponse, error) {
		if !req.GetKeepBookings() {
			return nil, fault.Refuse("STAFF_BUSY", "busy").With("staff_id", "staff_1").With("event_date_id", "date_9")
		}
		return &bookingv1.CreateTimeOffResponse{TimeOff: &bookingv1.TimeOff{Id: "off_2", StartsAt: req.GetStartsAt(), EndsAt: req.GetEndsAt()}}, nil
	})
	on(w.backend, "DeleteTimeOff", func(*bookingv1.DeleteTimeOffRequest) (*bookingv1.DeleteTimeOffResponse, error) {
		return &bookingv1.DeleteTimeOffResponse{}, nil
	})
	on(w.backend, "CreateHoliday", func(req *bookingv1.CreateHolidayRequest) (*bookingv1.CreateHolidayResponse, error) {
		return &bookingv1.CreateHolidayResponse{Holiday: &bookingv1.Holiday{Id: "hol_2", Name: req.GetName(), Date: req.GetDate()}}, nil
	})
	on(w.backend, "DeleteHoliday", func(*bookingv1.DeleteHolidayRequest) (*bookingv1.DeleteHolidayResponse, error) {
		return &bookingv1.DeleteHolidayResponse{}, nil
	})
	on(w.backend, "CreateRoom", func(*bookingv1.CreateRoomRequest) (*bookingv1.CreateRoomResponse, error) {
		return &bookingv1.CreateRoomResponse{Room: s.room}, nil
	})
	on(w.backend, "UpdateRoom", func(*bookingv1.UpdateRoomRequest) (*bookingv1.UpdateRoomResponse, error) {
		return &bookingv1.UpdateRoomResponse{Room: s.room}, nil
	})
	on(w.backend, "CreateAppointmentType", func(*bookingv1.CreateAppointmentTypeRequest) (*bookingv1.CreateAppointmentTypeResponse, error) {
		return &bookingv1.CreateAppointmentTypeResponse{AppointmentType: s.massage}, nil
	})
	on(w.backend, "UpdateAppointmentType", func(*bookingv1.UpdateAppointmentTypeRequest) (*bookingv1.UpdateAppointmentTypeResponse, error) {
		return &bookingv1.UpdateAppointmentTypeResponse{AppointmentType: s.massage}, nil
	})
	on(w.backend, "BookAppointment", func(*bookingv1.BookAppointmentRequest) (*bookingv1.BookAppointmentResponse, error) {
		return &bookingv1.BookAppointmentResponse{Appointment: s.appointment}, nil
	})
	on(w.backend, "MoveAppointment", func(*bookingv1.MoveAppointmentRequest) (*bookingv1.MoveAppointmentResponse, error) {
		return &bookingv1.MoveAppointmentResponse{Appointment: s.appointment, Changed: true}, nil
	})
	on(w.backend, "CancelBooking", func(*bookingv1.CancelBookingRequest) (*bookingv1.CancelBookingResponse, error) {
		return &bookingv1.CancelBookingResponse{Changed: true, Outcome: &bookingv1.CancellationOutcome{RefundDue: 5000, Currency: "GBP"}}, nil
	})
	on(w.backend, "UpdateEvent", func(*bookingv1.UpdateEventRequest) (*bookingv1.UpdateEventResponse, error) {
		return &bookingv1.UpdateEventResponse{}, nil
	})
	on(w.backend, "CreateCalendar", func(req *bookingv1.CreateCalendarRequest) (*bookingv1.CreateCalendarResponse, error) {
		return &bookingv1.CreateCalendarResponse{Calendar: &bookingv1.Calendar{Id: "cal_4", Kind: req.GetKind(), SubjectId: req.GetSubjectId()}, Secret: "s3cret"}, nil
	})
	on(w.backend, "RevokeCalendar", func(*bookingv1.RevokeCalendarRequest) (*bookingv1.RevokeCalendarResponse, error) {
		return &bookingv1.RevokeCalendarResponse{}, nil
	})
	on(w.backend, "CreateCustomer", func(req *customerv1.CreateCustomerRequest) (*customerv1.CreateCustomerResponse, error) {
		return &customerv1.CreateCustomerResponse{Customer: &customerv1.Customer{Id: "cust_2", FirstName: req.GetFirstName(), LastName: req.GetLastName()}}, nil
	})
}
