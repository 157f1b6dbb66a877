package clients

// appointmentSteps calls the operations of staff, rooms and appointments. The shop is open all day, so that
// the scenario can run at any time.
func appointmentSteps() []step {
	day := soon(6)[:10]
	hours := func(weekday int) object {
		return object{"weekday": weekday, "starts": "00:00", "ends": "24:00", "timezone": "UTC"}
	}
	return []step{
		{
			operation: "createStaffMember", status: 201, save: map[string]string{"person": "id"},
			body: object{"name": "Zoë Ångström", "email": "zoe.staff@example.com", "bio": "Massage since 2004.", "color": "#a1b2c3", "reference": "staff-1"},
		},
		{operation: "listStaff", query: object{"active": true, "sort": "-createdAt"}},
		{operation: "getStaffMember", path: []string{"$person"}},
		{operation: "updateStaffMember", path: []string{"$person"}, body: object{"bio": "Massage since 2003."}},
		{operation: "patchStaffMember", path: []string{"$person"}, body: object{"active": true}},
		{operation: "updateWorkingHours", path: []string{"$person"}, body: object{
			"weekly": []any{hours(1), hours(2), hours(3), hours(4), hours(5), hours(6), hours(7)},
			"dates":  []any{object{"date": soon(40)[:10], "ranges": []any{object{"starts": "10:00", "ends": "12:00", "timezone": "UTC"}}}},
		}},
		{operation: "getWorkingHours", path: []string{"$person"}},
		{operation: "createRoom", status: 201, save: map[string]string{"room": "id"}, body: object{"name": "Treatment room", "kind": "room", "capacity": 2}},
		{operation: "listRooms", query: object{"active": true}},
		{operation: "getRoom", path: []string{"$room"}},
		{operation: "updateRoom", path: []string{"$room"}, body: object{"capacity": 3}},
		{operation: "patchRoom", path: []string{"$room"}, body: object{"name": "Blue room"}},
		{operation: "createTimeOff", status: 201, save: map[string]string{"off": "id"}, body: object{"staffId": "$person", "startsAt": soon(20), "endsAt": soon(21), "reason": "A holiday"}},
		{operation: "createTimeOff", status: 201, body: object{"roomId": "$room", "startsAt": soon(22), "endsAt": soon(23), "reason": "Repairs"}},
		{operation: "listTimeOff", query: object{"staffId": "$person", "endsAfter": soon(1), "startsBefore": soon(30)}},
		{operation: "getTimeOff", path: []string{"$off"}},
		{operation: "deleteTimeOff", path: []string{"$off"}},
		{operation: "createHoliday", status: 201, save: map[string]string{"holiday": "id"}, body: object{"date": soon(30)[:10], "name": "Spring holiday"}},
		{operation: "createHoliday", status: 201, body: object{"date": soon(31)[:10], "name": "Summer holiday"}},
		{operation: "listHolidays", query: object{"from": soon(1)[:10], "to": soon(60)[:10]}},
		{operation: "getHoliday", path: []string{"$holiday"}},
		{operation: "deleteHoliday", path: []string{"$holiday"}},
		{
			operation: "createAppointmentType", status: 201, save: map[string]string{"massage": "id", "massagePrice": "pricingOptions.0.id"}, body: object{
				"title": "Massage", "timezone": "UTC", "lengths": []any{60, 30}, "bufferAfterMinutes": 15, "slotMinutes": 30, "staffIds": []any{"$person"},
				"rooms": []any{object{"anyOf": []any{"$room"}}}, "pricingOptions": []any{object{"name": "Massage", "price": 60, "currency": "GBP", "credits": 1, "taxRate": 20}},
			},
		},
		{operation: "listAppointmentTypes", query: object{"active": true, "staffId": "$person"}},
		{operation: "getAppointmentType", path: []string{"$massage"}},
		{operation: "updateAppointmentType", path: []string{"$massage"}, body: object{"description": "For the back."}},
		{operation: "patchAppointmentType", path: []string{"$massage"}, body: object{"minimumNoticeMinutes": 60}},
		{operation: "findSlots", query: object{"appointmentTypeId": "$massage", "lengthMinutes": 60, "staffId": "$person", "from": day, "to": day, "timezone": "UTC", "explain": true}},
		{
			operation: "createAppointment", status: 201, save: map[string]string{"appointment": "id"}, body: object{
				"appointmentTypeId": "$massage", "lengthMinutes": 60, "localStart": day + "T10:00:00", "customerId": "$friend", "purchasedById": "$friend",
				"pricingOptionId": "$massagePrice", "payment": object{"method": "CARD", "reference": "pi_4"},
			},
		},
		{operation: "listAppointments", query: object{"staffId": "$person", "status": "booked", "startsFrom": soon(1), "startsBefore": soon(30)}},
		{operation: "getAppointment", path: []string{"$appointment"}},
		{operation: "moveAppointment", path: []string{"$appointment"}, body: object{"localStart": day + "T12:00:00"}},
		{operation: "createAppointmentHold", status: 201, body: object{
			"appointmentTypeId": "$massage", "lengthMinutes": 30, "localStart": day + "T15:00:00", "customerId": "$friend", "minutes": 20,
		}},
		{operation: "listAssignments", query: object{"endsAfter": soon(5), "startsBefore": soon(8)}},
		{operation: "cancelAppointment", path: []string{"$appointment"}, body: object{"reason": "A cold.", "waivePolicy": true}},
	}
}
