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
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

func TestStaff(t *testing.T) {
	t.Parallel()
	w, _ := newSalon(t)
	t.Run("lists the people", func(t *testing.T) {
		w.get("/staff").must(t, "Alex", "Sam", "2 staff members", "/staff/staff_1/hours", "/staff/staff_1/time-off", `fill="#3366cc"`)
	})
	t.Run("adds a person and goes on with the hours", func(t *testing.T) {
		w.get("/staff/new").must(t, "Add the staff member")
		a := w.post("/staff", "name", "Alex", "email", "alex@example.com", "bio", "Calm", "photo", "https://example.com/a.jpg", "active", "on")
		if a.to() != "/staff/staff_1/hours" {
			t.Fatal(describe(a))
		}
		want := &bookingv1.CreateStaffMemberRequest{Name: "Alex", Email: "alex@example.com", Bio: "Calm", PhotoUrl: "https://example.com/a.jpg"}
		if req := last[*bookingv1.CreateStaffMemberRequest](w, "CreateStaffMember"); !proto.Equal(req, want) {
			t.Errorf("%v", req)
		}
		w.post("/staff", "name", "").must(t, "Enter a name.")
	})
	t.Run("shows a person with hours, time off and appointment types", func(t *testing.T) {
		w.get("/staff/staff_1").must(t, `value="#3366cc"`, "Monday: 09:00–17:00", "Dentist", "15:00–16:00", "Massage", "/calendars?subject=staff_1")
	})
	t.Run("changes a person", func(t *testing.T) {
		w.post("/staff/staff_1", "name", "Alexis", "email", "", "bio", "", "photo", "", "color", "#112233", "version", "4")
		name, none, color, on, version := "Alexis", "", "#112233", false, int64(4)
		want := &bookingv1.UpdateStaffMemberRequest{
			Id: "staff_1", Name: &name, Email: &none, Bio: &none, PhotoUrl: &none, Color: &color, Active: &on, ExpectedVersion: &version,
		}
		if req := last[*bookingv1.UpdateStaffMemberRequest](w, "UpdateStaffMember"); !proto.Equal(req, want) {
			t.Errorf("%v", req)
		}
	})
	t.Run("shows a refusal at its field", func(t *testing.T) {
		on(w.backend, "UpdateStaffMember", func(*bookingv1.UpdateStaffMemberRequest) (*bookingv1.UpdateStaffMemberResponse, error) {
			return nil, fault.InvalidFields(fault.Field{Field: "photo_url", Rule: "url", Message: "must be an https address"})
		})
		a := w.post("/staff/staff_1", "name", "Alex", "photo", "ftp://x")
		a.must(t, "The address of the photo must be an https address.", "Dentist")
		if a.StatusCode != http.StatusUnprocessableEntity {
			t.Error(describe(a))
		}
	})
}

func TestWorkingHours(t *testing.T) {
	t.Parallel()
	w, _ := newSalon(t)
	const page = "/staff/staff_1/hours"
	shift := func(from, to string) *bookingv1.HoursRange { return &bookingv1.HoursRange{Starts: from, Ends: to} }
	t.Run("shows the shifts of the week without locations", func(t *testing.T) {
		a := w.get(page)
		a.must(t, `name="from1" type="time" value="09:00"`, `name="to7" type="time" value="17:00"`, `type="hidden" name="zone1" value="Europe/London"`, "Add locations or time zones")
	})
	t.Run("shows locations and zones if a shift has one", func(t *testing.T) {
		w, s := newSalon(t)
		s.hours.Weekly[0].Range.Timezone = "America/New_York"
		s.hours.Dates = []*bookingv1.DateHours{{Date: "2027-01-02"}, {Date: "2027-01-03", Ranges: []*bookingv1.HoursRange{shift("22:00", "24:00")}}}
		w.get(page).must(t, `name="zone1" value="America/New_York"`, `name="datex" type="date" value="2027-01-02"`, `name="tox" type="time" value="00:00"`, "ends on the next day")
	})
	t.Run("adds, removes and copies rows without saving", func(t *testing.T) {
		before := len(w.recorded())
		w.post(page, "do", "add-1", "from1", "09:00", "to1", "12:00").must(t, `id="from1-1"`, `id="from1-0"`, " autofocus")
		if body := w.post(page, "do", "remove-1-0", "from1", "09:00", "to1", "12:00", "from1", "13:00", "to1", "17:00").body; strings.Contains(body, `value="09:00"`) || !strings.Contains(body, `value="13:00"`) {
			t.Error(text(body))
		}
		w.post(page, "do", "copy", "copyfrom", "1", "copyto", "3", "from1", "08:15", "to1", "12:00", "from3", "10:00", "to3", "11:00").must(t, `name="from3" type="time" value="08:15"`)
		w.post(page, "do", "places").must(t, `name="places" value="on"`)
		w.post(page, "do", "add-x").must(t, `id="datex-0"`, "autofocus")
		for _, do := range []string{"add-9", "remove-1-7", "remove-1-x", "copy", "dance"} {
			if a := w.post(page, "do", do); a.StatusCode != http.StatusOK {
				t.Errorf("%s: %s", do, describe(a))
			}
		}
		if len(w.backend.called("SetWorkingHours")) > 0 || len(w.recorded()) != before {
			t.Error("the buttons have saved the hours")
		}
	})
	t.Run("saves the hours", func(t *testing.T) {
		a := w.post(page, "do", "save", "version", "4", "from1", "09:00", "to1", "12:00", "from1", "22:00", "to1", "02:00", "place1", "", "place1", "Annex", "from2", "", "to2", "",
			"datex", "2027-01-03", "fromx", "10:00", "tox", "11:00", "datex", "2027-01-02", "fromx", "", "tox", "", "datex", "2027-01-03", "fromx", "14:00", "tox", "15:00")
		if a.to() != "/staff/staff_1" {
			t.Fatal(describe(a))
		}
		night, version := shift("22:00", "02:00"), int64(4)
		night.Location = "Annex"
		want := &bookingv1.SetWorkingHoursRequest{
			StaffId: "staff_1", ExpectedVersion: &version, Weekly: []*bookingv1.WeeklyHours{{Weekday: 1, Range: shift("09:00", "12:00")}, {Weekday: 1, Range: night}},
			Dates: []*bookingv1.DateHours{{Date: "2027-01-02"}, {Date: "2027-01-03", Ranges: []*bookingv1.HoursRange{shift("10:00", "11:00"), shift("14:00", "15:00")}}},
		}
		if req := last[*bookingv1.SetWorkingHoursRequest](w, "SetWorkingHours"); !proto.Equal(req, want) {
			t.Errorf("%v", req)
		}
	})
	t.Run("says which shifts are incomplete", func(t *testing.T) {
		before := len(w.backend.called("SetWorkingHours"))
		a := w.post(page, "from4", "09:00", "to4", "", "datex", "", "fromx", "10:00", "tox", "11:00")
		a.must(t, "Enter both times of each shift", "Enter the day of each exception", `href="#day-4"`, `href="#exceptions"`)
		if a.StatusCode != http.StatusUnprocessableEntity || len(w.backend.called("SetWorkingHours")) != before {
			t.Error(describe(a))
		}
	})
}

func TestTimeOff(t *testing.T) {
	t.Parallel()
	w, s := newSalon(t)
	const page = "/staff/staff_1/time-off"
	form := []string{"from", s.day() + "T09:00", "until", s.day() + "T12:00", "reason", "Dentist"}
	t.Run("explains what is booked at that time, with links", func(t *testing.T) {
		w.get(page).must(t, "Time off of Alex", "Accept with bookings", page+"/off_1/delete")
		a := w.post(page, form...)
		a.must(t, "Something is booked at this time. Move or cancel it first, or accept the time off with bookings.", `value="Dentist"`)
		a.must(t, "These appointments and classes are at this time:", `href="/appointments/appt_1"`, "Ann Smith")
		if req := last[*bookingv1.ListAssignmentsRequest](w, "ListAssignments"); !slices.Equal(req.GetResourceIds(), []string{"staff_1"}) {
			t.Errorf("%v", req)
		}
		if a.StatusCode != http.StatusUnprocessableEntity {
			t.Error(describe(a))
		}
	})
	t.Run("links to one of the bookings if they cannot be listed", func(t *testing.T) {
		on(w.backend, "ListAssignments", func(*bookingv1.ListAssignmentsRequest) (*bookingv1.ListAssignmentsResponse, error) {
			return nil, fault.New(fault.Unavailable, fault.ReasonServiceUnavailable, "the service is unavailable")
		})
		w.post(page, form...).must(t, `href="/dates/date_9"`, "already has an appointment or a class", `value="Dentist"`)
	})
	t.Run("accepts it with the bookings", func(t *testing.T) {
		a := w.post(page, append(form, "keep", "on")...)
		want := &bookingv1.CreateTimeOffRequest{
			StaffId: "staff_1", StartsAt: timestamppb.New(s.at.Add(-time.Hour)), EndsAt: timestamppb.New(s.at.Add(2 * time.Hour)), Reason: "Dentist", KeepBookings: true,
		}
		if req := last[*bookingv1.CreateTimeOffRequest](w, "CreateTimeOff"); a.to() != page || !proto.Equal(req, want) {
			t.Errorf("%s: %v", describe(a), req)
		}
	})
	t.Run("refuses an end before the start", func(t *testing.T) {
		w.post(page, "from", s.day()+"T09:00", "until", s.day()+"T08:00").must(t, "The end must be after the start.")
	})
	t.Run("removes it after a confirmation", func(t *testing.T) {
		w.get(page+"/off_1/delete").must(t, "Remove this time off", "This time can be booked again.")
		w.post(page + "/off_1/delete")
		if req := last[*bookingv1.DeleteTimeOffRequest](w, "DeleteTimeOff"); req.GetId() != "off_1" {
			t.Errorf("%v", req)
		}
		if a := w.get(page + "/off_9/delete"); a.StatusCode != http.StatusNotFound {
			t.Error(describe(a))
		}
	})
	t.Run("is of a room, too", func(t *testing.T) {
		w.get("/rooms/room_1/time-off").must(t, "Time off of Blue room")
		w.post("/rooms/room_1/time-off", append(form, "keep", "on")...)
		if req := last[*bookingv1.CreateTimeOffRequest](w, "CreateTimeOff"); req.GetRoomId() != "room_1" || req.GetStaffId() != "" {
			t.Errorf("%v", req)
		}
		if all := w.recorded(); all[len(all)-1] != "room.time_off_add" {
			t.Errorf("%v", all)
		}
	})
}

func TestHolidaysAndRooms(t *testing.T) {
	t.Parallel()
	w, s := newSalon(t)
	t.Run("adds and removes holidays", func(t *testing.T) {
		w.get("/holidays").must(t, "Fair", "Annex", "/holidays/hol_1/delete")
		w.post("/holidays", "day", s.day(), "name", "Fair", "location", "Annex")
		want := &bookingv1.CreateHolidayRequest{Date: s.day(), Name: "Fair", Location: "Annex"}
		if req := last[*bookingv1.CreateHolidayRequest](w, "CreateHoliday"); !proto.Equal(req, want) {
			t.Errorf("%v", req)
		}
		w.post("/holidays", "day", "", "name", "").must(t, "Enter a date.", "Enter a name.", "Fair")
		w.get("/holidays/hol_1/delete").must(t, "This day can be booked again.")
		w.post("/holidays/hol_1/delete")
		if req := last[*bookingv1.DeleteHolidayRequest](w, "DeleteHoliday"); req.GetId() != "hol_1" {
			t.Errorf("%v", req)
		}
	})
	t.Run("adds and changes rooms", func(t *testing.T) {
		w.get("/rooms").must(t, "Blue room", "Room", "1 room or kind of equipment")
		w.get("/rooms/new").must(t, "Equipment")
		w.post("/rooms", "name", "Machine", "kind", "equipment", "units", "3", "location", "Annex", "active", "on")
		want := &bookingv1.CreateRoomRequest{Name: "Machine", Kind: bookingv1.RoomKind_ROOM_KIND_EQUIPMENT, Capacity: 3, Location: "Annex"}
		if req := last[*bookingv1.CreateRoomRequest](w, "CreateRoom"); !proto.Equal(req, want) {
			t.Errorf("%v", req)
		}
		w.get("/rooms/room_1").must(t, `value="2"`, "/rooms/room_1/time-off")
		w.post("/rooms/room_1", "name", "Blue", "kind", "room", "units", "101").must(t, "The number of units must be a whole number from 1 to 100.")
		w.post("/rooms/room_1", "name", "Blue", "kind", "room", "units", "1", "version", "3")
		name, units, none, on, version := "Blue", int32(1), "", false, int64(3)
		update := &bookingv1.UpdateRoomRequest{
			Id: "room_1", Name: &name, Kind: bookingv1.RoomKind_ROOM_KIND_ROOM, Capacity: &units, Location: &none, Active: &on, ExpectedVersion: &version,
		}
		if req := last[*bookingv1.UpdateRoomRequest](w, "UpdateRoom"); !proto.Equal(req, update) {
			t.Errorf("%v", req)
		}
	})
}

func TestAppointmentTypes(t *testing.T) {
	t.Parallel()
	w, _ := newSalon(t)
	form := []string{"title", "Massage", "description", "Calm", "lengths", "60, 30", "grid", "15", "before", "5", "after", "10", "notice", "2", "ahead", "60", "policy", "24",
		"location", "Annex", "timezone", "Europe/London", "staff", "staff_1", "staff", "staff_2", "room", "room_1", "room", "room_2", "room", "room_3",
		"need-room_1", "1", "order-room_1", "2", "need-room_2", "1", "order-room_2", "1", "need-room_3", "", "active", "on"}
	t.Run("lists types", func(t *testing.T) {
		w.get("/appointment-types").must(t, "Massage", "30 min, 1 h", "from £30.00", "Free of charge")
	})
	t.Run("adds a type with its first price", func(t *testing.T) {
		w.get("/appointment-types/new").must(t, "Alex", "Blue room", "Needed: 1", `value="Europe/London"`)
		w.post("/appointment-types", append(form, "name", "Standard", "price", "50", "tax", "20", "credits", "2")...)
		credits, policy := int32(2), int32(1440)
		want := &bookingv1.CreateAppointmentTypeRequest{
			Title: "Massage", Description: "Calm", Location: "Annex", Timezone: "Europe/London", Lengths: []int32{30, 60}, BufferBeforeMinutes: 5, BufferAfterMinutes: 10,
			SlotMinutes: 15, MinimumNoticeMinutes: 120, MaximumAdvanceDays: 60, StaffIds: []string{"staff_1", "staff_2"}, FreeCancellationMinutes: &policy,
			Rooms:  []*bookingv1.RoomRequirement{{AnyOf: []string{"room_2", "room_1"}}},
			Prices: []*bookingv1.NewAppointmentPrice{{Option: &bookingv1.NewPricingOption{Name: "Standard", Price: 5000, Credits: &credits, TaxRateBasisPoints: 2000}}},
		}
		if req := last[*bookingv1.CreateAppointmentTypeRequest](w, "CreateAppointmentType"); !proto.Equal(req, want) {
			t.Errorf("%v", req)
		}
	})
	t.Run("says what is wrong, and keeps what was typed", func(t *testing.T) {
		a := w.post("/appointment-types", "title", "", "lengths", "3", "grid", "1", "timezone", "Moon", "name", "Standard")
		a.must(t, "Enter a title.", "Enter lengths from 5 to 1,440 minutes", "must be a whole number from 5 to 1,440", "This time zone is unknown", `value="Moon"`)
		if a.StatusCode != http.StatusUnprocessableEntity {
			t.Error(describe(a))
		}
	})
	t.Run("changes a type", func(t *testing.T) {
		w.get("/appointment-types/apt_1").must(t, `value="30, 60"`, `name="notice" type="text" value="2"`, "po-30", "£30.00, 30 min", `name="order-room_1"`)
		w.post("/appointment-types/apt_1", append(form, "version", "7")...)
		req := last[*bookingv1.UpdateAppointmentTypeRequest](w, "UpdateAppointmentType")
		if req.GetExpectedVersion() != 7 || len(req.GetPrices()) > 0 || !slices.Equal(req.GetStaff().GetStaffIds(), []string{"staff_1", "staff_2"}) ||
			req.GetRooms().GetRooms()[0].GetAnyOf()[0] != "room_2" || req.GetFreeCancellationMinutes() != 1440 || !req.GetActive() {
			t.Errorf("%v", req)
		}
		w.post("/appointment-types/apt_1", "title", "Massage", "lengths", "30", "grid", "15")
		req = last[*bookingv1.UpdateAppointmentTypeRequest](w, "UpdateAppointmentType")
		if req.GetFreeCancellationMinutes() != noPolicy || req.GetActive() || req.GetStaff() == nil || req.GetRooms() == nil {
			t.Errorf("%v", req)
		}
	})
	t.Run("adds, changes and ends prices", func(t *testing.T) {
		w.get("/appointment-types/apt_1/prices/new").must(t, "All lengths", "30 min")
		w.post("/appointment-types/apt_1/prices", "name", "Child", "price", "20", "tax", "0", "length", "30", "version", "7")
		change := last[*bookingv1.UpdateAppointmentTypeRequest](w, "UpdateAppointmentType").GetPrices()[0]
		if change.GetLengthMinutes() != 30 || change.GetOption().GetName() != "Child" || change.GetOption().GetPrice() != 2000 || change.GetOption().GetId() != "" {
			t.Errorf("%v", change)
		}
		w.get("/appointment-types/apt_1/prices/po-30").must(t, `value="Short"`, "30 min")
		w.post("/appointment-types/apt_1/prices/po-30", "name", "Short", "price", "31", "tax", "0")
		change = last[*bookingv1.UpdateAppointmentTypeRequest](w, "UpdateAppointmentType").GetPrices()[0]
		if change.GetOption().GetId() != "po-30" || change.GetOption().GetPrice() != 3100 || change.GetLengthMinutes() != 0 {
			t.Errorf("%v", change)
		}
		w.get("/appointment-types/apt_1/prices/po-30/end").must(t, "The price is no longer sold.")
		w.post("/appointment-types/apt_1/prices/po-30/end")
		change = last[*bookingv1.UpdateAppointmentTypeRequest](w, "UpdateAppointmentType").GetPrices()[0]
		if !change.GetOption().GetEnded() {
			t.Errorf("%v", change)
		}
	})
}

func TestTeachers(t *testing.T) {
	t.Parallel()
	w, s := newSalon(t)
	t.Run("chooses the staff and rooms of an event", func(t *testing.T) {
		w.get("/events/evt_1").must(t, "Nobody chosen", `href="/events/evt_1/staff"`)
		w.get("/events/evt_1/staff").must(t, "Alex", "Sam", "Blue room")
		w.post("/events/evt_1/staff", "staff", "staff_1", "room", "room_1")
		want := &bookingv1.StaffAndRooms{StaffIds: []string{"staff_1"}, RoomIds: []string{"room_1"}}
		if req := last[*bookingv1.UpdateEventRequest](w, "UpdateEvent"); req.GetId() != "evt_1" || !proto.Equal(req.GetStaffAndRooms(), want) {
			t.Errorf("%v", req)
		}
	})
	t.Run("clears the choice", func(t *testing.T) {
		w.post("/events/evt_1/staff")
		if req := last[*bookingv1.UpdateEventRequest](w, "UpdateEvent"); req.GetStaffAndRooms() == nil || len(req.GetStaffAndRooms().GetStaffIds()) > 0 {
			t.Errorf("%v", req)
		}
	})
	t.Run("shows and chooses a substitute of a date", func(t *testing.T) {
		on(w.backend, "GetEventDate", func(*bookingv1.GetEventDateRequest) (*bookingv1.GetEventDateResponse, error) {
			date := &bookingv1.EventDate{
				Id: "date_1", StartsAt: timestamppb.New(s.at), DurationMinutes: 60, Rooms: []*bookingv1.RoomReference{{Id: "room_1", Name: "Blue room"}},
				Staff: []*bookingv1.AssignedStaff{{Staff: &bookingv1.StaffReference{Id: "staff_1", Name: "Alex"}, SubstitutesForId: "staff_2"}},
			}
			return &bookingv1.GetEventDateResponse{Date: &bookingv1.ScheduledDate{Date: date, EventId: "evt_1", EventTitle: "Yoga"}}, nil
		})
		w.get("/events/evt_1/dates/date_1").must(t, "Alex instead of Sam", "Blue room", "/events/evt_1/dates/date_1/staff")
		w.get("/events/evt_1/dates/date_1/staff").must(t, `value="staff_1" checked`, `value="room_1" checked`)
		on(w.backend, "UpdateEventDate", func(*bookingv1.UpdateEventDateRequest) (*bookingv1.UpdateEventDateResponse, error) {
			return nil, fault.Refuse("ROOM_BUSY", "busy").With("event_date_id", "date_9")
		})
		a := w.post("/events/evt_1/dates/date_1/staff", "staff", "staff_2", "room", "room_1")
		a.must(t, `href="/dates/date_9"`, "A room is already taken")
		want := &bookingv1.EventDateChange{Id: "date_1", StaffAndRooms: &bookingv1.StaffAndRooms{StaffIds: []string{"staff_2"}, RoomIds: []string{"room_1"}}}
		if req := last[*bookingv1.UpdateEventDateRequest](w, "UpdateEventDate"); !proto.Equal(req.GetDate(), want) {
			t.Errorf("%v", req)
		}
		if a := w.get("/dates/date_1"); a.to() != "/events/evt_1/dates/date_1" {
			t.Error(describe(a))
		}
	})
	t.Run("leaves the event of an appointment type alone", func(t *testing.T) {
		w := newWorld(t)
		w.signIn()
		e, _ := withEvent(w, "Massage", "Ann")
		e.AppointmentTypeId = "apt_1"
		body := w.page("/events/evt_1") + w.page("/events/evt_1/dates/date_1")
		for _, path := range []string{"/events/evt_1/edit", "/events/evt_1/staff", "/events/evt_1/cancel", "/events/evt_1/delete", "/prices/new", "/dates/new", "/dates/date_1/book", "/dates/date_1/edit"} {
			if strings.Contains(body, path) {
				t.Errorf("the page offers %s", path)
			}
		}
		if !strings.Contains(body, "/appointment-types/apt_1") {
			t.Error(text(body))
		}
	})
}

func TestCalendars(t *testing.T) {
	t.Parallel()
	w, _ := newSalon(t)
	t.Run("lists the addresses without their secrets", func(t *testing.T) {
		w.get("/calendars").must(t, "Alex", "Ann Smith", "The whole company", "abcdefgh…", "/calendars/cal_1/revoke")
		w.get("/calendars?subject=cust_1").must(t, `<option value="cust_1" selected>Ann Smith</option>`)
		if req := last[*bookingv1.ListCalendarsRequest](w, "ListCalendars"); req.GetSubjectId() != "cust_1" {
			t.Errorf("%v", req)
		}
	})
	t.Run("creates an address and shows it once", func(t *testing.T) {
		for subject, kind := range map[string]bookingv1.CalendarKind{
			"company": bookingv1.CalendarKind_CALENDAR_KIND_COMPANY, "staff_1": bookingv1.CalendarKind_CALENDAR_KIND_STAFF, "cust_1": bookingv1.CalendarKind_CALENDAR_KIND_CUSTOMER,
		} {
			a := w.post("/calendars", "subject", subject)
			a.must(t, "http://b.test/calendar/s3cret.ics", `data-copy="address"`, "It is not shown again")
			req := last[*bookingv1.CreateCalendarRequest](w, "CreateCalendar")
			if req.GetKind() != kind || req.GetSubjectId() != strings.TrimPrefix(subject, "company") {
				t.Errorf("%v", req)
			}
			if entry := last[proto.Message](w, "RecordAuditEntry"); strings.Contains(entry.(interface{ String() string }).String(), "s3cret") {
				t.Error("the audit log has the secret")
			}
		}
	})
	t.Run("says that a form sent twice cannot show it again", func(t *testing.T) {
		on(w.backend, "CreateCalendar", func(*bookingv1.CreateCalendarRequest) (*bookingv1.CreateCalendarResponse, error) {
			return &bookingv1.CreateCalendarResponse{Calendar: &bookingv1.Calendar{Id: "cal_4"}}, nil
		})
		w.post("/calendars", "subject", "company").must(t, "sent twice", "revoke it and create another")
	})
	t.Run("revokes an address after a confirmation", func(t *testing.T) {
		w.get("/calendars/cal_1/revoke").must(t, "begins with abcdefgh", "You cannot undo this.")
		w.get(w.post("/calendars/cal_1/revoke").to()).must(t, "The address was revoked.")
		on(w.backend, "RevokeCalendar", func(*bookingv1.RevokeCalendarRequest) (*bookingv1.RevokeCalendarResponse, error) {
			return nil, fault.Missing("calendar")
		})
		w.get(w.post("/calendars/cal_1/revoke").to()).must(t, "already revoked")
	})
}

func TestSelectsOfAppointmentsHaveAValue(t *testing.T) {
	t.Parallel()
	w, s := newSalon(t)
	start := url.QueryEscape(s.at.Add(3 * time.Hour).UTC().Format(time.RFC3339))
	for _, path := range []string{
		"/appointments/appt_1/move", "/appointment-types/new", "/appointment-types/apt_1/prices/new", "/rooms/new", "/calendars",
		"/appointments/book?type=apt_1&customer=cust_1&day=" + s.day() + "&start=" + start,
	} {
		if at := emptyChoice.FindString(w.page(path)); at != "" {
			t.Errorf("%s: %s", path, at)
		}
	}
}
