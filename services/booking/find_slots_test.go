package booking

import (
	"strings"
	"testing"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// slotWorld is a company with an appointment type of 60 and 30 minutes in London, and staff who offer it.
// On 1 January 2030, its clock shows 09:00.
type slotWorld struct {
	*world
	kind id.AppointmentType
}

func newSlotWorld(t testing.TB) *slotWorld {
	t.Helper()
	return newSlotWorldOn(newWorld(t))
}

func newSlotWorldOn(of *world) *slotWorld {
	t := of.t
	t.Helper()
	w := &slotWorld{world: of, kind: id.New[id.AppointmentType]()}
	w.server.now = func() time.Time { return time.Date(2030, 1, 1, 9, 0, 0, 0, time.UTC) }
	w.ctx = bearer(t.Context(), w.issuer.Client(w.company, "appointments:read"))
	w.exec(`insert into events (company_id, id, title, description, type, status, timezone, location, created_at, updated_at, of_appointments, listed)
		values ($1, $2, 'Massage', '', 'appointment', 'published', 'Europe/London', 'Soho', now(), now(), true, false)`, w.company, w.kind)
	w.exec(`insert into appointment_types (company_id, id, lengths, buffer_before_minutes, buffer_after_minutes, slot_minutes, active, created_at, updated_at)
		values ($1, $2, '{30, 60}', 0, 15, 30, true, now(), now())`, w.company, w.kind)
	return w
}

// staff adds a person who offers the type and works on Mondays to Fridays from 9 to 11.
func (w *slotWorld) staff() id.StaffMember {
	w.t.Helper()
	who := id.New[id.StaffMember]()
	w.exec(`insert into staff (company_id, id, name, email, photo_url, bio, color, active, created_at, updated_at)
		values ($1, $2, 'Ann', '', '', '', '#000000', true, now(), now())`, w.company, who)
	w.exec(`insert into appointment_type_staff (company_id, appointment_type_id, staff_id) values ($1, $2, $3)`, w.company, w.kind, who)
	w.exec(`insert into working_hours (company_id, staff_id, position, weekday, starts, ends, location, timezone)
		select $1, $2, n, n, 540, 660, '', 'Europe/London' from generate_series(1, 5) n`, w.company, who)
	return who
}

// room adds a room that the type requires.
func (w *slotWorld) room(requirement, position int, capacity int) id.Room {
	w.t.Helper()
	which := id.New[id.Room]()
	w.exec(`insert into rooms (company_id, id, name, kind, capacity, location, active, created_at, updated_at)
		values ($1, $2, 'Room', 'room', $3, '', true, now(), now())`, w.company, which, capacity)
	w.exec(`insert into appointment_type_rooms (company_id, appointment_type_id, requirement, position, room_id)
		values ($1, $2, $3, $4, $5)`, w.company, w.kind, requirement, position, which)
	return which
}

// assign takes the time of a person or a room for a new date of the type, without buffers.
func (w *slotWorld) assign(resource interface{ UUID() id.UUID }, unit int, starts string, minutes int) id.EventDate {
	w.t.Helper()
	at, err := time.Parse("2006-01-02 15:04", starts)
	if err != nil {
		w.t.Fatal(err)
	}
	date, kind := id.New[id.EventDate](), "staff"
	if unit > 0 {
		kind = "room"
	}
	w.exec(`insert into event_dates (company_id, id, event_id, starts_at, duration_minutes, timezone, capacity, appointment_id)
		values ($1, $2, $3, $4, $5, 'Europe/London', 1, $2)`, w.company, date, w.kind, at, minutes)
	w.exec(`insert into assignments (company_id, event_date_id, resource_id, kind, unit, position, taken_from, taken_until)
		values ($1, $2, $3, $4, $5, 0, $6, $7)`, w.company, date, resource.UUID(), kind, unit, at, at.Add(time.Duration(minutes)*time.Minute))
	return date
}

// find returns the slots of the days from "from" to "to" as text, and the reasons for days without slots.
func (w *slotWorld) find(req *bookingv1.FindSlotsRequest, from, to string) string {
	w.t.Helper()
	req.AppointmentTypeId, req.From, req.To, req.Explain = w.kind.String(), from, to, true
	resp, err := w.appointments.FindSlots(w.ctx, req)
	if err != nil {
		w.t.Fatal(err)
	}
	var days []string
	for _, d := range resp.GetDays() {
		var all []string
		for _, s := range d.GetSlots() {
			all = append(all, strings.TrimPrefix(s.GetLocalStart(), d.GetDate()+"T")[:5])
		}
		if d.GetReason() != 0 {
			all = append(all, strings.TrimPrefix(d.GetReason().String(), "NO_SLOTS_REASON_"))
		}
		days = append(days, strings.Join(all, " "))
	}
	return strings.Join(days, "; ")
}

func (w *slotWorld) wantSlots(what, want string, req *bookingv1.FindSlotsRequest, from, to string) {
	w.t.Helper()
	if got := w.find(req, from, to); got != want {
		w.t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func TestFindSlots(t *testing.T) {
	t.Parallel()
	w := newSlotWorld(t)
	any := func() *bookingv1.FindSlotsRequest { return &bookingv1.FindSlotsRequest{LengthMinutes: 60} }
	w.wantSlots("a type without staff", "NO_STAFF", any(), "2030-01-02", "2030-01-02")
	ann := w.staff()
	w.wantSlots("weekly hours", "09:00 09:30 10:00; NO_HOURS", any(), "2030-01-04", "2030-01-05")
	w.wantSlots("the shortest length", "09:00 09:30 10:00 10:30", &bookingv1.FindSlotsRequest{}, "2030-01-04", "2030-01-04")
	w.wantSlots("days of the asker", "18:00 18:30 19:00", &bookingv1.FindSlotsRequest{LengthMinutes: 60, Timezone: "Asia/Tokyo"}, "2030-01-04", "2030-01-04")
	w.wantSlots("today and before", "PAST; 09:30 10:00", any(), "2029-12-31", "2030-01-01")

	w.exec(`update appointment_types set minimum_notice_minutes = 45, maximum_advance_days = 3`)
	w.wantSlots("notice and horizon", "10:00; 09:00 09:30 10:00; 09:00 09:30 10:00; 09:00; BEYOND_HORIZON", any(), "2030-01-01", "2030-01-05")
	w.wantSlots("waived notice and horizon", "09:30 10:00; 09:00 09:30 10:00",
		&bookingv1.FindSlotsRequest{LengthMinutes: 60, WaiveNotice: true}, "2030-01-01", "2030-01-02")
	w.exec(`update appointment_types set minimum_notice_minutes = 0, maximum_advance_days = 0`)

	w.exec(`insert into holidays (company_id, id, date, name, location, created_at) select $1, gen_random_uuid(), d, '', l, now()
		from (values ('2030-01-07'::date, ''), ('2030-01-08', 'Soho'), ('2030-01-09', 'Camden')) h(d, l)`, w.company)
	w.wantSlots("holidays of all locations, of the type's and of another", "HOLIDAY; HOLIDAY; 09:00 09:30 10:00", any(), "2030-01-07", "2030-01-09")

	w.exec(`insert into working_hours (company_id, staff_id, position, date, starts, ends, location, timezone)
		values ($1, $2, 10, '2030-01-10', null, null, '', 'UTC'), ($1, $2, 11, '2030-01-11', 540, 660, 'Camden', 'Europe/London'),
			($1, $2, 12, '2030-01-14', 540, 600, 'Soho', 'Europe/London')`, w.company, ann)
	w.wantSlots("a day off, a day elsewhere and a short day", "NO_HOURS; NO_HOURS; NO_HOURS; NO_HOURS; 09:00", any(), "2030-01-10", "2030-01-14")

	w.exec(`insert into time_off (company_id, id, resource_id, kind, starts_at, ends_at, reason, created_at)
		values ($1, gen_random_uuid(), $2, 'staff', '2030-01-15 10:30Z', '2030-01-16 09:01Z', '', now())`, w.company, ann)
	w.wantSlots("time off", "09:00; 09:30 10:00", any(), "2030-01-15", "2030-01-16")

	room := w.room(0, 0, 2)
	w.assign(room, 1, "2030-01-17 09:00", 120)
	w.assign(room, 2, "2030-01-17 09:00", 30)
	w.wantSlots("a room with two units", "09:30 10:00", any(), "2030-01-17", "2030-01-17")
	w.exec(`insert into time_off (company_id, id, resource_id, kind, starts_at, ends_at, reason, created_at)
		values ($1, gen_random_uuid(), $2, 'room', '2030-01-18 00:00Z', '2030-01-19 00:00Z', '', now())`, w.company, room)
	w.wantSlots("time off of the room", "ROOM_BUSY", any(), "2030-01-18", "2030-01-18")
	w.exec(`update rooms set active = false`)
	w.wantSlots("a requirement without an active room", "ROOM_BUSY", any(), "2030-01-17", "2030-01-17")
	w.exec(`update rooms set active = true`)

	date := w.assign(ann, 0, "2030-01-21 09:00", 60)
	w.wantSlots("a date, and the buffer before it", "10:00", any(), "2030-01-21", "2030-01-21")
	w.exec(`update event_dates set status = 'cancelled' where id = $1`, date)
	w.wantSlots("a cancelled date", "09:00 09:30 10:00", any(), "2030-01-21", "2030-01-21")

	w.exec(`update staff set active = false`)
	w.wantSlots("inactive staff", "NO_STAFF", any(), "2030-01-21", "2030-01-21")
}

func TestFindSlotsOrdersStaffByChoice(t *testing.T) {
	t.Parallel()
	w := newSlotWorld(t)
	ann, bob := w.staff(), w.staff()
	order := func(staff id.StaffMember) string {
		resp, err := w.appointments.FindSlots(w.ctx, &bookingv1.FindSlotsRequest{AppointmentTypeId: w.kind.String(), StaffId: staff.String(), From: "2030-01-09", To: "2030-01-09"})
		if err != nil {
			t.Fatal(err)
		}
		return strings.NewReplacer(ann.String(), "ann", bob.String(), "bob").Replace(strings.Join(resp.GetDays()[0].GetSlots()[0].GetStaffIds(), " "))
	}
	if got := order(id.StaffMember{}); got != "ann bob" {
		t.Errorf("without dates: %s", got)
	}
	w.assign(bob, 0, "2030-01-06 12:00", 300) // a Sunday
	w.assign(ann, 0, "2030-01-13 12:00", 30)  // the Sunday of the week
	if got := order(id.StaffMember{}); got != "bob ann" {
		t.Errorf("ann has a date in the week: %s", got)
	}
	if got := order(ann); got != "ann" {
		t.Errorf("only ann: %s", got)
	}
}

func TestFindSlotsForAMove(t *testing.T) {
	t.Parallel()
	w := newSlotWorld(t)
	date := w.assign(w.staff(), 0, "2030-01-09 09:00", 45)
	appointment := id.New[id.Appointment]()
	w.exec(`insert into transactions (company_id, id, purchaser_id, purchased_at, timezone, source, status)
		values ($1, $2, $2, '2030-01-01', 'UTC', 'import', 'confirmed')`, w.company, appointment)
	w.exec(`insert into bookings (company_id, id, transaction_id, position, event_id, event_date_id, pricing_option_id, spaces, method, credits_used)
		values ($1, $2, $2, 0, $3, $4, $3, 1, 'PASS', 1)`, w.company, appointment, w.kind, date)
	w.wantSlots("another appointment", "10:00", &bookingv1.FindSlotsRequest{LengthMinutes: 60}, "2030-01-09", "2030-01-09")
	w.wantSlots("the appointment itself", "09:00 09:30 10:00",
		&bookingv1.FindSlotsRequest{LengthMinutes: 60, MovingId: appointment.String()}, "2030-01-09", "2030-01-09")
	w.wantSlots("its present length, which the type does not have", "09:00 09:30 10:00",
		&bookingv1.FindSlotsRequest{LengthMinutes: 45, MovingId: appointment.String()}, "2030-01-09", "2030-01-09")
	found, err := w.appointments.FindSlots(w.ctx, &bookingv1.FindSlotsRequest{
		AppointmentTypeId: w.kind.String(), MovingId: appointment.String(), From: "2030-01-09", To: "2030-01-09",
	})
	if err != nil || found.GetLengthMinutes() != 45 {
		t.Errorf("without a length: %v, %v", found, err)
	}
}

func TestFindSlotsRefusals(t *testing.T) {
	t.Parallel()
	w := newSlotWorld(t)
	ann := w.staff()
	valid := func(change func(*bookingv1.FindSlotsRequest)) *bookingv1.FindSlotsRequest {
		req := &bookingv1.FindSlotsRequest{AppointmentTypeId: w.kind.String(), From: "2030-01-09", To: "2030-02-08", StaffId: ann.String()}
		change(req)
		return req
	}
	if resp, err := w.appointments.FindSlots(w.ctx, valid(func(*bookingv1.FindSlotsRequest) {})); err != nil || len(resp.GetDays()) != maxSlotDays ||
		resp.GetTimezone() != "Europe/London" || resp.GetLengthMinutes() != 30 || resp.GetDays()[0].GetReason() != 0 {
		t.Fatalf("got %v, %v", resp, err)
	}
	for _, tt := range []struct {
		behaviour, field string
		change           func(*bookingv1.FindSlotsRequest)
	}{
		{"more than 31 days", "to", func(r *bookingv1.FindSlotsRequest) { r.To = "2030-02-09" }},
		{"an end before the start", "to", func(r *bookingv1.FindSlotsRequest) { r.To = "2030-01-08" }},
		{"no start", "from", func(r *bookingv1.FindSlotsRequest) { r.From = "" }},
		{"no end", "to", func(r *bookingv1.FindSlotsRequest) { r.To = "" }},
		{"a day that does not exist", "from", func(r *bookingv1.FindSlotsRequest) { r.From = "2030-02-30" }},
		{"a day that cannot be stored", "to", func(r *bookingv1.FindSlotsRequest) { r.From, r.To = "9999-12-30", "9999-12-31" }},
		{"an unknown zone", "timezone", func(r *bookingv1.FindSlotsRequest) { r.Timezone = "Mars/Olympus" }},
		{"a length that the type does not have", "length_minutes", func(r *bookingv1.FindSlotsRequest) { r.LengthMinutes = 45 }},
		{"a negative length", "length_minutes", func(r *bookingv1.FindSlotsRequest) { r.LengthMinutes = -1 }},
	} {
		t.Run("refuses "+tt.behaviour, func(t *testing.T) {
			_, err := w.appointments.FindSlots(w.ctx, valid(tt.change))
			f := wantFault(t, err, fault.Invalid, fault.ReasonInvalidParameter)
			if len(f.Fields) != 1 || f.Fields[0].Field != tt.field {
				t.Errorf("got %v", f.Fields)
			}
		})
	}
	for what, change := range map[string]func(*bookingv1.FindSlotsRequest){
		"an unknown type":           func(r *bookingv1.FindSlotsRequest) { r.AppointmentTypeId = id.New[id.AppointmentType]().String() },
		"a type that is no id":      func(r *bookingv1.FindSlotsRequest) { r.AppointmentTypeId = "x" },
		"an unknown staff member":   func(r *bookingv1.FindSlotsRequest) { r.StaffId = id.New[id.StaffMember]().String() },
		"a staff id that is no id":  func(r *bookingv1.FindSlotsRequest) { r.StaffId = "x" },
		"an unknown appointment":    func(r *bookingv1.FindSlotsRequest) { r.MovingId = id.New[id.Appointment]().String() },
		"a moving id that is no id": func(r *bookingv1.FindSlotsRequest) { r.MovingId = "x" },
	} {
		t.Run("does not find "+what, func(t *testing.T) {
			_, err := w.appointments.FindSlots(w.ctx, valid(change))
			wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
		})
	}
	t.Run("does not find the type of another company (invariant 5)", func(t *testing.T) {
		other := bearer(t.Context(), w.issuer.Client(id.New[id.Company](), "appointments:read"))
		_, err := w.appointments.FindSlots(other, valid(func(*bookingv1.FindSlotsRequest) {}))
		wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
	})
	t.Run("refuses a type that is not active", func(t *testing.T) {
		w.exec(`update appointment_types set active = false`)
		_, err := w.appointments.FindSlots(w.ctx, valid(func(*bookingv1.FindSlotsRequest) {}))
		wantFault(t, err, fault.Refused, model.ReasonEventNotPublished)
	})
}

// fillSlots adds ten people and two rooms of five units, whose days from 2030-01-01 on have 16
// appointments each, of 30 minutes. The people work for 12 hours, so that 8 are taken.
func (w *slotWorld) fillSlots() {
	rooms := []id.Room{w.room(0, 0, 5), w.room(0, 1, 5)}
	w.exec(`update appointment_types set slot_minutes = 15, buffer_after_minutes = 0`)
	for n := range 10 {
		who := w.staff()
		w.exec(`update working_hours set starts = 480, ends = 1200 where staff_id = $1`, who)
		w.exec(`insert into working_hours (company_id, staff_id, position, weekday, starts, ends, location, timezone)
			select $1, $2, n, n, 480, 1200, '', 'Europe/London' from generate_series(6, 7) n`, w.company, who)
		w.exec(`with made as (insert into event_dates (company_id, id, event_id, starts_at, duration_minutes, timezone, capacity, appointment_id)
				select $1, d.id, $2, '2029-12-24 08:00Z'::timestamptz + n / 16 * interval '1 day' + (n % 16 / 2 * 90 + n % 2 * 30) * interval '1 minute', 30, 'Europe/London', 1, d.id
				from generate_series(0, 16 * 52 - 1) n cross join lateral (select gen_random_uuid() id offset n * 0) d returning *)
			insert into assignments (company_id, event_date_id, resource_id, kind, unit, position, taken_from, taken_until)
			select $1, made.id, r.id, r.kind, r.unit, 0, starts_at, starts_at + interval '30 minutes'
			from made cross join (values ($3::uuid, 'staff', 0), ($4, 'room', $5)) r(id, kind, unit)`, w.company, w.kind, who, rooms[n/5], n%5+1)
	}
}

// BenchmarkFindSlots searches a month of ten people with 16 appointments a day each, through gRPC.
func BenchmarkFindSlots(b *testing.B) {
	plain, owner := newPlanWorld(b)
	w := newSlotWorldOn(plain)
	w.fillSlots()
	vacuum(b, owner)
	req := &bookingv1.FindSlotsRequest{AppointmentTypeId: w.kind.String(), From: "2030-01-02", To: "2030-02-01", Explain: true}
	for b.Loop() {
		resp, err := w.appointments.FindSlots(w.ctx, req)
		if err != nil || len(resp.GetDays()) != 31 || len(resp.GetDays()[7].GetSlots()) == 0 {
			b.Fatal(resp, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/op")
}
