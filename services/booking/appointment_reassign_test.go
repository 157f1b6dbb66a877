package booking

import (
	"testing"

	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
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
