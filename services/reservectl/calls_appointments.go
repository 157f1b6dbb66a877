package reservectl

import (
	"github.com/spf13/cobra"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

func (a *app) staffCommand() *cobra.Command {
	return a.callGroup("staff", "Manage and import staff and their working hours", []call{
		{
			use: "list", short: "List staff", method: bookingv1.StaffService_ListStaff_FullMethodName,
			columns: []string{"id", "name", "email", "color", "active", "reference"}, none: "no staff",
			examples: []string{"--active", "--appointment-type-id apt_…"},
		},
		{
			use: "get STAFF", short: "Show a person", method: bookingv1.StaffService_GetStaffMember_FullMethodName, args: []string{"id"}, examples: []string{"staff_…"},
		},
		{
			use: "create", short: "Create a person, who has no working hours yet", method: bookingv1.StaffService_CreateStaffMember_FullMethodName,
			required: []string{"name"}, examples: []string{`--name "Ada Byron" --email ada@example.org --reference S-1`},
		},
		{
			use: "update STAFF", short: "Change a person; flags that are not given change nothing", method: bookingv1.StaffService_UpdateStaffMember_FullMethodName,
			args: []string{"id"}, examples: []string{`staff_… --color "#2f6f4f"`, "staff_… --active=false"},
		},
		{
			use: "hours STAFF", short: "Show when a person works", method: bookingv1.StaffService_GetWorkingHours_FullMethodName, args: []string{"staff_id"},
			examples: []string{"staff_…"},
		},
		{
			use: "set-hours STAFF", short: "Replace the working hours of a person", method: bookingv1.StaffService_SetWorkingHours_FullMethodName, args: []string{"staff_id"},
			examples: []string{
				`staff_… --weekly '{"weekday":1,"range":{"starts":"09:00","ends":"17:00"}}' --date '{"date":"2026-12-24","ranges":[]}'`,
			},
		},
	}, a.staffImport())
}

func (a *app) timeOffCommand() *cobra.Command {
	return a.callGroup("time-off", "Manage when staff and rooms cannot be booked", []call{
		{
			use: "list", short: "List the time off of staff and rooms, by start", method: bookingv1.StaffService_ListTimeOff_FullMethodName,
			columns: []string{"id", "staff_id", "room_id", "starts_at", "ends_at", "reason"}, none: "no time off",
			examples: []string{"--staff-id staff_… --starts-from 2026-03-01"},
		},
		{
			use: "create", short: "Take a person or a room off the calendar", method: bookingv1.StaffService_CreateTimeOff_FullMethodName,
			required: []string{"starts_at", "ends_at"}, examples: []string{"--staff-id staff_… --starts-at 2026-03-29T09:00:00Z --ends-at 2026-03-29T17:00:00Z --reason Training"},
		},
		{
			use: "delete TIME_OFF", short: "Put the person or the room back on the calendar", method: bookingv1.StaffService_DeleteTimeOff_FullMethodName,
			args: []string{"id"}, examples: []string{"off_…"},
		},
	})
}

func (a *app) holidayCommand() *cobra.Command {
	return a.callGroup("holiday", "Manage the days on which nobody can be booked", []call{
		{
			use: "list", short: "List holidays, by day", method: bookingv1.StaffService_ListHolidays_FullMethodName,
			columns: []string{"id", "date", "name", "location"}, none: "no holidays", examples: []string{"--from 2026-01-01 --to 2026-12-31"},
		},
		{
			use: "create", short: "Close a location, or all of them, for a day", method: bookingv1.StaffService_CreateHoliday_FullMethodName,
			required: []string{"date", "name"}, examples: []string{`--date 2026-12-25 --name "Christmas Day"`},
		},
		{
			use: "delete HOLIDAY", short: "Delete a holiday", method: bookingv1.StaffService_DeleteHoliday_FullMethodName, args: []string{"id"}, examples: []string{"hol_…"},
		},
	})
}

func (a *app) roomCommand() *cobra.Command {
	return a.callGroup("room", "Manage rooms and equipment", []call{
		{
			use: "list", short: "List rooms and equipment", method: bookingv1.RoomService_ListRooms_FullMethodName,
			columns: []string{"id", "name", "kind", "capacity", "location", "active", "reference"}, none: "no rooms", examples: []string{"--active"},
		},
		{
			use: "get ROOM", short: "Show a room", method: bookingv1.RoomService_GetRoom_FullMethodName, args: []string{"id"}, examples: []string{"room_…"},
		},
		{
			use: "create", short: "Create a room, or a kind of equipment with a number of units", method: bookingv1.RoomService_CreateRoom_FullMethodName,
			required: []string{"name"}, examples: []string{`--name "Treatment room 1"`, "--name Laser --kind equipment --capacity 2"},
		},
		{
			use: "update ROOM", short: "Change a room; flags that are not given change nothing", method: bookingv1.RoomService_UpdateRoom_FullMethodName,
			args: []string{"id"}, examples: []string{"room_… --capacity 3", "room_… --active=false"},
		},
	})
}

func (a *app) appointmentTypeCommand() *cobra.Command {
	return a.callGroup("appointment-type", "Manage and import the appointments that customers can book", []call{
		{
			use: "list", short: "List appointment types", method: bookingv1.AppointmentTypeService_ListAppointmentTypes_FullMethodName,
			columns: []string{"id", "title", "lengths", "location", "active", "reference"}, none: "no appointment types", examples: []string{"--staff-id staff_… --active"},
		},
		{
			use: "get TYPE", short: "Show an appointment type", method: bookingv1.AppointmentTypeService_GetAppointmentType_FullMethodName, args: []string{"id"}, examples: []string{"apt_…"},
		},
		{
			use: "create", short: "Create an appointment type", method: bookingv1.AppointmentTypeService_CreateAppointmentType_FullMethodName,
			required: []string{"title", "lengths"},
			examples: []string{`--title Massage --length 30,60 --staff-id staff_… --room '{"any_of":["room_…","room_…"]}' --price '{"option":{"name":"Standard","price":4000}}'`},
		},
		{
			use: "update TYPE", short: "Change an appointment type; existing appointments stay", method: bookingv1.AppointmentTypeService_UpdateAppointmentType_FullMethodName,
			args: []string{"id"}, examples: []string{"apt_… --buffer-after-minutes 10", "apt_… --staff-id staff_…,staff_…"},
		},
	}, a.appointmentTypeImport())
}

func (a *app) appointmentCommand() *cobra.Command {
	return a.callGroup("appointment", "Manage and import appointments; registration refunds them", appointmentCalls(), a.appointmentImport())
}

// appointmentCalls are the commands for appointments. The commands of registration accept their identifiers.
func appointmentCalls() []call {
	return []call{
		{
			use: "slots TYPE", short: "List the free slots of some days", method: bookingv1.AppointmentService_FindSlots_FullMethodName,
			args: []string{"appointment_type_id"}, required: []string{"from", "to"}, columns: []string{"date", "local_start", "staff=staff_ids", "reason"}, none: "no days", split: slotRows,
			examples: []string{"apt_… --from 2026-03-29 --to 2026-04-04 --explain", "apt_… --from 2026-03-29 --to 2026-03-29 --staff-id staff_… --length-minutes 60"},
		},
		{
			use: "book TYPE PURCHASER", short: "Book a slot", method: bookingv1.AppointmentService_BookAppointment_FullMethodName,
			args: []string{"slot.appointment_type_id", "purchaser_id"}, into: "slot",
			examples: []string{"apt_… cust_… --local-start 2026-03-29T09:30:00 --payment-method card", "apt_… cust_… --local-start 2026-03-29T09:30:00 --staff-id staff_… --payment-method pass --customer-pass-id cp_…"},
		},
		{
			use: "hold TYPE PURCHASER", short: "Hold a slot while the payment is collected; hold confirm books it", method: bookingv1.AppointmentService_HoldAppointment_FullMethodName,
			args: []string{"slot.appointment_type_id", "purchaser_id"}, into: "slot", print: []string{"hold", "appointment"},
			examples: []string{"apt_… cust_… --local-start 2026-03-29T09:30:00 --minutes 10"},
		},
		{
			use: "move APPOINTMENT", short: "Move an appointment to another time, person or length", method: bookingv1.AppointmentService_MoveAppointment_FullMethodName,
			args: []string{"id"}, print: []string{"appointment", "changed"}, examples: []string{"appt_… --local-start 2026-03-30T11:00:00", "appt_… --staff-id staff_…"},
		},
		{
			use: "cancel APPOINTMENT", short: "Cancel an appointment, as registration cancel does", method: bookingv1.BookingService_CancelBooking_FullMethodName,
			args: []string{"booking_id"}, print: []string{"registration", "changed", "outcome"}, examples: []string{"appt_…", `appt_… --waive-policy --reason "Ill"`},
		},
		{
			use: "list", short: "List appointments, by start", method: bookingv1.AppointmentService_ListAppointments_FullMethodName,
			columns: []string{"id", "starts_at=booking.starts_at", "minutes=booking.duration_minutes", "title", "staff=staff.name", "customer=customer.id", "status"},
			none:    "no appointments", hidden: []string{"customer_must_exist"}, examples: []string{"--starts-from 2026-03-29 --starts-before 2026-03-30 --staff-id staff_…", "--customer-id cust_… --status booked"},
		},
		{
			use: "get APPOINTMENT", short: "Show an appointment", method: bookingv1.AppointmentService_GetAppointment_FullMethodName, args: []string{"id"},
			hidden: []string{"customer_id"}, examples: []string{"appt_…"},
		},
		{
			use: "assignments", short: "List what takes the time of staff and rooms", method: bookingv1.AppointmentService_ListAssignments_FullMethodName,
			required: []string{"starts_from", "starts_before"},
			columns:  []string{"resource_id", "unit", "starts_at", "ends_at", "title", "appointment=appointment.id"}, none: "nothing is booked",
			examples: []string{"--starts-from 2026-03-29 --starts-before 2026-03-30 --resource-id staff_…,room_…"},
		},
	}
}

// slotRows returns a row for each slot of a day; the day itself if it has none.
func slotRows(day row) []row {
	slots, _ := day.at("slots").([]row)
	if len(slots) == 0 {
		return []row{day}
	}
	rows := make([]row, len(slots))
	for i, slot := range slots {
		rows[i] = append(row{{"date", day.at("date")}}, slot...)
	}
	return rows
}

func (a *app) calendarCommand() *cobra.Command {
	return a.callGroup("calendar", "Manage the secret addresses at which calendars are subscribed to", []call{
		{
			use: "list", short: "List calendars, without their secrets", method: bookingv1.CalendarService_ListCalendars_FullMethodName,
			columns: []string{"id", "kind", "subject_id", "secret_start", "created_at", "last_read_at"}, none: "no calendars", examples: []string{"", "--subject-id staff_…"},
		},
		{
			use: "get CALENDAR", short: "Show a calendar, without its secret", method: bookingv1.CalendarService_GetCalendar_FullMethodName,
			args: []string{"id"}, examples: []string{"cal_…"},
		},
		{
			use: "create", short: "Create a calendar, and print its secret, which is not shown again", method: bookingv1.CalendarService_CreateCalendar_FullMethodName,
			required: []string{"kind"}, print: []string{"calendar", "secret"}, examples: []string{"--kind staff --subject-id staff_…", "--kind company"},
		},
		{
			use: "revoke CALENDAR", short: "Revoke a calendar, whose address then no longer works", method: bookingv1.CalendarService_RevokeCalendar_FullMethodName,
			args: []string{"id"}, examples: []string{"cal_…"},
		},
	})
}
