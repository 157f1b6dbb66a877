package booking

import (
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/tenancy"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

func TestMoveAppointment(t *testing.T) { // invariants 35, 40, 41
	t.Parallel()
	p := newParlour(t)
	t.Run("moves to another time with the same person and room, and ends the old date", func(t *testing.T) {
		a := p.reserve("2030-01-07T10:00", by(p.lea))
		p.exec(`delete from outbox`)
		p.shift(time.Minute)
		moved := p.mustMove(a, to("2030-01-07T14:00"))
		if moved.GetId() != a.GetId() || moved.GetBooking().GetId() != a.GetBooking().GetId() || moved.GetTransactionId() != a.GetTransactionId() ||
			moved.GetVersion() != a.GetVersion()+1 || moved.GetStaff().GetName() != "Lea" || moved.GetRooms()[0].GetUnit() != 1 ||
			!moved.GetBooking().GetStartsAt().AsTime().Equal(winter("2030-01-07T14:00").AsTime()) || !proto.Equal(moved.GetBooking().GetCard(), a.GetBooking().GetCard()) {
			t.Errorf("got %v", moved)
		}
		sameAppointment(t, p.read(a), moved)
		if got := p.subjects(); got != "appointment_moved" {
			t.Errorf("got %s", got)
		}
		p.wantEnded(p.dateOf(a))
		if n := one[int64](p.world, `select count(*) from assignments where event_date_id = $1 and booking_id = $2 and not active`, p.dateOf(a), idOf[id.Booking](t, a.GetBooking().GetId())); n != 2 {
			t.Errorf("%d assignments show the old slot", n)
		}
		if before, after := sequence(p.world, a.GetBooking().GetEventDateId()), sequence(p.world, moved.GetBooking().GetEventDateId()); before != 1 || after != 1 {
			t.Errorf("the sequences are %d and %d", before, after)
		}
		p.reserve("2030-01-07T10:00", by(p.lea))
		list, err := p.appointments.ListAppointments(p.ctx, &bookingv1.ListAppointmentsRequest{UpdatedSince: timestamppb.New(parlourTime().Add(time.Minute)), Order: bookingv1.AppointmentOrder_APPOINTMENT_ORDER_UPDATED})
		if err != nil || len(list.GetAppointments()) != 2 || list.GetTotal() != 2 || list.GetAppointments()[0].GetId() != a.GetId() {
			t.Errorf("got %v, %v", list, err)
		}
		p.later(25 * time.Hour)
		if n := one[int64](p.world, `select count(*) from event_dates where id = $1`, p.dateOf(a)); n != 0 {
			t.Error("the old date was not removed")
		}
	})
	t.Run("moves to another person at the same time", func(t *testing.T) {
		a := p.reserve("2030-01-08T10:00", by(p.lea))
		moved := p.mustMove(a, func(r *bookingv1.MoveAppointmentRequest) { r.StaffId = p.max.GetId() })
		if moved.GetStaff().GetName() != "Max" || moved.GetRooms()[0].GetUnit() != 1 || moved.GetBooking().GetStartsAt().AsTime() != a.GetBooking().GetStartsAt().AsTime() {
			t.Errorf("got %v", moved)
		}
		p.wantEnded(p.dateOf(a))
		p.reserve("2030-01-08T10:00", by(p.lea))
	})
	t.Run("moves into time that its old slot takes, and to another length at the same price", func(t *testing.T) {
		a := p.reserve("2030-01-09T10:00", by(p.lea))
		b := p.mustMove(a, to("2030-01-09T10:15"))
		c := p.mustMove(b, func(r *bookingv1.MoveAppointmentRequest) { r.LengthMinutes = 30 })
		if c.GetBooking().GetDurationMinutes() != 30 || c.GetBooking().GetCard().GetGross() != 5000 || c.GetVersion() != 3 || sequence(p.world, c.GetBooking().GetEventDateId()) != 2 {
			t.Errorf("got %v", c)
		}
		sameAppointment(t, p.read(a), c)
		p.wantEnded(p.dateOf(a))
		p.wantEnded(p.dateOf(b))
	})
	t.Run("keeps its unit of the room, and takes another one if that is not free", func(t *testing.T) {
		p.reserve("2030-01-10T10:00", by(p.lea))
		second := p.reserve("2030-01-10T10:00", by(p.max))
		p.reserve("2030-01-10T14:00", by(p.lea))
		if moved := p.mustMove(second, to("2030-01-10T12:00")); moved.GetRooms()[0].GetUnit() != 2 {
			t.Errorf("got unit %d", moved.GetRooms()[0].GetUnit())
		}
		first := p.mustMove(p.reserve("2030-01-10T15:30", by(p.max)), to("2030-01-10T14:00"))
		if first.GetRooms()[0].GetUnit() != 2 {
			t.Errorf("got unit %d", first.GetRooms()[0].GetUnit())
		}
	})
	t.Run("refuses a slot that is not free, and any_staff chooses another person", func(t *testing.T) {
		p.reserve("2030-01-11T10:00", by(p.lea))
		a := p.reserve("2030-01-11T13:00", by(p.lea))
		_, err := p.move(a, to("2030-01-11T10:00"))
		wantWhy(t, err, "staff_busy")
		_, err = p.move(a, to("2030-01-11T18:00"))
		wantWhy(t, err, "no_hours")
		_, err = p.move(a, to("2029-12-31T10:00"))
		wantWhy(t, err, "past")
		sameAppointment(t, p.read(a), a)
		moved := p.mustMove(a, func(r *bookingv1.MoveAppointmentRequest) { r.LocalStart, r.AnyStaff = "2030-01-11T10:00:00", true })
		if moved.GetStaff().GetName() != "Max" {
			t.Errorf("got %v", moved)
		}
		again := p.mustMove(moved, func(r *bookingv1.MoveAppointmentRequest) { r.LocalStart, r.AnyStaff = "2030-01-11T15:00:00", true })
		if again.GetStaff().GetName() != "Max" {
			t.Error("a person who is free was replaced")
		}
	})
	t.Run("waive_hours accepts a person who does not offer the type", func(t *testing.T) {
		eve := p.worker("Eve")
		a := p.reserve("2030-01-12T10:00")
		_, err := p.move(a, func(r *bookingv1.MoveAppointmentRequest) { r.StaffId = eve.GetId() })
		wantWhy(t, err, "no_staff")
		if moved := p.mustMove(a, func(r *bookingv1.MoveAppointmentRequest) { r.StaffId, r.WaiveHours = eve.GetId(), true }); moved.GetStaff().GetName() != "Eve" {
			t.Errorf("got %v", moved)
		}
	})
	t.Run("the present slot changes nothing, also after the start, and another one is then refused", func(t *testing.T) {
		a := p.reserve("2030-01-13T10:00", by(p.lea))
		p.exec(`delete from outbox`)
		p.shift(12*24*time.Hour + 70*time.Minute)
		for _, change := range []func(*bookingv1.MoveAppointmentRequest){
			func(*bookingv1.MoveAppointmentRequest) {}, to("2030-01-13T10:00"),
			func(r *bookingv1.MoveAppointmentRequest) {
				r.StaffId, r.LengthMinutes, r.AnyStaff = p.lea.GetId(), 60, true
			},
		} {
			resp, err := p.move(a, change)
			if err != nil || resp.GetChanged() {
				t.Fatalf("got %v, %v", resp, err)
			}
			sameAppointment(t, resp.GetAppointment(), a)
		}
		_, err := p.move(a, to("2030-01-13T15:00"))
		wantFault(t, err, fault.Refused, model.ReasonEventPast)
		p.shift(0)
		if p.subjects() != "" {
			t.Errorf("got %s", p.subjects())
		}
	})
	t.Run("checks the version and the fields", func(t *testing.T) {
		a := p.reserve("2030-01-14T10:00", by(p.lea))
		_, err := p.move(a, func(r *bookingv1.MoveAppointmentRequest) {
			r.LocalStart, r.ExpectedVersion = "2030-01-14T14:00:00", new(a.GetVersion()+1)
		})
		wantFault(t, err, fault.VersionMismatch, fault.ReasonVersionMismatch)
		p.mustMove(a, func(r *bookingv1.MoveAppointmentRequest) {
			r.LocalStart, r.ExpectedVersion = "2030-01-14T14:00:00", new(a.GetVersion())
		})
		for want, change := range map[string]func(*bookingv1.MoveAppointmentRequest){
			"local_start exclusive": func(r *bookingv1.MoveAppointmentRequest) {
				r.LocalStart, r.StartsAt = "2030-01-14T10:00:00", winter("2030-01-14T10:00")
			},
			"local_start skipped":  func(r *bookingv1.MoveAppointmentRequest) { r.LocalStart = "2030-03-31T01:30:00" },
			"length_minutes range": func(r *bookingv1.MoveAppointmentRequest) { r.LengthMinutes = -1 },
		} {
			_, err := p.move(a, change)
			if got := broken(t, err); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
	})
	t.Run("an appointment of another company does not exist (invariant 5)", func(t *testing.T) {
		a := p.reserve("2030-01-15T10:00")
		_, err := p.appointments.MoveAppointment(p.as(id.New[id.Company]()), &bookingv1.MoveAppointmentRequest{Id: a.GetId()})
		wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
		_, err = p.appointments.MoveAppointment(p.ctx, &bookingv1.MoveAppointmentRequest{Id: id.New[id.Appointment]().String()})
		wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
	})
	t.Run("an appointment whose cancellation has begun is refused", func(t *testing.T) {
		a := p.reserve("2030-01-16T10:00", by(p.lea))
		p.exec(`update event_dates set status = 'cancelled', closing = true where id = $1`, p.dateOf(a))
		_, err := p.move(a, to("2030-01-16T14:00"))
		wantFault(t, err, fault.Refused, model.ReasonAlreadyCancelled)
	})
	p.finish()
}

func TestWaitlistsOfMovedAppointments(t *testing.T) { // invariants 18, 34, 35
	t.Parallel()
	p := newParlour(t)
	t.Run("a waiting customer gets the old slot", func(t *testing.T) {
		a := p.reserve("2030-01-07T10:00", by(p.lea))
		entry := p.waitFor(a, byBooking)
		p.exec(`delete from outbox`)
		p.mustMove(a, to("2030-01-07T14:00"))
		if got := p.entry(entry).GetState(); got != bookingv1.WaitlistState_WAITLIST_STATE_BOOKED {
			t.Errorf("got %s", got)
		}
		if p.published(subjectAppointmentMoved) != 1 || p.published(subjectAppointmentBooked) != 1 || p.published(subjectAppointmentCancelled) != 0 {
			t.Errorf("got %s", p.subjects())
		}
		_, err := p.tryBook(p.ctx, p.at("2030-01-07T10:00", by(p.lea)))
		wantWhy(t, err, "staff_busy")
		list, err := p.appointments.ListAppointments(p.ctx, &bookingv1.ListAppointmentsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, one := range list.GetAppointments() {
			ids = append(ids, one.GetId())
		}
		if len(ids) != 2 || ids[0] == a.GetId() || ids[1] != a.GetId() {
			t.Errorf("got %v", ids)
		}
	})
	t.Run("nobody gets an old slot that overlaps the new one, and the entry is closed", func(t *testing.T) {
		a := p.reserve("2030-01-08T10:00", by(p.lea))
		entry := p.waitFor(a, byBooking)
		p.mustMove(a, to("2030-01-08T10:30"))
		p.wantEnded(p.dateOf(a))
		if err := p.server.finishClosings(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := p.entry(entry).GetState(); got != bookingv1.WaitlistState_WAITLIST_STATE_CLOSED {
			t.Errorf("got %s", got)
		}
	})
	p.finish()
}

func TestCalendarsOfMovedAppointments(t *testing.T) { // invariant 41
	t.Parallel()
	p := newParlour(t)
	calendars := &calendarWorld{world: p.world, calendars: bookingv1.NewCalendarServiceClient(p.conn), caller: bearer(t.Context(), p.issuer.Client(p.company, "calendars:read", "calendars:write"))}
	p.companies.add(tenancy.Company{ID: p.company, Name: "Parlour", Timezone: "Europe/London", Currency: "GBP", Version: 1})
	a := p.reserve("2030-01-07T10:00", by(p.lea))
	secrets := map[string]string{}
	for _, who := range []*bookingv1.StaffMember{p.lea, p.max} {
		_, secrets[who.GetName()] = calendars.subscribe(bookingv1.CalendarKind_CALENDAR_KIND_STAFF, who.GetId())
	}
	read := func(name string) (states []string) {
		resp, err := calendars.read(secrets[name])
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range resp.GetEntries() {
			state := e.GetStartsAt().AsTime().Format("15:04")
			if e.GetCancelled() {
				state += " cancelled"
			}
			states = append(states, state)
		}
		slices.Sort(states)
		return states
	}
	if got := read("Lea"); !slices.Equal(got, []string{"10:00"}) {
		t.Errorf("before: %v", got)
	}
	p.mustMove(a, func(r *bookingv1.MoveAppointmentRequest) {
		r.StaffId, r.LocalStart = p.max.GetId(), "2030-01-07T14:00:00"
	})
	if got := read("Lea"); len(got) != 1 || got[0][len(got[0])-9:] != "cancelled" {
		t.Errorf("the person who had it: %v", got)
	}
	if got := read("Max"); !slices.Equal(got, []string{"14:00"}) {
		t.Errorf("the person who has it: %v", got)
	}
}
