package load

import (
	"net/http"
	"testing"
	"time"
)

// reserving is the beginning of a body that takes a slot of the masseur.
const reserving = `{"appointmentTypeId":"{massage}","staffId":"{masseur}","startsAt":"{slot}","waiveHours":true`

// resources is how many staff, rooms, types, days off and holidays a round creates, below the limits of a company.
const resources = 8

// slotMinutes is the length of an appointment.
const slotMinutes = 5

// tableOfAppointments returns the operations of staff, rooms and appointments.
func tableOfAppointments() []route {
	b := routesOf(gatewayB)
	return []route{
		b.post("/staff", `{"name":"Sam {n}","bio":"Massage"}`).making("staff").atMost(resources),
		b.read("/staff"),
		b.read("/staff/{staff}"),
		b.put("/staff/{staff}", `{"bio":"Massage {n}"}`),
		b.patch("/staff/{staff}", `{"bio":"Yoga {n}"}`),
		b.read("/staff/{masseur}/hours"),
		b.put("/staff/{staff}/hours", `{"weekly":[{"weekday":1,"starts":"0{uses}:00","ends":"17:00"}],"dates":[]}`),
		b.post("/time-off", `{"staffId":"{staff}","startsAt":"{slot}","endsAt":"{nextYear}","reason":"Leave {n}"}`).making("off").atMost(resources),
		b.read("/time-off"),
		b.read("/time-off/{off}"),
		b.del("/time-off/{off!}").atMost(resources),
		b.post("/holidays", `{"date":"{nextMonth}","name":"Holiday {n}","location":"Branch {n}"}`).making("holiday").atMost(resources),
		b.read("/holidays"),
		b.read("/holidays/{holiday}"),
		b.del("/holidays/{holiday!}").atMost(resources),
		b.post("/rooms", `{"name":"Room {n}","capacity":2}`).making("room").atMost(resources),
		b.read("/rooms"),
		b.read("/rooms/{room}"),
		b.put("/rooms/{room}", `{"capacity":{uses}}`),
		b.patch("/rooms/{room}", `{"name":"Studio {n}"}`),
		b.post("/appointment-types", `{"title":"Massage {n}","lengths":[30,60],"staffIds":["{staff}"]}`).making("kind").atMost(resources),
		b.read("/appointment-types"),
		b.read("/appointment-types/{kind}"),
		b.put("/appointment-types/{kind}", `{"title":"Treatment {n}"}`),
		b.patch("/appointment-types/{kind}", `{"minimumNoticeMinutes":{uses}0}`),
		b.read("/slots?appointmentTypeId={massage}&from={today}&to={nextMonth}"),
		b.post("/appointments", reserving+`,"customerId":"{customer}","payment":{"method":"CARD"}}`).making("appointment"),
		b.read("/appointments"),
		b.read("/appointments/{appointment}"),
		b.post("/appointments/{appointment}/move", `{"startsAt":"{slot}","waiveHours":true}`),
		b.post("/appointments/{appointment!}/cancel", `{"reason":"A cold."}`),
		b.post("/appointment-holds", reserving+`,"customerId":"{customer}"}`).making("slotHold"),
		b.read("/assignments?endsAfter={now}&startsBefore={nextWeek}"),
	}
}

// preparedAppointments returns routes that only fill pools.
func preparedAppointments() []route {
	b := routesOf(gatewayB)
	return []route{
		b.post("/staff", `{"name":"Max"}`).making("masseur"),
		b.post("/appointment-types", `{"title":"Massage","lengths":[5],"slotMinutes":5,"staffIds":["{masseur}"]}`).making("massage"),
		b.post("/appointments", reserving+`,"customerId":"{reader}"}`).making("readerAppointment"),
	}
}

// salon gives the masseur working hours, and the reader appointments.
func (w *routeWorld) salon(b *testing.B) {
	w.add("nextWeek", w.start.AddDate(0, 0, 7).Format(time.RFC3339))
	w.add("nextMonth", w.start.AddDate(0, 0, 28).Format(time.DateOnly))
	w.add("nextYear", w.start.AddDate(1, 0, 0).Format(time.RFC3339))
	w.must(b, w.maker(b, "masseur"))
	w.must(b, route{
		gateway: gatewayB, method: http.MethodPut, path: "/staff/{masseur}/hours",
		body: `{"weekly":[{"weekday":1,"starts":"09:00","ends":"17:00"},{"weekday":3,"starts":"09:00","ends":"17:00"}],"dates":[]}`,
	})
	for range 30 {
		w.must(b, w.maker(b, "readerAppointment"))
	}
}
