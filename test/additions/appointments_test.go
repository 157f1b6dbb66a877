package additions

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"reservation.dev/test/harness"
)

// appointmentType creates a type of an hour for £60 or two credits, which starts every half hour, with
// the differences in more.
func (c *caller) appointmentType(t *testing.T, more object, staff ...object) object {
	t.Helper()
	return c.create(t, "/appointment-types", with(object{
		"title": "Massage", "lengths": []int{60}, "slotMinutes": 30, "staffIds": ids(staff),
		"pricingOptions": []object{{"name": "Hour", "price": 60, "currency": "GBP", "credits": 2, "taxRate": 20}},
	}, more))
}

// slots returns the local starts of the free slots on a day, HH:MM, with the parameters in query.
func (c *caller) slots(t *testing.T, kind object, days int, query string) []string {
	t.Helper()
	found := c.get(t, fmt.Sprintf("/slots?appointmentTypeId=%s&from=%s&to=%[2]s%s", kind["id"], date(days), query))
	var starts []string
	for _, slot := range at(found, "days.0.slots").([]any) {
		starts = append(starts, text(slot.(object), "localStart")[11:16])
	}
	return starts
}

// appointment books an appointment on a day, paid by card unless more differs.
func (c *caller) appointment(t *testing.T, kind object, customer string, days int, clock string, more object) object {
	t.Helper()
	return c.create(t, "/appointments", with(object{
		"appointmentTypeId": kind["id"], "customerId": customer, "localStart": date(days) + "T" + clock + ":00",
	}, more))
}

func testAppointments(t *testing.T, p *platform) {
	c := p.newCaller(t)
	ada, ben := c.customer(t, "Ada", "Byron"), c.customer(t, "Ben", "King")

	t.Run("a slot lies within the hours, on the grid, and holidays and time off take it", func(t *testing.T) {
		sam := c.staff(t, "Sam", nil)
		kind := c.appointmentType(t, object{"slotMinutes": 60}, sam)
		has(t, kind, object{"title": "Massage", "lengths": []int{60}, "staffIds": []any{sam["id"]}, "active": true, "timezone": "Europe/London"})
		if got, want := c.slots(t, kind, 7, ""), []string{"09:00", "10:00", "11:00", "12:00", "13:00", "14:00", "15:00", "16:00"}; !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		off := decode(t, c.write(t, 201, post, "/time-off", object{"staffId": sam["id"], "startsAt": london(t, 7, "10:30"), "endsAt": london(t, 7, "15:00"), "reason": "Dentist"}))
		if got, want := c.slots(t, kind, 7, ""), []string{"09:00", "15:00", "16:00"}; !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		c.lists(t, "/time-off?staffId="+text(sam, "id"), text(off, "id"))
		c.delete(t, "/time-off/"+text(off, "id"))
		c.write(t, 201, post, "/holidays", object{"date": date(7), "name": "Closed"})
		if got := c.slots(t, kind, 7, ""); len(got) != 0 {
			t.Errorf("slots on a holiday: %v", got)
		}
		days := c.get(t, fmt.Sprintf("/slots?appointmentTypeId=%s&from=%s&to=%s&explain=true", kind["id"], date(7), date(8)))
		has(t, days, object{"days.0.date": date(7), "days.0.reason": "holiday", "days.1.reason": nil, "timezone": "Europe/London", "lengthMinutes": 60})
		c.refuses(t, "INVALID_PARAMETER", get, fmt.Sprintf("/slots?appointmentTypeId=%s&from=%s&to=%s", kind["id"], date(7), date(40)), nil)
		c.Send(t, 404, get, "/slots?appointmentTypeId=apt_01jb4x9m3vf6ksn8w2d7pq5r0t&from="+date(7)+"&to="+date(7), nil)
	})
	t.Run("a booked slot is taken, with its buffers", func(t *testing.T) {
		sam := c.staff(t, "Sam", nil)
		kind := c.appointmentType(t, object{"bufferBeforeMinutes": 15, "bufferAfterMinutes": 15}, sam)
		made := c.appointment(t, kind, ada, 6, "12:00", nil)
		has(t, made, object{"status": "booked", "staff.id": sam["id"], "staff.name": "Sam", "customer.id": ada, "appointmentTypeId": kind["id"], "eventId": kind["eventId"],
			"startsAt": london(t, 6, "12:00"), "endsAt": london(t, 6, "13:00"), "lengthMinutes": 60, "bufferBeforeMinutes": 15, "rooms": []object{}})
		if got, want := c.slots(t, kind, 6, ""), []string{"09:00", "09:30", "10:00", "10:30", "13:30", "14:00", "14:30", "15:00", "15:30", "16:00"}; !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		refused := c.Read(t, 400, post, "/appointments", object{"appointmentTypeId": kind["id"], "customerId": ben, "startsAt": london(t, 6, "12:30")})
		has(t, refused, object{"error.code": "SLOT_UNAVAILABLE", "error.details.why": "staff_busy"})
		has(t, c.get(t, path(text(made, "registrationId"))), object{"status": "confirmed", "customerId": ada, "eventDateId": made["eventDateId"], "paymentMethod": "CARD"})
		has(t, c.get(t, path(text(made, "eventId"))), object{"type": "appointment", "title": "Massage", "appointmentTypeId": kind["id"]})
		has(t, c.get(t, path(text(made, "eventDateId"))), object{"spotsTaken": 1, "spotsAvailable": 0, "staff.0.id": sam["id"]})
		for why, body := range map[string]object{
			"off_grid": {"startsAt": london(t, 6, "09:05")}, "no_hours": {"startsAt": london(t, 6, "07:00")}, "past": {"startsAt": london(t, -1, "10:00")},
		} {
			refused := c.Read(t, 400, post, "/appointments", with(object{"appointmentTypeId": kind["id"], "customerId": ben}, body))
			has(t, refused, object{"error.code": "SLOT_UNAVAILABLE", "error.details.why": why})
		}
	})
	t.Run("cancelling frees the slot, and cancels its date", func(t *testing.T) {
		sam := c.staff(t, "Sam", nil)
		kind := c.appointmentType(t, nil, sam)
		made := c.appointment(t, kind, ada, 6, "12:00", nil)
		has(t, c.do(t, path(text(made, "id"))+"/cancel", object{"reason": "ill"}), object{"status": "cancelled", "refundDue": 60})
		has(t, c.get(t, path(text(made, "eventDateId"))), object{"status": "cancelled"})
		c.refuses(t, "ALREADY_CANCELLED", post, path(text(made, "id"))+"/cancel", nil)
		c.refuses(t, "ALREADY_CANCELLED", post, path(text(made, "id"))+"/move", object{"startsAt": london(t, 6, "13:00")})
		c.appointment(t, kind, ben, 6, "12:00", nil)
		c.lists(t, "/appointments?status=cancelled&appointmentTypeId="+text(kind, "id"), text(made, "id"))
	})
	t.Run("moving keeps the appointment and its price", func(t *testing.T) {
		sam, kim := c.staff(t, "Sam", nil), c.staff(t, "Kim", nil)
		kind := c.appointmentType(t, object{"lengths": []int{30, 60}}, sam, kim)
		made := c.appointment(t, kind, ada, 6, "12:00", object{"staffId": sam["id"], "lengthMinutes": 60})
		moved := c.do(t, path(text(made, "id"))+"/move", object{"localStart": date(8) + "T12:30:00", "staffId": kim["id"]})
		has(t, moved, object{"id": made["id"], "registrationId": made["registrationId"], "startsAt": london(t, 8, "12:30"), "staff.name": "Kim", "payment": made["payment"]})
		has(t, c.get(t, path(text(made, "registrationId"))), object{"status": "confirmed", "eventDate": london(t, 8, "12:30")})
		// A move by half an hour overlaps the present slot.
		has(t, c.do(t, path(text(made, "id"))+"/move", object{"localStart": date(8) + "T12:00:00"}), object{"staff.name": "Kim", "startsAt": london(t, 8, "12:00")})
		c.appointment(t, kind, ben, 6, "12:00", object{"staffId": sam["id"], "lengthMinutes": 60})
		c.refuses(t, "SLOT_UNAVAILABLE", post, path(text(made, "id"))+"/move", object{"localStart": date(6) + "T12:30:00", "staffId": sam["id"]})
		has(t, c.get(t, path(text(made, "id"))), object{"startsAt": london(t, 8, "12:00"), "staff.name": "Kim"})
		c.lists(t, "/appointments?startsFrom="+london(t, 8, "00:00")+"&startsBefore="+london(t, 9, "00:00")+"&staffId="+text(kim, "id"), text(made, "id"))
	})
	t.Run("a held slot is taken until the hold ends", func(t *testing.T) {
		kind := c.appointmentType(t, nil, c.staff(t, "Sam", nil))
		hold := func(clock string) object {
			made := c.write(t, 201, post, "/appointment-holds", object{"appointmentTypeId": kind["id"], "customerId": ada, "localStart": date(6) + "T" + clock + ":00", "minutes": 5})
			hold := c.readable(t, decode(t, made))
			if read := c.Send(t, 200, get, path(text(hold, "id")), nil).Header.Get("ETag"); read != made.Header.Get("ETag") {
				t.Errorf("GET has the ETag %s, and POST %s", read, made.Header.Get("ETag"))
			}
			return hold
		}
		released, paid := hold("09:00"), hold("10:00")
		has(t, c.get(t, path(text(paid, "appointmentId"))), object{"status": "held"})
		c.refuses(t, "SLOT_UNAVAILABLE", post, "/appointments", object{"appointmentTypeId": kind["id"], "customerId": ben, "localStart": date(6) + "T09:30:00"})
		c.delete(t, path(text(released, "id")))
		has(t, c.get(t, path(text(released, "id"))), object{"status": "released", "appointmentId": released["appointmentId"]})
		if got := c.slots(t, kind, 6, ""); got[0] != "09:00" || slices.Contains(got, "10:00") {
			t.Errorf("%v", got)
		}
		c.do(t, path(text(paid, "id"))+"/confirm", by("CASH"))
		has(t, c.get(t, path(text(paid, "appointmentId"))), object{"status": "booked", "customer.id": ada})
		has(t, c.get(t, path(text(paid, "id"))), object{"status": "confirmed", "appointmentId": paid["appointmentId"]})
	})
	t.Run("passes pay, and a waiting customer takes a slot that becomes free", func(t *testing.T) {
		kind := c.appointmentType(t, nil, c.staff(t, "Sam", nil))
		pass := c.give(t, c.passType(t, nil), ada, nil)
		made := c.appointment(t, kind, ada, 6, "12:00", byPass(pass))
		has(t, c.get(t, path(text(pass, "id"))), object{"remainingUses": 3})
		wait := c.create(t, path(text(made, "eventDateId"))+"/waitlist", object{"customerId": ben, "autoBook": true, "payment": object{"method": "CASH"}})
		c.do(t, path(text(made, "id"))+"/cancel", nil)
		c.becomes(t, text(wait, "id"), object{"status": "booked"})
		has(t, c.get(t, path(text(pass, "id"))), object{"remainingUses": 5})
		found := c.list(t, "/appointments?status=booked&appointmentTypeId="+text(kind, "id"))
		if len(found) != 1 || text(found[0], "customer.id") != ben || found[0]["eventDateId"] != made["eventDateId"] {
			t.Errorf("%v", found)
		}
	})
	t.Run("each length has its price", func(t *testing.T) {
		kind := c.appointmentType(t, object{"lengths": []int{30, 90}, "pricingOptions": []object{
			{"name": "Half an hour", "price": 35, "currency": "GBP", "lengthMinutes": 30}, {"name": "An hour and a half", "price": 90, "currency": "GBP", "lengthMinutes": 90},
		}}, c.staff(t, "Sam", nil))
		short, long := c.appointment(t, kind, ada, 6, "09:00", nil), c.appointment(t, kind, ada, 6, "12:00", object{"lengthMinutes": 90})
		has(t, c.get(t, path(text(short, "transactionId"))), object{"total": 35})
		has(t, c.get(t, path(text(long, "transactionId"))), object{"total": 90})
		c.Send(t, 400, post, "/appointments", object{"appointmentTypeId": kind["id"], "customerId": ada, "localStart": date(6) + "T15:00:00", "lengthMinutes": 45})
	})
	t.Run("a slot needs a unit of each room", func(t *testing.T) {
		blue, green, laser := c.room(t, "Blue", nil), c.room(t, "Green", nil), c.room(t, "Laser", object{"kind": "equipment"})
		sam, kim, lee := c.staff(t, "Sam", nil), c.staff(t, "Kim", nil), c.staff(t, "Lee", nil)
		rooms := []object{{"anyOf": []any{green["id"], blue["id"]}}}
		kind := c.appointmentType(t, object{"rooms": rooms}, sam, kim, lee)
		has(t, c.appointment(t, kind, ada, 6, "12:00", nil), object{"rooms.0.name": "Green", "rooms.0.unit": 1})
		has(t, c.appointment(t, kind, ada, 6, "12:30", nil), object{"rooms.0.name": "Blue"})
		refused := c.Read(t, 400, post, "/appointments", object{"appointmentTypeId": kind["id"], "customerId": ben, "localStart": date(6) + "T12:00:00"})
		has(t, refused, object{"error.code": "SLOT_UNAVAILABLE", "error.details.why": "room_busy"})
		both := c.appointmentType(t, object{"rooms": append(rooms, object{"anyOf": []any{laser["id"]}})}, sam, kim, lee)
		has(t, c.appointment(t, both, ben, 6, "14:00", nil), object{"rooms.0.name": "Green", "rooms.1.name": "Laser"})
	})
	t.Run("a class takes its teacher and its room", func(t *testing.T) {
		sam, kim, studio := c.staff(t, "Sam", nil), c.staff(t, "Kim", nil), c.room(t, "Studio", nil)
		kind := c.appointmentType(t, nil, sam)
		class := c.event(t, object{"startsAt": london(t, 6, "12:00"), "staffIds": []any{sam["id"]}, "roomIds": []any{studio["id"]}})
		class2 := text(class, "dates.0.id")
		has(t, c.get(t, path(class2)), object{"staff.0.name": "Sam", "rooms.0.name": "Studio"})
		if got := c.slots(t, kind, 6, ""); slices.Contains(got, "12:00") || slices.Contains(got, "11:30") || !slices.Contains(got, "11:00") {
			t.Errorf("%v", got)
		}
		c.refuses(t, "STAFF_BUSY", post, "/events", object{"title": "Yoga", "type": "class", "startsAt": london(t, 6, "12:30"), "duration": 60, "staffIds": []any{sam["id"]}})
		c.refuses(t, "ROOM_BUSY", post, "/events", object{"title": "Yoga", "type": "class", "startsAt": london(t, 6, "12:30"), "duration": 60, "roomIds": []any{studio["id"]}})
		c.refuses(t, "STAFF_BUSY", post, "/time-off", object{"staffId": sam["id"], "startsAt": london(t, 6, "12:30"), "endsAt": london(t, 6, "13:30")})
		has(t, c.change(t, class2, object{"staffIds": []any{kim["id"]}}), object{"staff.0.name": "Kim", "staff.0.substitutesForId": sam["id"], "rooms.0.name": "Studio"})
		made := c.appointment(t, kind, ada, 6, "12:00", nil)
		c.refuses(t, "STAFF_BUSY", patch, path(class2), object{"staffIds": []any{sam["id"]}})
		c.refuses(t, "APPOINTMENT_EVENT", patch, path(text(made, "eventDateId")), object{"startsAt": london(t, 6, "15:00")})
		c.do(t, path(class2)+"/cancel", nil)
		c.event(t, object{"startsAt": london(t, 6, "12:00"), "staffIds": []any{kim["id"]}, "roomIds": []any{studio["id"]}})
	})
	t.Run("whoever has worked least this week is chosen", func(t *testing.T) {
		sam, kim, lee := c.staff(t, "Sam", nil), c.staff(t, "Kim", nil), c.staff(t, "Lee", nil)
		kind := c.appointmentType(t, nil, sam, kim, lee)
		count := map[string]int{}
		for hour := range 6 {
			made := c.appointment(t, kind, ada, 6, fmt.Sprintf("%02d:00", 9+hour), nil)
			count[text(made, "staff.name")]++
		}
		if count["Sam"] != 2 || count["Kim"] != 2 || count["Lee"] != 2 {
			t.Errorf("%v", count)
		}
	})
	t.Run("notice and horizon apply unless they are waived", func(t *testing.T) {
		kind := c.appointmentType(t, object{"minimumNoticeMinutes": 10 * 24 * 60, "maximumAdvanceDays": 20}, c.staff(t, "Sam", nil))
		early, late := object{"appointmentTypeId": kind["id"], "customerId": ada, "localStart": date(6) + "T12:00:00"}, object{"appointmentTypeId": kind["id"], "customerId": ada, "localStart": date(25) + "T12:00:00"}
		has(t, c.Read(t, 400, post, "/appointments", early), object{"error.code": "SLOT_UNAVAILABLE", "error.details.why": "too_short_notice"})
		has(t, c.Read(t, 400, post, "/appointments", late), object{"error.code": "SLOT_UNAVAILABLE", "error.details.why": "beyond_horizon"})
		c.create(t, "/appointments", with(early, object{"waiveNotice": true}))
		c.create(t, "/appointments", with(late, object{"waiveNotice": true}))
	})
	t.Run("the last slot is booked once", func(t *testing.T) {
		kind := c.appointmentType(t, nil, c.staff(t, "Sam", nil))
		var wg sync.WaitGroup
		answers := make([]int, 40)
		for i := range answers {
			wg.Go(func() {
				// The slots at 12:00 and at 12:30 overlap.
				body := object{"appointmentTypeId": kind["id"], "customerId": ada, "localStart": date(6) + fmt.Sprintf("T12:%02d:00", i%2*30)}
				answers[i] = c.Try(t, post, "/appointments", body).Code
			})
		}
		wg.Wait()
		slices.Sort(answers)
		if answers[0] != 201 || answers[1] != 400 || answers[len(answers)-1] != 400 {
			t.Errorf("%v", answers)
		}
	})
}

// testAppointmentsOfCustomer checks the appointments of a customer on Interface A.
func testAppointmentsOfCustomer(t *testing.T, c *caller, a *harness.Face) {
	cleo, dan := c.customer(t, "Cleo", "Day"), c.customer(t, "Dan", "Roe")
	sam := c.staff(t, "Sam", nil)
	kind := c.appointmentType(t, nil, sam)
	made := c.appointment(t, kind, dan, 6, "12:00", object{"purchasedById": cleo})
	all := "/customer/" + cleo + "/appointments"
	page := a.Read(t, 200, get, all, nil)
	has(t, page, object{"total": 1, "page": 0, "pageSize": 30, "data.0.id": made["id"], "data.0.type": "appointment", "data.0.status": "booked",
		"data.0.title": "Massage", "data.0.tz": "Europe/London", "data.0.appointment_type_id": kind["id"], "data.0.staff.name": "Sam"})
	has(t, a.Read(t, 200, get, "/customer/"+dan+"/appointment/"+text(made, "id"), nil), object{"data": at(page, "data.0")})
	revalidates(t, a, all)
	c.do(t, path(text(made, "id"))+"/cancel", nil)
	has(t, a.Read(t, 200, get, all, nil), object{"data.0.status": "cancelled"})
	other := c.customer(t, "Eve", "Poe")
	a.Refused(t, 404, "NOT_FOUND", get, "/customer/"+other+"/appointment/"+text(made, "id"), nil)
	bookings := a.Read(t, 200, get, "/customer/"+cleo+"/bookings", nil)
	has(t, bookings, object{"total": 1, "data.0.bookings.0.is_cancelled": true, "data.0.bookings.0.event.name": "Massage"})
}
