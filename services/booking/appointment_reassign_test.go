package booking

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// anybody moves an appointment to another person, if the present one cannot give it.
func anybody(r *bookingv1.MoveAppointmentRequest) { r.AnyStaff = true }

func TestReassignAppointments(t *testing.T) { // invariants 35, 39
	t.Parallel()
	p := newParlour(t)
	ill := p.reserve("2030-01-07T10:00", by(p.lea))
	t.Run("any_staff changes nothing while the person can give the appointment, also within the notice", func(t *testing.T) {
		p.exec(`update appointment_types set minimum_notice_minutes = 525600`)
		defer p.exec(`update appointment_types set minimum_notice_minutes = 0`)
		resp, err := p.move(ill, anybody)
		if err != nil || resp.GetChanged() {
			t.Fatalf("got %v, %v", resp, err)
		}
		sameAppointment(t, p.read(ill), ill)
	})
	p.off(p.lea, "2030-01-07T09:00", "2030-01-07T17:00", true)
	t.Run("any_staff replaces a person who got time off, at the same time", func(t *testing.T) {
		old := p.dateOf(ill)
		resp, err := p.move(ill, func(*bookingv1.MoveAppointmentRequest) {})
		if err != nil || resp.GetChanged() {
			t.Fatalf("without any_staff: %v, %v", resp, err)
		}
		moved := p.mustMove(ill, anybody)
		if moved.GetStaff().GetName() != "Max" || !moved.GetBooking().GetStartsAt().AsTime().Equal(ill.GetBooking().GetStartsAt().AsTime()) {
			t.Errorf("got %v", moved)
		}
		p.wantEnded(old)
	})
	t.Run("it is refused if nobody else is free", func(t *testing.T) {
		a := p.reserve("2030-01-08T10:00", by(p.lea))
		p.reserve("2030-01-08T10:00", by(p.max))
		p.off(p.lea, "2030-01-08T09:00", "2030-01-08T17:00", true)
		_, err := p.move(a, anybody)
		wantWhy(t, err, "staff_busy")
		sameAppointment(t, p.read(a), a)
	})
	t.Run("an appointment that has started changes nothing", func(t *testing.T) {
		a := p.reserve("2030-01-09T10:00", by(p.lea))
		p.off(p.lea, "2030-01-09T09:00", "2030-01-09T17:00", true)
		p.shift(winter("2030-01-09T10:10").AsTime().Sub(parlourTime()))
		defer p.shift(0)
		resp, err := p.move(a, anybody)
		if err != nil || resp.GetChanged() {
			t.Errorf("got %v, %v", resp, err)
		}
		_, err = p.move(a, to("2030-01-09T15:00"))
		wantFault(t, err, fault.Refused, "EVENT_PAST")
	})
	if n := p.overlaps(); n != 0 {
		t.Errorf("%d overlaps", n)
	}
}

func TestMoveAfterTypeChanged(t *testing.T) { // invariant 35
	t.Parallel()
	p := newParlour(t)
	lea := idOf[id.StaffMember](t, p.lea.GetId())
	change := func(req *bookingv1.UpdateAppointmentTypeRequest) {
		t.Helper()
		req.Id = p.massage.GetId()
		if _, err := p.typeClient.UpdateAppointmentType(p.ctx, req); err != nil {
			t.Fatal(err)
		}
	}
	a, ofMax := p.reserve("2030-01-07T10:00", by(p.lea)), p.reserve("2030-01-07T10:00", by(p.max))
	t.Run("a local start is in the present zone of the type, as the date is", func(t *testing.T) {
		change(&bookingv1.UpdateAppointmentTypeRequest{Timezone: proto.String("Europe/Paris")})
		a = p.mustMove(a, to("2030-01-07T14:00"))
		zone := one[string](p.world, `select timezone from event_dates where id = $1`, p.dateOf(a))
		if got := a.GetBooking().GetStartsAt().AsTime(); zone != "Europe/Paris" || !got.Equal(winter("2030-01-07T13:00").AsTime()) {
			t.Errorf("starts at %s in %s", got, zone)
		}
	})
	change(&bookingv1.UpdateAppointmentTypeRequest{Timezone: proto.String("Europe/London"), Staff: &bookingv1.StaffChoice{StaffIds: []string{p.max.GetId()}}})
	free := func(moving *bookingv1.Appointment) (int, error) {
		resp, err := p.appointments.FindSlots(p.ctx, &bookingv1.FindSlotsRequest{AppointmentTypeId: p.massage.GetId(), StaffId: lea.String(),
			From: "2030-01-08", To: "2030-01-08", MovingId: moving.GetId()})
		if err != nil {
			return 0, err
		}
		return len(resp.GetDays()[0].GetSlots()), nil
	}
	t.Run("the person keeps an appointment that is moved in time, and gets no other one", func(t *testing.T) {
		a = p.mustMove(a, to("2030-01-07T12:00"))
		if a.GetStaff().GetName() != "Lea" {
			t.Errorf("got %v", a.GetStaff())
		}
		_, err := p.move(ofMax, func(r *bookingv1.MoveAppointmentRequest) {
			r.StaffId, r.LocalStart = lea.String(), "2030-01-07T15:00:00"
		})
		wantWhy(t, err, "no_staff")
		for _, c := range []struct {
			moving *bookingv1.Appointment
			some   bool
		}{{a, true}, {ofMax, false}, {nil, false}} {
			if n, err := free(c.moving); err != nil || n > 0 != c.some {
				t.Errorf("moving %s: %d slots, %v", c.moving.GetId(), n, err)
			}
		}
	})
	t.Run("slots for a move are found also if the type is not active", func(t *testing.T) {
		change(&bookingv1.UpdateAppointmentTypeRequest{Active: proto.Bool(false)})
		if n, err := free(a); err != nil || n == 0 {
			t.Errorf("%d slots, %v", n, err)
		}
		_, err := free(nil)
		wantFault(t, err, fault.Refused, model.ReasonEventNotPublished)
		a = p.mustMove(a, to("2030-01-07T11:15"))
	})
	t.Run("any_staff has the refusal of the present person if nobody offers the type", func(t *testing.T) {
		p.exec(`update staff set active = false where id = $1`, idOf[id.StaffMember](t, p.max.GetId()).UUID())
		_, err := p.move(a, func(r *bookingv1.MoveAppointmentRequest) { r.LocalStart, r.AnyStaff = "2030-01-07T18:00:00", true })
		wantWhy(t, err, "no_hours")
		sameAppointment(t, p.read(a), a)
	})
	p.finish()
}
