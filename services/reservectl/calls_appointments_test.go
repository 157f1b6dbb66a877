package reservectl

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

func staffTests() []callTest {
	return []callTest{
		{"staff list --active=false --appointment-type-id apt_1", bookingv1.StaffService_ListStaff_FullMethodName, &bookingv1.ListStaffRequest{
			PageSize: 50, Active: proto.Bool(false), AppointmentTypeId: "apt_1",
		}},
		{"staff get staff_1", bookingv1.StaffService_GetStaffMember_FullMethodName, &bookingv1.GetStaffMemberRequest{Id: "staff_1"}},
		{"staff create --name Ada --email a@x --color #2f6f4f --reference S-1", bookingv1.StaffService_CreateStaffMember_FullMethodName, &bookingv1.CreateStaffMemberRequest{
			Name: "Ada", Email: "a@x", Color: "#2f6f4f", Reference: "S-1",
		}},
		{"staff update staff_1 --active=false --bio= --expected-version 3", bookingv1.StaffService_UpdateStaffMember_FullMethodName, &bookingv1.UpdateStaffMemberRequest{
			Id: "staff_1", Active: proto.Bool(false), Bio: proto.String(""), ExpectedVersion: proto.Int64(3),
		}},
		{"staff hours staff_1", bookingv1.StaffService_GetWorkingHours_FullMethodName, &bookingv1.GetWorkingHoursRequest{StaffId: "staff_1"}},
		{
			`staff set-hours staff_1 --weekly {"weekday":1,"range":{"starts":"09:00","ends":"17:00"}} --date {"date":"2026-12-24"}`,
			bookingv1.StaffService_SetWorkingHours_FullMethodName, &bookingv1.SetWorkingHoursRequest{
				StaffId: "staff_1", Weekly: []*bookingv1.WeeklyHours{{Weekday: 1, Range: &bookingv1.HoursRange{Starts: "09:00", Ends: "17:00"}}},
				Dates: []*bookingv1.DateHours{{Date: "2026-12-24"}},
			},
		},
		{"time-off list --room-id room_1 --starts-from 2026-03-01T00:00:00Z", bookingv1.StaffService_ListTimeOff_FullMethodName, &bookingv1.ListTimeOffRequest{
			PageSize: 50, RoomId: "room_1", StartsFrom: at("2026-03-01T00:00:00Z"),
		}},
		{"time-off create --staff-id staff_1 --starts-at 2026-03-29T09:00:00Z --ends-at 2026-03-29T17:00:00Z --keep-bookings", bookingv1.StaffService_CreateTimeOff_FullMethodName, &bookingv1.CreateTimeOffRequest{
			StaffId: "staff_1", StartsAt: at("2026-03-29T09:00:00Z"), EndsAt: at("2026-03-29T17:00:00Z"), KeepBookings: true,
		}},
		{"time-off delete off_1", bookingv1.StaffService_DeleteTimeOff_FullMethodName, &bookingv1.DeleteTimeOffRequest{Id: "off_1"}},
		{"holiday list --from 2026-01-01 --to 2026-12-31", bookingv1.StaffService_ListHolidays_FullMethodName, &bookingv1.ListHolidaysRequest{PageSize: 50, From: "2026-01-01", To: "2026-12-31"}},
		{"holiday create --date 2026-12-25 --name Christmas --location North", bookingv1.StaffService_CreateHoliday_FullMethodName, &bookingv1.CreateHolidayRequest{
			Date: "2026-12-25", Name: "Christmas", Location: "North",
		}},
		{"holiday delete hol_1", bookingv1.StaffService_DeleteHoliday_FullMethodName, &bookingv1.DeleteHolidayRequest{Id: "hol_1"}},
		{"room list --active", bookingv1.RoomService_ListRooms_FullMethodName, &bookingv1.ListRoomsRequest{PageSize: 50, Active: proto.Bool(true)}},
		{"room get room_1", bookingv1.RoomService_GetRoom_FullMethodName, &bookingv1.GetRoomRequest{Id: "room_1"}},
		{"room create --name Laser --kind equipment --capacity 2", bookingv1.RoomService_CreateRoom_FullMethodName, &bookingv1.CreateRoomRequest{
			Name: "Laser", Kind: bookingv1.RoomKind_ROOM_KIND_EQUIPMENT, Capacity: 2,
		}},
		{"room update room_1 --capacity 3", bookingv1.RoomService_UpdateRoom_FullMethodName, &bookingv1.UpdateRoomRequest{Id: "room_1", Capacity: proto.Int32(3)}},
	}
}

func appointmentTests() []callTest {
	slot := &bookingv1.SlotRequest{AppointmentTypeId: "apt_1", LocalStart: "2026-03-29T09:30:00", StaffId: "staff_1", LengthMinutes: 60, WaiveHours: true}
	const slotFlags = " --local-start 2026-03-29T09:30:00 --staff-id staff_1 --length-minutes 60 --waive-hours"
	return []callTest{
		{"appointment-type list --staff-id staff_1", bookingv1.AppointmentTypeService_ListAppointmentTypes_FullMethodName, &bookingv1.ListAppointmentTypesRequest{PageSize: 50, StaffId: "staff_1"}},
		{"appointment-type get apt_1", bookingv1.AppointmentTypeService_GetAppointmentType_FullMethodName, &bookingv1.GetAppointmentTypeRequest{Id: "apt_1"}},
		{
			`appointment-type create --title Massage --length 30,60 --staff-id staff_1 --room {"any_of":["room_1","room_2"]} --price {"option":{"name":"Standard","price":4000},"length_minutes":30}`,
			bookingv1.AppointmentTypeService_CreateAppointmentType_FullMethodName, &bookingv1.CreateAppointmentTypeRequest{
				Title: "Massage", Lengths: []int32{30, 60}, StaffIds: []string{"staff_1"}, Rooms: []*bookingv1.RoomRequirement{{AnyOf: []string{"room_1", "room_2"}}},
				Prices: []*bookingv1.NewAppointmentPrice{{Option: &bookingv1.NewPricingOption{Name: "Standard", Price: 4000}, LengthMinutes: 30}},
			},
		},
		{"appointment-type update apt_1 --buffer-after-minutes 0 --staff staff_1,staff_2 --room=", bookingv1.AppointmentTypeService_UpdateAppointmentType_FullMethodName, &bookingv1.UpdateAppointmentTypeRequest{
			Id: "apt_1", BufferAfterMinutes: proto.Int32(0), Staff: &bookingv1.StaffChoice{StaffIds: []string{"staff_1", "staff_2"}}, Rooms: &bookingv1.RoomRequirements{},
		}},
		{"appointment slots apt_1 --from 2026-03-29 --to 2026-04-04 --explain --moving-id appt_1", bookingv1.AppointmentService_FindSlots_FullMethodName, &bookingv1.FindSlotsRequest{
			AppointmentTypeId: "apt_1", From: "2026-03-29", To: "2026-04-04", Explain: true, MovingId: "appt_1",
		}},
		{"appointment book apt_1 cust_1 --payment-method cash" + slotFlags, bookingv1.AppointmentService_BookAppointment_FullMethodName, &bookingv1.BookAppointmentRequest{
			Slot: slot, PurchaserId: "cust_1", PaymentMethod: bookingv1.PaymentMethod_PAYMENT_METHOD_CASH,
		}},
		{"appointment hold apt_1 cust_1 --minutes 10" + slotFlags, bookingv1.AppointmentService_HoldAppointment_FullMethodName, &bookingv1.HoldAppointmentRequest{
			Slot: slot, PurchaserId: "cust_1", Minutes: 10,
		}},
		{"appointment move appt_1 --starts-at 2026-03-29T09:30:00Z --any-staff --expected-version 0", bookingv1.AppointmentService_MoveAppointment_FullMethodName, &bookingv1.MoveAppointmentRequest{
			Id: "appt_1", StartsAt: at("2026-03-29T09:30:00Z"), AnyStaff: true, ExpectedVersion: proto.Int64(0),
		}},
		{"appointment list --staff-id staff_1 --status held,booked --order start_desc", bookingv1.AppointmentService_ListAppointments_FullMethodName, &bookingv1.ListAppointmentsRequest{
			PageSize: 50, StaffId: "staff_1", Order: bookingv1.AppointmentOrder_APPOINTMENT_ORDER_START_DESC,
			Statuses: []bookingv1.AppointmentStatus{bookingv1.AppointmentStatus_APPOINTMENT_STATUS_HELD, bookingv1.AppointmentStatus_APPOINTMENT_STATUS_BOOKED},
		}},
		{"appointment get appt_1", bookingv1.AppointmentService_GetAppointment_FullMethodName, &bookingv1.GetAppointmentRequest{Id: "appt_1"}},
		{"appointment assignments --starts-from 2026-03-29T00:00:00Z --starts-before 2026-03-30T00:00:00Z --resource-id staff_1,room_1", bookingv1.AppointmentService_ListAssignments_FullMethodName, &bookingv1.ListAssignmentsRequest{
			StartsFrom: at("2026-03-29T00:00:00Z"), StartsBefore: at("2026-03-30T00:00:00Z"), ResourceIds: []string{"staff_1", "room_1"},
		}},
		{"calendar list --subject-id staff_1", bookingv1.CalendarService_ListCalendars_FullMethodName, &bookingv1.ListCalendarsRequest{PageSize: 50, SubjectId: "staff_1"}},
		{"calendar get cal_1", bookingv1.CalendarService_GetCalendar_FullMethodName, &bookingv1.GetCalendarRequest{Id: "cal_1"}},
		{"calendar create --kind staff --subject-id staff_1", bookingv1.CalendarService_CreateCalendar_FullMethodName, &bookingv1.CreateCalendarRequest{
			Kind: bookingv1.CalendarKind_CALENDAR_KIND_STAFF, SubjectId: "staff_1",
		}},
		{"calendar revoke cal_1", bookingv1.CalendarService_RevokeCalendar_FullMethodName, &bookingv1.RevokeCalendarRequest{Id: "cal_1"}},
		{"appointment cancel appt_1 --waive-policy", bookingv1.BookingService_CancelBooking_FullMethodName, &bookingv1.CancelBookingRequest{BookingId: "booking_1", WaivePolicy: true}},
		{"registration cancel appt_1", bookingv1.BookingService_CancelBooking_FullMethodName, &bookingv1.CancelBookingRequest{BookingId: "booking_1"}},
	}
}

// TestSlotTable checks that a table of slots has a row for each slot, and one for each day without slots.
func TestSlotTable(t *testing.T) {
	w := newRPCWorld(t)
	w.answer = func(string, proto.Message) (proto.Message, error) {
		return &bookingv1.FindSlotsResponse{Days: []*bookingv1.SlotDay{
			{Date: "2026-03-29", Slots: []*bookingv1.Slot{
				{LocalStart: "2026-03-29T09:00:00", StaffIds: []string{"staff_1", "staff_2"}}, {LocalStart: "2026-03-29T09:15:00", StaffIds: []string{"staff_2"}},
			}},
			{Date: "2026-03-30", Reason: bookingv1.NoSlotsReason_NO_SLOTS_REASON_HOLIDAY},
		}}, nil
	}
	var rows []string
	for line := range strings.Lines(ok(t, with("appointment slots apt_1 --from 2026-03-29 --to 2026-03-30 --explain -o table")...)) {
		rows = append(rows, strings.Join(strings.Fields(line), " "))
	}
	want := []string{
		"DATE LOCAL_START STAFF REASON", "2026-03-29 2026-03-29T09:00:00 staff_1,staff_2 –", "2026-03-29 2026-03-29T09:15:00 staff_2 –", "2026-03-30 – – holiday",
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Error(diff)
	}
	if out := ok(t, with("appointment slots apt_1 --from 2026-03-29 --to 2026-03-30 -o json")...); strings.Count(out, `"date"`) != 2 {
		t.Errorf("the JSON does not have one object for each day: %s", out)
	}
}
