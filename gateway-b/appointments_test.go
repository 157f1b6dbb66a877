package gatewayb

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

func aStaffMember() *bookingv1.StaffMember {
	return &bookingv1.StaffMember{
		Id: "staff_" + idOf, Name: "Ana Lima", Email: "ana@example.com", PhotoUrl: "https://example.com/a.jpg", Bio: "Massage", Color: "#1f6feb", Active: true,
		CreatedAt: at("2026-03-01T10:00:00Z"), UpdatedAt: at("2026-03-01T10:00:00Z"), Version: 3,
	}
}

func someHours() *bookingv1.WorkingHours {
	shift := &bookingv1.HoursRange{Starts: "22:00", Ends: "02:00", Location: "Studio 1", Timezone: "Europe/London"}
	return &bookingv1.WorkingHours{
		StaffId: "staff_" + idOf, Weekly: []*bookingv1.WeeklyHours{{Weekday: 5, Range: shift}}, UpdatedAt: at("2026-03-01T10:00:00Z"), Version: 4,
		Dates: []*bookingv1.DateHours{{Date: "2026-04-06"}, {Date: "2026-04-07", Ranges: []*bookingv1.HoursRange{shift}}},
	}
}

func aRoom() *bookingv1.Room {
	return &bookingv1.Room{
		Id: "room_" + idOf, Name: "Table", Kind: bookingv1.RoomKind_ROOM_KIND_EQUIPMENT, Capacity: 2, Location: "Studio 1", Active: true, Reference: "r-1",
		CreatedAt: at("2026-03-01T10:00:00Z"), UpdatedAt: at("2026-03-01T10:00:00Z"), Version: 2,
	}
}

func anAppointmentType() *bookingv1.AppointmentType {
	return &bookingv1.AppointmentType{
		Id: "apt_" + idOf, EventId: "evt_" + idOf, Title: "Massage", Timezone: "Europe/London", Lengths: []int32{30, 60}, BufferAfterMinutes: 15, SlotMinutes: 15,
		MinimumNoticeMinutes: 120, StaffIds: []string{"staff_" + idOf}, Rooms: []*bookingv1.RoomRequirement{{AnyOf: []string{"room_" + idOf}}},
		Prices: []*bookingv1.AppointmentPrice{
			{Option: &bookingv1.PricingOption{Id: "po-" + idOf, Name: "Hour", Price: 4500, Currency: "GBP", Credits: ptr(int32(1)), TaxRateBasisPoints: 2000}, LengthMinutes: 60},
			{Option: &bookingv1.PricingOption{Id: "po-" + idOf, Name: "Any", Currency: "GBP"}},
		},
		FreeCancellationMinutes: ptr(int32(1440)), Active: true, CreatedAt: at("2026-03-01T10:00:00Z"), UpdatedAt: at("2026-03-01T10:00:00Z"), Version: 7,
	}
}

func anAppointment(status bookingv1.AppointmentStatus) *bookingv1.Appointment {
	r := aRegistration()
	b := r.GetBooking()
	b.Timezone, b.DurationMinutes, b.StartsAt = "Europe/London", 60, at("2026-03-30T09:00:00Z")
	a := &bookingv1.Appointment{
		Id: "appt_" + idOf, AppointmentTypeId: "apt_" + idOf, Title: "Massage", Location: "Studio 1", Status: status,
		Staff: &bookingv1.StaffReference{Id: "staff_" + idOf, Name: "Ana Lima", Color: "#1f6feb"},
		Rooms: []*bookingv1.RoomReference{{Id: "room_" + idOf, Name: "Table", Unit: 2}}, BufferAfterMinutes: 15, TransactionId: r.GetTransactionId(),
		Purchaser: r.GetPurchaser(), Booking: b, Customer: r.GetPurchaser(), Version: 5, CreatedAt: r.GetCreatedAt(), UpdatedAt: r.GetCreatedAt(),
	}
	switch status {
	case bookingv1.AppointmentStatus_APPOINTMENT_STATUS_HELD:
		a.HeldUntil = at("2026-03-01T10:15:00Z")
	case bookingv1.AppointmentStatus_APPOINTMENT_STATUS_CANCELLED:
		b.IsCancelled, b.CancelledAt, b.Late, b.CancellationReason = true, at("2026-03-02T10:00:00Z"), true, "Ill"
		b.Payment = &bookingv1.Booking_Pass{Pass: &bookingv1.PassPayment{CreditsUsed: 1, CustomerPassId: "cp_" + idOf}}
		b.CreditsReturned = 1
	}
	return a
}

const (
	held      = bookingv1.AppointmentStatus_APPOINTMENT_STATUS_HELD
	booked    = bookingv1.AppointmentStatus_APPOINTMENT_STATUS_BOOKED
	cancelled = bookingv1.AppointmentStatus_APPOINTMENT_STATUS_CANCELLED
)

func appointmentAnswers() []proto.Message {
	off := &bookingv1.TimeOff{Id: "off_" + idOf, StaffId: "staff_" + idOf, StartsAt: at("2026-08-03T00:00:00Z"), EndsAt: at("2026-08-17T00:00:00Z"), Reason: "Holiday", CreatedAt: at("2026-03-01T10:00:00Z")}
	closed := &bookingv1.TimeOff{Id: "off_" + idOf, RoomId: "room_" + idOf, StartsAt: at("2026-08-03T00:00:00Z"), EndsAt: at("2026-08-04T00:00:00Z"), CreatedAt: at("2026-03-01T10:00:00Z")}
	holiday := &bookingv1.Holiday{Id: "hol_" + idOf, Date: "2026-12-25", Name: "Christmas", CreatedAt: at("2026-03-01T10:00:00Z")}
	slot := &bookingv1.Slot{StartsAt: at("2026-03-30T09:00:00Z"), EndsAt: at("2026-03-30T10:00:00Z"), LocalStart: "2026-03-30T10:00:00", StaffIds: []string{"staff_" + idOf}}
	taken := &bookingv1.Assignment{
		ResourceId: "staff_" + idOf, StartsAt: at("2026-03-30T09:00:00Z"), EndsAt: at("2026-03-30T10:15:00Z"), EventDateId: "date_" + idOf, EventId: "evt_" + idOf,
		Title: "Massage", DateStartsAt: at("2026-03-30T09:00:00Z"), DurationMinutes: 60, Appointment: anAppointment(held),
	}
	class := &bookingv1.Assignment{
		ResourceId: "room_" + idOf, Unit: 1, StartsAt: at("2026-03-30T09:00:00Z"), EndsAt: at("2026-03-30T10:00:00Z"), EventDateId: "date_" + idOf, EventId: "evt_" + idOf,
		Title: "Flow", DateStartsAt: at("2026-03-30T09:00:00Z"), DurationMinutes: 60, SubstitutesForId: "staff_" + idOf,
	}
	heldSlot := aHold(bookingv1.HoldStatus_HOLD_STATUS_ACTIVE)
	heldSlot.AppointmentId = "appt_" + idOf
	return []proto.Message{
		&bookingv1.ListStaffResponse{Staff: []*bookingv1.StaffMember{aStaffMember()}, Total: 1, NextPageToken: "next"}, &bookingv1.GetStaffMemberResponse{StaffMember: aStaffMember()},
		&bookingv1.CreateStaffMemberResponse{StaffMember: aStaffMember()}, &bookingv1.UpdateStaffMemberResponse{StaffMember: aStaffMember()},
		&bookingv1.GetWorkingHoursResponse{Hours: someHours()}, &bookingv1.SetWorkingHoursResponse{Hours: someHours()},
		&bookingv1.ListTimeOffResponse{TimeOff: []*bookingv1.TimeOff{off, closed}, Total: 2}, &bookingv1.CreateTimeOffResponse{TimeOff: off}, &bookingv1.DeleteTimeOffResponse{}, &bookingv1.GetTimeOffResponse{TimeOff: off},
		&bookingv1.ListHolidaysResponse{Holidays: []*bookingv1.Holiday{holiday}, Total: 1}, &bookingv1.CreateHolidayResponse{Holiday: holiday}, &bookingv1.DeleteHolidayResponse{}, &bookingv1.GetHolidayResponse{Holiday: holiday},
		&bookingv1.ListRoomsResponse{Rooms: []*bookingv1.Room{aRoom()}, Total: 1}, &bookingv1.GetRoomResponse{Room: aRoom()},
		&bookingv1.CreateRoomResponse{Room: aRoom()}, &bookingv1.UpdateRoomResponse{Room: aRoom()},
		&bookingv1.ListAppointmentTypesResponse{AppointmentTypes: []*bookingv1.AppointmentType{anAppointmentType()}, Total: 1},
		&bookingv1.GetAppointmentTypeResponse{AppointmentType: anAppointmentType()}, &bookingv1.CreateAppointmentTypeResponse{AppointmentType: anAppointmentType()},
		&bookingv1.UpdateAppointmentTypeResponse{AppointmentType: anAppointmentType()},
		&bookingv1.FindSlotsResponse{Timezone: "Europe/London", LengthMinutes: 60, Days: []*bookingv1.SlotDay{
			{Date: "2026-03-30", Slots: []*bookingv1.Slot{slot}}, {Date: "2026-03-31", Reason: bookingv1.NoSlotsReason_NO_SLOTS_REASON_STAFF_BUSY},
		}},
		&bookingv1.ListAppointmentsResponse{Appointments: []*bookingv1.Appointment{anAppointment(booked), anAppointment(cancelled)}, Total: 2},
		&bookingv1.GetAppointmentResponse{Appointment: anAppointment(booked)}, &bookingv1.BookAppointmentResponse{Appointment: anAppointment(booked)},
		&bookingv1.MoveAppointmentResponse{Appointment: anAppointment(booked), Changed: true},
		&bookingv1.HoldAppointmentResponse{Hold: heldSlot, Appointment: anAppointment(held)}, &bookingv1.GetHoldResponse{Hold: heldSlot},
		&bookingv1.CancelBookingResponse{Registration: aRegistration(), Changed: true},
		&bookingv1.ListAssignmentsResponse{Assignments: []*bookingv1.Assignment{taken, class}},
	}
}

func TestStaffAndRoomOperations(t *testing.T) {
	t.Parallel()
	g := newGateway(t, unlimited{})
	const staff, room, apt = "/staff/staff_" + idOf, "/rooms/room_" + idOf, "/appointment-types/apt_" + idOf
	tests := []operation{
		{"GET", "/staff?active=false&appointmentTypeId=apt_x&sort=-updatedAt", "", 200, []string{`"staff":[{"id":"staff_`, `"photoUrl":"https://example.com/a.jpg","bio":"Massage","color":"#1f6feb","active":true,"reference":null`, `"nextCursor":"next"`},
			`page_size:25 order:RESOURCE_ORDER_UPDATED_DESC active:false appointment_type_id:"apt_x"`},
		{"GET", staff, "", 200, nil, `id:"staff_` + idOf + `"`},
		{"POST", "/staff", `{"name":"Ana","email":"a@b.c","photoUrl":"https://x","bio":"b","color":"#1f6feb","active":false,"reference":"s-1"}`, 201, nil,
			`name:"Ana" email:"a@b.c" photo_url:"https://x" bio:"b" color:"#1f6feb" inactive:true reference:"s-1"`},
		{"POST", "/staff", `{"name":"Ana","active":true}`, 201, nil, `name:"Ana"`},
		{"PUT", staff, `{"email":"","active":false,"reference":"ignored"}`, 200, nil, `id:"staff_` + idOf + `" email:"" active:false`},
		{"PATCH", staff, `{"color":"#ffffff"}`, 200, nil, `id:"staff_` + idOf + `" color:"#ffffff"`},
		{"GET", staff + "/hours", "", 200, []string{`"weekly":[{"weekday":5,"starts":"22:00","ends":"02:00","location":"Studio 1","timezone":"Europe/London"}]`, `"dates":[{"date":"2026-04-06","ranges":[]},{"date":"2026-04-07","ranges":[{"starts":"22:00"`},
			`staff_id:"staff_` + idOf + `"`},
		{"PUT", staff + "/hours", `{"weekly":[{"weekday":1,"starts":"09:00","ends":"17:00"}],"dates":[{"date":"2026-04-06","ranges":[{"starts":"10:00","ends":"12:00","timezone":"Europe/London"}]},{"date":"2026-04-07"}]}`, 200, nil,
			`staff_id:"staff_` + idOf + `" weekly:{weekday:1 range:{starts:"09:00" ends:"17:00"}} dates:{date:"2026-04-06" ranges:{starts:"10:00" ends:"12:00" timezone:"Europe/London"}} dates:{date:"2026-04-07"}`},
		{"PUT", staff + "/hours", `{"weekly":[],"dates":[]}`, 200, nil, `staff_id:"staff_` + idOf + `"`},
		{"GET", "/time-off?staffId=staff_x&endsAfter=2026-08-01T00:00:00Z&page=2", "", 200, []string{`"timeOff":[{"id":"off_`, `"roomId":null`, `"staffId":null,"roomId":"room_`},
			`page_size:25 offset:25 staff_id:"staff_x" starts_from:{seconds:1785542400}`},
		{"POST", "/time-off", `{"staffId":"staff_x","startsAt":"2026-08-01T00:00:00Z","endsAt":"2026-08-01T02:00:00+01:00","reason":"r","keepBookings":true}`, 201, nil,
			`staff_id:"staff_x" starts_at:{seconds:1785542400} ends_at:{seconds:1785546000} reason:"r" keep_bookings:true`},
		{"GET", "/time-off/off_" + idOf, "", 200, []string{`{"id":"off_` + idOf + `","staffId":"staff_` + idOf + `","roomId":null,"startsAt":"2026-08-03T00:00:00Z"`}, `id:"off_` + idOf + `"`},
		{"DELETE", "/time-off/off_" + idOf, "", 200, []string{`{"id":"off_` + idOf + `","deleted":true}`}, `id:"off_` + idOf + `"`},
		{"GET", "/holidays?from=2026-01-01&to=2026-12-31", "", 200, []string{`"holidays":[{"id":"hol_`, `"date":"2026-12-25","name":"Christmas","location":""`}, `page_size:25 from:"2026-01-01" to:"2026-12-31"`},
		{"POST", "/holidays", `{"date":"2026-12-25","name":"Christmas","location":"Studio 1"}`, 201, nil, `date:"2026-12-25" name:"Christmas" location:"Studio 1"`},
		{"GET", "/holidays/hol_" + idOf, "", 200, []string{`{"id":"hol_` + idOf + `","date":"2026-12-25","name":"Christmas","location":""`}, `id:"hol_` + idOf + `"`},
		{"DELETE", "/holidays/hol_" + idOf, "", 200, []string{`"deleted":true`}, `id:"hol_` + idOf + `"`},
		{"GET", "/rooms?active=true", "", 200, []string{`"rooms":[{"id":"room_`, `"kind":"equipment","capacity":2,"location":"Studio 1","active":true,"reference":"r-1"`}, `page_size:25 order:RESOURCE_ORDER_CREATED active:true`},
		{"GET", room, "", 200, nil, `id:"room_` + idOf + `"`},
		{"POST", "/rooms", `{"name":"Table","kind":"equipment","capacity":2,"location":"Studio 1","reference":"r-1"}`, 201, nil, `name:"Table" kind:ROOM_KIND_EQUIPMENT capacity:2 location:"Studio 1" reference:"r-1"`},
		{"PUT", room, `{"capacity":1,"kind":"room","active":false}`, 200, nil, `id:"room_` + idOf + `" kind:ROOM_KIND_ROOM capacity:1 active:false`},
		{"PATCH", room, `{"location":""}`, 200, nil, `id:"room_` + idOf + `" location:""`},
		{"GET", "/appointment-types?staffId=staff_x", "", 200, []string{`"appointmentTypes":[{"id":"apt_`, `"lengths":[30,60]`, `"maximumAdvanceDays":null`, `"rooms":[{"anyOf":["room_`,
			`"name":"Hour","price":45,"currency":"GBP","credits":1,"taxRate":20,"lengthMinutes":60`, `"lengthMinutes":null`, `"freeCancellationMinutes":1440`}, `page_size:25 order:RESOURCE_ORDER_CREATED staff_id:"staff_x"`},
		{"GET", apt, "", 200, nil, `id:"apt_` + idOf + `"`},
		{"POST", "/appointment-types", `{"title":"M","lengths":[30,60],"bufferBeforeMinutes":5,"bufferAfterMinutes":10,"slotMinutes":20,"minimumNoticeMinutes":60,"maximumAdvanceDays":30,"staffIds":["staff_x"],"rooms":[{"anyOf":["room_x","room_y"]}],"pricingOptions":[{"name":"Hour","price":45,"credits":1,"lengthMinutes":60}],"freeCancellationMinutes":null,"active":false}`, 201, nil,
			`title:"M" lengths:30 lengths:60 buffer_before_minutes:5 buffer_after_minutes:10 slot_minutes:20 minimum_notice_minutes:60 maximum_advance_days:30 staff_ids:"staff_x" rooms:{any_of:"room_x" any_of:"room_y"} prices:{option:{name:"Hour" price:4500 credits:1} length_minutes:60} inactive:true`},
		{"PUT", apt, `{"rooms":[],"staffIds":[],"maximumAdvanceDays":null,"freeCancellationMinutes":null,"pricingOptions":[{"id":"po-x","price":50,"credits":null,"lengthMinutes":60},{"name":"New","price":1}]}`, 200, nil,
			`id:"apt_` + idOf + `" maximum_advance_days:0 staff:{} rooms:{} prices:{option:{id:"po-x" price:5000 no_credits:true}} prices:{option:{name:"New" price:100}} free_cancellation_minutes:-1`},
		{"PATCH", apt, `{"pricingOptions":[{"id":"po-x","ended":true}]}`, 200, nil, `id:"apt_` + idOf + `" prices:{option:{id:"po-x" ended:true}}`},
		{"PATCH", apt, `{"lengths":[45],"rooms":[{"anyOf":["room_x"]}],"active":true}`, 200, nil, `id:"apt_` + idOf + `" lengths:45 rooms:{rooms:{any_of:"room_x"}} active:true`},
	}
	for _, tt := range tests {
		t.Run(tt.method+" "+tt.path+" "+tt.body, func(t *testing.T) { g.check(t, tt, appointmentAnswers()) })
	}
}

func TestAppointmentOperations(t *testing.T) {
	t.Parallel()
	g := newGateway(t, unlimited{})
	const path, call = "/appointments/appt_" + idOf, `id:"appt_` + idOf + `"`
	tests := []operation{
		{"GET", "/slots?appointmentTypeId=apt_x&lengthMinutes=60&staffId=staff_x&from=2026-03-30&to=2026-03-31&timezone=Europe/London&explain=true&waiveNotice=true&movingId=appt_x", "", 200,
			[]string{`{"timezone":"Europe/London","lengthMinutes":60,"days":[{"date":"2026-03-30","slots":[{"startsAt":"2026-03-30T09:00:00Z","endsAt":"2026-03-30T10:00:00Z","localStart":"2026-03-30T10:00:00","staffIds":["staff_` + idOf + `"]}]},{"date":"2026-03-31","slots":[],"reason":"staff_busy"}]}`},
			`appointment_type_id:"apt_x" length_minutes:60 staff_id:"staff_x" from:"2026-03-30" to:"2026-03-31" timezone:"Europe/London" explain:true waive_notice:true moving_id:"appt_x"`},
		{"GET", "/appointments?customerId=cust_x&staffId=staff_x&roomId=room_x&appointmentTypeId=apt_x&status=held&startsFrom=2026-08-01T00:00:00Z&sort=-startsAt", "", 200,
			[]string{`"appointments":[{"id":"appt_`, `"status":"booked","staff":{"id":"staff_` + idOf + `","name":"Ana Lima","color":"#1f6feb"},"rooms":[{"id":"room_` + idOf + `","name":"Table","unit":2}],"startsAt":"2026-03-30T09:00:00Z","endsAt":"2026-03-30T10:00:00Z","lengthMinutes":60`,
				`"registrationId":"reg_` + idOf + `","transactionId":"txn_` + idOf + `","holdId":null`, `"status":"cancelled"`, `"payment":{"method":"PASS","totalPaid":0,"currency":`, `"passUsed":"cp_` + idOf + `"`, `"creditsReturned":1,"cancelledAt":"2026-03-02T10:00:00Z","cancellationReason":"Ill","heldUntil":null`},
			`page_size:25 order:APPOINTMENT_ORDER_START_DESC starts_from:{seconds:1785542400} staff_id:"staff_x" room_id:"room_x" appointment_type_id:"apt_x" customer_id:"cust_x" statuses:APPOINTMENT_STATUS_HELD`},
		{"GET", path, "", 200, nil, call},
		{"POST", "/appointments", `{"appointmentTypeId":"apt_x","lengthMinutes":60,"staffId":"staff_x","startsAt":"2026-08-01T01:00:00+01:00","customerId":"cust_x","purchasedById":"cust_y","pricingOptionId":"po-x","payment":{"method":"CASH","reference":"r"},"discountCode":"D","waiveNotice":true,"waiveHours":true}`, 201, nil,
			`slot:{appointment_type_id:"apt_x" length_minutes:60 staff_id:"staff_x" starts_at:{seconds:1785542400} waive_notice:true waive_hours:true} purchaser_id:"cust_y" customer_id:"cust_x" pricing_option_id:"po-x" payment_method:PAYMENT_METHOD_CASH payment_reference:"r" discount_code:"D"`},
		{"POST", "/appointments", `{"appointmentTypeId":"apt_x","localStart":"2026-08-01T10:00","customerId":"cust_x","payment":{"method":"PASS","customerPassId":"cp_x"}}`, 201, nil,
			`slot:{appointment_type_id:"apt_x" local_start:"2026-08-01T10:00:00"} purchaser_id:"cust_x" payment_method:PAYMENT_METHOD_PASS customer_pass_id:"cp_x"`},
		{"POST", "/appointments", `{"appointmentTypeId":"apt_x","startsAt":"2026-08-01T10:00:00","customerId":"cust_x"}`, 201, nil,
			`slot:{appointment_type_id:"apt_x" local_start:"2026-08-01T10:00:00"} purchaser_id:"cust_x"`},
		{"POST", path + "/move", `{"localStart":"2026-08-01T10:00:00","lengthMinutes":30,"staffId":"staff_x","anyStaff":true,"waiveNotice":true,"waiveHours":true}`, 200, nil,
			call + ` local_start:"2026-08-01T10:00:00" length_minutes:30 staff_id:"staff_x" any_staff:true waive_notice:true waive_hours:true`},
		{"POST", path + "/move", `{"startsAt":"2026-08-01T00:00:00Z"}`, 200, nil, call + ` starts_at:{seconds:1785542400}`},
		{"POST", path + "/cancel", `{"waivePolicy":true,"reason":"Ill"}`, 200, []string{`"id":"appt_`}, call},
		{"POST", "/appointment-holds", `{"appointmentTypeId":"apt_x","startsAt":"2026-08-01T00:00:00Z","customerId":"cust_x","minutes":20}`, 201, []string{`{"id":"hold_` + idOf + `","status":"active"`, `"appointmentId":"appt_` + idOf + `"`},
			`slot:{appointment_type_id:"apt_x" starts_at:{seconds:1785542400}} purchaser_id:"cust_x" minutes:20`},
		{"GET", "/holds/hold_" + idOf, "", 200, []string{`{"id":"hold_` + idOf + `","status":"active"`, `"appointmentId":"appt_` + idOf + `"}`}, `hold_id:"txn_` + idOf + `"`},
		{"GET", "/assignments?endsAfter=2026-08-01T00:00:00Z&startsBefore=2026-08-01T01:00:00Z&resourceIds=staff_x,room_x,staff_x", "", 200,
			[]string{`"unit":0`, `"appointmentId":"appt_` + idOf + `","appointmentStatus":"held","substitutesForId":null`, `"appointmentId":null,"appointmentStatus":null,"substitutesForId":"staff_`, `"truncated":false`},
			`starts_from:{seconds:1785542400} starts_before:{seconds:1785546000} resource_ids:"room_x" resource_ids:"staff_x"`},
	}
	for _, tt := range tests {
		t.Run(tt.method+" "+tt.path+" "+tt.body, func(t *testing.T) { g.check(t, tt, appointmentAnswers()) })
	}
}

// TestCancelAppointment checks that the permission for appointments does not cancel other bookings, and
// not a held slot.
func TestCancelAppointment(t *testing.T) {
	t.Parallel()
	g := newGateway(t, unlimited{})
	const path = "/appointments/appt_" + idOf + "/cancel"
	send := func(body string, answers ...proto.Message) answer {
		g.services.prepare(nil, answers...)
		return g.do(request{Method: "POST", Path: path, Body: body, Token: g.token()})
	}
	cancelCalls := func() (calls []*bookingv1.CancelBookingRequest) {
		g.services.mu.Lock()
		defer g.services.mu.Unlock()
		for _, r := range g.services.requests {
			if c, ok := r.(*bookingv1.CancelBookingRequest); ok {
				calls = append(calls, c)
			}
		}
		return calls
	}
	t.Run("cancels the booking with the same UUID", func(t *testing.T) {
		a := send(`{"waivePolicy":true,"reason":"Ill"}`, appointmentAnswers()...)
		calls := cancelCalls()
		if a.Code != 200 || len(calls) != 1 || calls[0].GetBookingId() != "booking_"+idOf || !calls[0].GetWaivePolicy() || calls[0].GetReason() != "Ill" {
			t.Errorf("got %d %s, called %v", a.Code, a.Body, calls)
		}
	})
	t.Run("does not cancel a booking that is not an appointment", func(t *testing.T) {
		a := send("", &bookingv1.CancelBookingResponse{Changed: true})
		if a.Code != 404 || len(cancelCalls()) != 0 {
			t.Errorf("got %d %s, called %v", a.Code, a.Body, cancelCalls())
		}
	})
	t.Run("refuses to cancel a held slot", func(t *testing.T) {
		a := send("", &bookingv1.GetAppointmentResponse{Appointment: anAppointment(held)}, &bookingv1.CancelBookingResponse{Changed: true})
		if a.Code != 400 || !strings.Contains(a.Body, `"code":"HOLD_NOT_CONFIRMED"`) || len(cancelCalls()) != 0 {
			t.Errorf("got %d %s, called %v", a.Code, a.Body, cancelCalls())
		}
	})
	t.Run("a held slot shows its hold and no registration", func(t *testing.T) {
		g.services.prepare(nil, &bookingv1.GetAppointmentResponse{Appointment: anAppointment(held)})
		a := g.do(request{Method: "GET", Path: "/appointments/appt_" + idOf, Token: g.token()})
		if want := `"registrationId":null,"transactionId":null,"holdId":"hold_` + idOf + `"`; a.Code != 200 || !strings.Contains(a.Body, want) || !strings.Contains(a.Body, `"heldUntil":"2026-03-01T10:15:00Z"`) {
			t.Errorf("got %d %s", a.Code, a.Body)
		}
	})
	t.Run("refuses a repeated cancellation", func(t *testing.T) {
		a := send("", &bookingv1.GetAppointmentResponse{Appointment: anAppointment(cancelled)}, &bookingv1.CancelBookingResponse{})
		if a.Code != 400 || !strings.Contains(a.Body, `"code":"ALREADY_CANCELLED"`) {
			t.Errorf("got %d %s", a.Code, a.Body)
		}
	})
}

func TestAppointmentErrors(t *testing.T) {
	t.Parallel()
	g := newGateway(t, unlimited{})
	const staff, apt, path, date = "/staff/staff_" + idOf, "/appointment-types/apt_" + idOf, "/appointments/appt_" + idOf, "/event-dates/date_" + idOf
	field := func(name string) error {
		return fault.InvalidFields(fault.Field{Field: name, Rule: "format", Message: "is wrong"})
	}
	refused := func(code string, meta map[string]string) error {
		f := fault.From(fault.Refuse(code, "refused"))
		f.Meta = meta
		return f
	}
	for name, tt := range map[string]struct {
		method, path, body string
		err                error
		want               string
	}{
		"an empty colour":                       {"PUT", staff, `{"color":""}`, nil, `"field":"color","rule":"required"`},
		"hours without the days":                {"PUT", staff + "/hours", `{"weekly":[]}`, nil, `"field":"dates","rule":"required"`},
		"hours without the weeks":               {"PUT", staff + "/hours", `{"dates":[]}`, nil, `"field":"weekly","rule":"required"`},
		"hours that are not a list":             {"PUT", staff + "/hours", `{"weekly":{},"dates":[]}`, nil, `"field":"weekly","message":"weekly must be an array","rule":"type"`},
		"too many shifts":                       {"PUT", staff + "/hours", `{"dates":[],"weekly":[` + strings.Repeat(`{},`, 100) + `{}]}`, nil, `"field":"weekly","rule":"max_items"`},
		"a fault of a shift":                    {"PUT", staff + "/hours", `{"weekly":[],"dates":[]}`, field("weekly[0].range.starts"), `"field":"weekly[0].starts"`},
		"a fault of a shift of a day":           {"PUT", staff + "/hours", `{"weekly":[],"dates":[]}`, field("dates[0].ranges[1].ends"), `"field":"dates[0].ranges[1].ends"`},
		"time off of nobody":                    {"POST", "/time-off", `{"startsAt":"2026-08-01T00:00:00Z"}`, nil, `"field":"staffId","message":"staffId is required, unless roomId is given","rule":"required"`},
		"time off of two":                       {"POST", "/time-off", `{"staffId":"a","roomId":"b","startsAt":"2026-08-01T00:00:00Z","endsAt":"2026-08-02T00:00:00Z"}`, nil, `"field":"roomId","rule":"exclusive"`},
		"time off without an offset":            {"POST", "/time-off", `{"staffId":"a","startsAt":"2026-08-01T00:00:00","endsAt":"2026-08-02T00:00:00Z"}`, nil, `"field":"startsAt","rule":"format"`},
		"time off of a busy person":             {"POST", "/time-off", `{"staffId":"a","startsAt":"2026-08-01T00:00:00Z","endsAt":"2026-08-02T00:00:00Z"}`, refused("STAFF_BUSY", map[string]string{"staff_id": "staff_x", "event_date_id": "date_x"}), `"code":"STAFF_BUSY","details":{"eventDateId":"date_x","staffId":"staff_x"}`},
		"a holiday filter that is not a day":    {"GET", "/holidays?from=monday", "", nil, `"field":"from","rule":"format"`},
		"an unknown kind of room":               {"POST", "/rooms", `{"name":"x","kind":"hall"}`, nil, `"field":"kind","rule":"enum"`},
		"a room without units":                  {"POST", "/rooms", `{"name":"x","capacity":0}`, nil, `"field":"capacity","rule":"min"`},
		"a room with fewer units":               {"PUT", "/rooms/room_" + idOf, `{"capacity":1}`, refused("ROOM_BUSY", map[string]string{"room_id": "room_x"}), `"code":"ROOM_BUSY","details":{"roomId":"room_x"}`},
		"a type without a grid":                 {"POST", "/appointment-types", `{"slotMinutes":0,"maximumAdvanceDays":0}`, nil, `"field":"slotMinutes"`},
		"a type with an empty list of lengths":  {"PUT", apt, `{"lengths":[]}`, nil, `"field":"lengths","rule":"required"`},
		"a length that is a text":               {"PUT", apt, `{"lengths":["30"]}`, nil, `"field":"lengths","rule":"type"`},
		"a price for a length of 0":             {"POST", "/appointment-types", `{"pricingOptions":[{"price":1,"lengthMinutes":0}]}`, nil, `"field":"pricingOptions[0].lengthMinutes","rule":"min"`},
		"a fault of a price":                    {"POST", "/appointment-types", `{}`, field("prices[0].option.currency"), `"field":"pricingOptions[0].currency"`},
		"a fault of the staff":                  {"PUT", apt, `{}`, field("staff.staff_ids[0]"), `"field":"staffIds[0]"`},
		"a fault of a room":                     {"PUT", apt, `{}`, field("rooms.rooms[0].any_of[1]"), `"field":"rooms[0].anyOf[1]"`},
		"slots without a type":                  {"GET", "/slots?from=2026-03-30&to=2026-03-30", "", nil, `"field":"appointmentTypeId","rule":"required"`},
		"slots without a day":                   {"GET", "/slots?appointmentTypeId=apt_x&from=2026-03-30", "", nil, `"field":"to","rule":"required"`},
		"slots of no length":                    {"GET", "/slots?appointmentTypeId=apt_x&from=2026-03-30&to=2026-03-30&lengthMinutes=0", "", nil, `"field":"lengthMinutes","rule":"min"`},
		"slots of a day that does not exist":    {"GET", "/slots?appointmentTypeId=apt_x&from=2026-02-30&to=2026-03-01", "", nil, `"code":"INVALID_PARAMETER","details":{"errors":[{"field":"from","message":"from must be a day, for example 2026-03-29","rule":"format"}]`},
		"slots in an unknown zone":              {"GET", "/slots?appointmentTypeId=apt_x&from=2026-03-30&to=2026-03-30&timezone=" + strings.Repeat("x", 80), "", nil, `"code":"INVALID_PARAMETER","details":{"errors":[{"field":"timezone"`},
		"slots in an empty zone":                {"GET", "/slots?appointmentTypeId=apt_x&from=2026-03-30&to=2026-03-30&timezone=", "", nil, `"code":"INVALID_PARAMETER","details":{"errors":[{"field":"timezone"`},
		"slots of too many days":                {"GET", "/slots?appointmentTypeId=apt_x&from=2026-03-30&to=2026-08-30", "", fault.InvalidParameter("to", "range", "must be near"), `"code":"INVALID_PARAMETER","details":{"errors":[{"field":"to","message":"to must be near","rule":"range"}]`},
		"slots of a length of another type":     {"GET", "/slots?appointmentTypeId=apt_x&from=2026-03-30&to=2026-03-30&lengthMinutes=7", "", fault.InvalidParameter("length_minutes", "enum", "must be 30"), `"code":"INVALID_PARAMETER","details":{"errors":[{"field":"lengthMinutes"`},
		"an unknown order":                      {"GET", "/appointments?sort=createdAt", "", nil, `"field":"sort","rule":"enum"`},
		"an unknown status":                     {"GET", "/appointments?status=confirmed", "", nil, `"field":"status","rule":"enum"`},
		"an appointment without a start":        {"POST", "/appointments", `{"appointmentTypeId":"a","customerId":"b"}`, nil, `"field":"startsAt","rule":"required"`},
		"an appointment with two starts":        {"POST", "/appointments", `{"appointmentTypeId":"a","customerId":"b","startsAt":"2026-08-01T00:00:00Z","localStart":"2026-08-01T00:00:00"}`, nil, `"field":"localStart","rule":"exclusive"`},
		"a new price that is ended":             {"POST", "/appointment-types", `{"title":"M","lengths":[30],"pricingOptions":[{"name":"n","price":1,"ended":true}]}`, nil, `"field":"pricingOptions[0].ended","rule":"exclusive"`},
		"a local start that is no time":         {"POST", "/appointments", `{"appointmentTypeId":"a","customerId":"b","localStart":"noon"}`, nil, `must be a local time, for example 2026-03-29T09:30:00"`},
		"a local start with an offset":          {"POST", "/appointments", `{"appointmentTypeId":"a","customerId":"b","localStart":"2026-08-01T00:00:00Z"}`, nil, `"field":"localStart","rule":"local"`},
		"a length of 0":                         {"POST", "/appointments", `{"appointmentTypeId":"a","customerId":"b","lengthMinutes":0,"startsAt":"2026-08-01T00:00:00Z"}`, nil, `"field":"lengthMinutes","rule":"min"`},
		"a slot that is not free":               {"POST", "/appointments", `{"appointmentTypeId":"a","customerId":"b","startsAt":"2026-08-01T00:00:00Z"}`, refused("SLOT_UNAVAILABLE", map[string]string{"why": "staff_busy"}), `"code":"SLOT_UNAVAILABLE","details":{"why":"staff_busy"}`},
		"a fault of a local start":              {"POST", "/appointments", `{"appointmentTypeId":"a","customerId":"b","localStart":"2026-03-29T01:30:00"}`, field("slot.local_start"), `"field":"localStart"`},
		"a fault of a start in local time":      {"POST", "/appointments", `{"appointmentTypeId":"a","customerId":"b","startsAt":"2026-03-29T01:30:00"}`, field("slot.local_start"), `"field":"startsAt"`},
		"a fault of the buyer":                  {"POST", "/appointments", `{"appointmentTypeId":"a","customerId":"b","purchasedById":"c","startsAt":"2026-08-01T00:00:00Z"}`, field("purchaser_id"), `"field":"purchasedById"`},
		"a fault of the payment":                {"POST", "/appointments", `{"appointmentTypeId":"a","customerId":"b","startsAt":"2026-08-01T00:00:00Z"}`, field("customer_pass_id"), `"field":"payment.customerPassId"`},
		"a hold of no minutes":                  {"POST", "/appointment-holds", `{"appointmentTypeId":"a","customerId":"b","startsAt":"2026-08-01T00:00:00Z","minutes":0}`, nil, `"field":"minutes","rule":"min"`},
		"a move with two starts":                {"POST", path + "/move", `{"startsAt":"2026-08-01T00:00:00Z","localStart":"2026-08-01T00:00:00"}`, nil, `"field":"localStart","rule":"exclusive"`},
		"a move of an appointment that is past": {"POST", path + "/move", `{}`, refused("EVENT_PAST", nil), `"code":"EVENT_PAST"`},
		"assignments without an end":            {"GET", "/assignments?endsAfter=2026-08-01T00:00:00Z", "", nil, `"field":"startsBefore","rule":"required"`},
		"assignments of too many":               {"GET", "/assignments?endsAfter=2026-08-01T00:00:00Z&startsBefore=2026-08-02T00:00:00Z&resourceIds=" + distinct(201), "", nil, `"field":"resourceIds","rule":"max_items"`},
		"a fault of the staff of a date":        {"PATCH", date, `{"staffIds":["x"],"roomIds":[]}`, field("date.staff_and_rooms.staff_ids[0]"), `"field":"staffIds[0]"`},
		"a fault of the rooms of an event":      {"PUT", "/events/evt_" + idOf, `{"staffIds":[],"roomIds":["x"]}`, field("staff_and_rooms.room_ids[0]"), `"field":"roomIds[0]"`},
		"a change of the event of a type":       {"PUT", "/events/evt_" + idOf, `{"title":"x"}`, refused("APPOINTMENT_EVENT", nil), `"code":"APPOINTMENT_EVENT"`},
		"too many staff members of an event":    {"PUT", "/events/evt_" + idOf, `{"roomIds":[],"staffIds":[` + strings.Repeat(`"x",`, 10) + `"x"]}`, nil, `"field":"staffIds","rule":"max_items"`},
	} {
		t.Run("names "+name, func(t *testing.T) {
			var answers []proto.Message
			if tt.err == nil {
				answers = append(appointmentAnswers(), &bookingv1.GetEventResponse{Event: &bookingv1.Event{}}, &bookingv1.GetEventDateResponse{Date: aScheduledDate()})
			}
			g.services.prepare(tt.err, answers...)
			a := g.do(request{Method: tt.method, Path: tt.path, Body: tt.body, Token: g.token()})
			if a.Code != 400 || !strings.Contains(a.Body, tt.want) {
				t.Errorf("got %d %s\nwant %s", a.Code, a.Body, tt.want)
			}
		})
	}
}

// distinct returns n different identifiers, separated by commas.
func distinct(n int) string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = strings.Repeat("x", i%50+1) + string(rune('a'+i/50))
	}
	return strings.Join(ids, ",")
}

// TestStaffAndRoomsOfEvents checks the members of events and dates that say who teaches and where.
func TestStaffAndRoomsOfEvents(t *testing.T) {
	t.Parallel()
	g := newGateway(t, unlimited{})
	date := aScheduledDate()
	date.Date.Staff = []*bookingv1.AssignedStaff{{Staff: &bookingv1.StaffReference{Id: "staff_" + idOf, Name: "Ana Lima", Color: "#1f6feb"}, SubstitutesForId: "staff_" + idOf}}
	date.Date.Rooms = []*bookingv1.RoomReference{{Id: "room_" + idOf, Name: "Studio", Unit: 1}}
	event := &bookingv1.Event{
		Id: "evt_" + idOf, StaffAndRooms: &bookingv1.StaffAndRooms{StaffIds: []string{"staff_" + idOf}, RoomIds: []string{"room_" + idOf}}, AppointmentTypeId: "apt_" + idOf,
		Type: bookingv1.EventType_EVENT_TYPE_APPOINTMENT, Status: bookingv1.EventStatus_EVENT_STATUS_PUBLISHED, CreatedAt: at("2026-03-01T10:00:00Z"), UpdatedAt: at("2026-03-01T10:00:00Z"),
		Summary: &bookingv1.DatesSummary{StartsAt: at("2026-03-01T10:00:00Z"), EndsAt: at("2026-03-01T10:00:00Z")},
	}
	answers := []proto.Message{
		&bookingv1.GetEventDateResponse{Date: date}, &bookingv1.UpdateEventDateResponse{Scheduled: date}, &bookingv1.GetEventResponse{Event: event},
		&bookingv1.UpdateEventResponse{Event: event}, &bookingv1.CreateEventResponse{Event: event},
	}
	shown := `"staff":[{"id":"staff_` + idOf + `","name":"Ana Lima","color":"#1f6feb","substitutesForId":"staff_` + idOf + `"}],"rooms":[{"id":"room_` + idOf + `","name":"Studio","unit":1}]`
	for _, tt := range []operation{
		{"GET", "/event-dates/date_" + idOf, "", 200, []string{shown}, `id:"date_` + idOf + `"`},
		{"PATCH", "/event-dates/date_" + idOf, `{"staffIds":["staff_x"],"roomIds":[]}`, 200, []string{shown}, `date:{id:"date_` + idOf + `" staff_and_rooms:{staff_ids:"staff_x"}}`},
		{"GET", "/events/evt_" + idOf, "", 200, []string{`"staffIds":["staff_` + idOf + `"],"roomIds":["room_` + idOf + `"],"appointmentTypeId":"apt_` + idOf + `"`}, `id:"evt_` + idOf + `" max_dates:100`},
		{"PUT", "/events/evt_" + idOf, `{"staffIds":[],"roomIds":["room_x"]}`, 200, nil, `id:"evt_` + idOf + `" staff_and_rooms:{room_ids:"room_x"}`},
		{"PUT", "/events/evt_" + idOf, `{"staffIds":[]}`, 200, nil, `id:"evt_` + idOf + `" staff_and_rooms:{keep_rooms:true}`},
		{"PATCH", "/event-dates/date_" + idOf, `{"roomIds":["room_x"]}`, 200, []string{shown}, `date:{id:"date_` + idOf + `" staff_and_rooms:{room_ids:"room_x" keep_staff:true}}`},
		{"POST", "/events", `{"title":"T","startsAt":"2026-08-01T00:00:00Z","duration":60,"staffIds":["staff_x"]}`, 201, nil,
			`title:"T" dates:{starts_at:{seconds:1785542400} duration_minutes:60} staff_and_rooms:{staff_ids:"staff_x"}`},
	} {
		t.Run(tt.method+" "+tt.path+" "+tt.body, func(t *testing.T) { g.check(t, tt, answers) })
	}
}
