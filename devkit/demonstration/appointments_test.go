package demonstration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// answerAppointments fills in the responses about staff, rooms and appointments. n is a new number.
func (s *services) answerAppointments(n int, req proto.Message, response any) (changed bool, err error) {
	take := func(slot *bookingv1.SlotRequest) error {
		if s.taken--; s.taken >= 0 {
			return fault.Refuse("SLOT_UNAVAILABLE", "the slot is not free")
		}
		s.slots = append(s.slots, proto.CloneOf(slot))
		return nil
	}
	switch res := response.(type) {
	case *bookingv1.CreateStaffMemberResponse:
		res.StaffMember = &bookingv1.StaffMember{Id: fmt.Sprintf("staff_%d", n)}
	case *bookingv1.CreateRoomResponse:
		res.Room = &bookingv1.Room{Id: fmt.Sprintf("room_%d", n)}
	case *bookingv1.CreateAppointmentTypeResponse:
		made := req.(*bookingv1.CreateAppointmentTypeRequest)
		res.AppointmentType = &bookingv1.AppointmentType{Id: fmt.Sprintf("apt_%d", n), StaffIds: made.GetStaffIds(), Lengths: made.GetLengths()}
		for _, p := range made.GetPrices() {
			res.AppointmentType.Prices = append(res.AppointmentType.Prices, &bookingv1.AppointmentPrice{Option: &bookingv1.PricingOption{Price: p.GetOption().GetPrice()}})
		}
	case *bookingv1.ImportAppointmentsResponse:
		for range req.(*bookingv1.ImportAppointmentsRequest).GetAppointments() {
			res.Results = append(res.Results, &bookingv1.ImportAppointmentResult{Outcome: bookingv1.ImportOutcome_IMPORT_OUTCOME_EXISTED})
		}
	case *bookingv1.BookAppointmentResponse:
		err = take(req.(*bookingv1.BookAppointmentRequest).GetSlot())
		res.Appointment = &bookingv1.Appointment{Id: fmt.Sprintf("appt_%d", n), Booking: &bookingv1.Booking{Id: fmt.Sprintf("booking_%d", n)}}
	case *bookingv1.HoldAppointmentResponse:
		err = take(req.(*bookingv1.HoldAppointmentRequest).GetSlot())
	case *bookingv1.MoveAppointmentResponse:
		s.moves = append(s.moves, proto.CloneOf(req.(*bookingv1.MoveAppointmentRequest)))
	case *passv1.CreatePassTypeResponse:
		res.PassType = &passv1.PassType{Id: fmt.Sprintf("pass_%d", n)}
	case *passv1.AssignCustomerPassResponse:
		res.CustomerPass = &passv1.CustomerPass{Id: fmt.Sprintf("cp_%d", n)}
	}
	return err == nil, err
}

// salon runs the steps that create staff, rooms and appointments.
func (d *demoData) salon(ctx context.Context) error {
	d.staff, d.rooms, d.appointmentTypes = nil, nil, nil
	for _, step := range []func(context.Context) error{
		d.createStaff, d.createRooms, d.closeForHolidays, d.createAppointmentTypes, d.importAppointments, d.bookVisits, d.substitute,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func TestAppointments(t *testing.T) {
	t.Parallel()
	want := map[string]int{
		"CreateStaffMember": 3, "SetWorkingHours": 3, "CreateRoom": 3, "CreateHoliday": 3, "CreateTimeOff": 1, "CreateAppointmentType": 3, "ImportAppointments": 1,
		"CreatePassType": 1, "AssignCustomerPass": 1, "BookAppointment": 12, "MoveAppointment": 1, "CancelBooking": 1, "HoldAppointment": 1, "UpdateEventDate": 1,
	}
	check := func(t *testing.T, s *services) {
		t.Helper()
		for word, n := range want {
			if got := s.made[word]; got != n && (word != "ImportAppointments" || got == 0) { // the service recognises what exists
				t.Errorf("%d times %s, want %d", got, word, n)
			}
		}
	}
	t.Run("staff, rooms and appointments are made, on later days if slots are taken", func(t *testing.T) {
		t.Parallel()
		s := newServices(t)
		s.taken = 2
		d := newDemoData(t, s)
		if err := d.salon(t.Context()); err != nil {
			t.Fatal(err)
		}
		check(t, s)
		starts := map[string]bool{}
		for _, slot := range s.slots {
			at, err := time.Parse("2006-01-02T15:04:05", slot.GetLocalStart())
			if err != nil || starts[at.Format("15:04")] || at.Before(d.today.AddDate(0, 0, 0)) {
				t.Errorf("booked %v", slot)
			}
			starts[at.Format("15:04")] = true
		}
		if len(s.slots) != 13 || !strings.HasPrefix(s.slots[0].GetLocalStart(), "2026-03-31") {
			t.Errorf("booked %v", s.slots)
		}
	})
	for word := range want {
		t.Run("a run that was interrupted at "+word+" continues", func(t *testing.T) {
			t.Parallel()
			s := newServices(t)
			d := newDemoData(t, s)
			s.stopAt = word
			if err := d.salon(t.Context()); !fault.Is(err, fault.Unavailable) {
				t.Fatalf("got %v", err)
			}
			s.stopAt = ""
			if err := d.salon(t.Context()); err != nil {
				t.Fatal(err)
			}
			check(t, s)
		})
	}
}

// TestVisits checks that the appointments can be booked: staff who work then, lengths that the types have, and
// customers who are not archived.
func TestVisits(t *testing.T) {
	t.Parallel()
	for i, v := range visits() {
		if (firstVisitor+i)%40 == 39 || v.days > 14 {
			t.Errorf("visit %d: %+v", i, v)
		}
		if v.staff == anyone {
			continue
		}
		p := people()[v.staff]
		starts, err := time.Parse("15:04", v.start)
		ends := starts.Add(time.Duration(v.minutes) * time.Minute).Format("15:04")
		if err != nil || !slices.ContainsFunc(p.shifts, func(s [2]string) bool { return s[0] <= v.start && ends <= s[1] }) {
			t.Errorf("visit %d from %s to %s is not in a shift of %s", i, v.start, ends, p.name)
		}
	}
}
