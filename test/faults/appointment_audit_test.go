package faults

import (
	"errors"
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/test/harness"
)

const (
	// Two active assignments of one unit that have a time in common.
	overlapsSQL = `select count(*) from assignments a join assignments b on b.company_id = a.company_id and b.resource_id = a.resource_id and b.unit = a.unit
			and b.event_date_id > a.event_date_id and tstzrange(a.taken_from, a.taken_until) && tstzrange(b.taken_from, b.taken_until)
		where a.company_id = $1 and a.active and b.active`

	// Assignments during time off, which is only given when nothing is booked.
	duringTimeOffSQL = `select count(*) from assignments a join time_off o on o.company_id = a.company_id and o.resource_id = a.resource_id
			and tstzrange(a.taken_from, a.taken_until) && tstzrange(o.starts_at, o.ends_at)
		where a.company_id = $1 and a.active`

	activeAssignmentsSQL = `select count(*) from assignments where company_id = $1 and active`
)

// checkActions checks that every kind of action was accepted, and that callers met each other.
func (s *salon) checkActions(t *testing.T) {
	t.Helper()
	s.tally.check(t, []string{"book", "hold", "confirm", "release", "move", "cancel", "time off", "end of time off", "class"},
		[]string{"book " + slotUnavailable, "move " + slotUnavailable})
}

// audit checks the rows, the verification of the service, and each appointment against the answers.
func (s *salon) audit(t *testing.T) {
	t.Helper()
	db, company := s.connect(t, "booking"), companyID(t, s.company.ID)
	if n := number(t, db, overlapsSQL, company); n > 0 {
		t.Errorf("%d pairs of assignments overlap", n)
	}
	if n := number(t, db, duringTimeOffSQL, company); n > 0 {
		t.Errorf("%d assignments are during time off", n)
	}
	if n := number(t, db, activeAssignmentsSQL, company); n == 0 {
		t.Error("nothing is assigned")
	}
	s.checkVerification(t)
	s.checkVisits(t)
}

func (s *salon) checkVerification(t *testing.T) {
	t.Helper()
	checked := int64(0)
	found := collect(t, func() (received[*bookingv1.VerifyBookingsResponse], error) {
		return s.verification.VerifyBookings(s.company.Ctx(t.Context()), &bookingv1.VerifyBookingsRequest{})
	}, func(r *bookingv1.VerifyBookingsResponse) []string {
		checked += r.GetChecked()
		return differences(r.GetDifference())
	})
	if len(found) > 0 || checked == 0 {
		t.Errorf("of %d values, these differ: %v", checked, found)
	}
}

// checkVisits compares all appointments of the company with what the callers know.
func (s *salon) checkVisits(t *testing.T) {
	t.Helper()
	ctx := s.company.Ctx(t.Context())
	listed, err := pages(func(token string) ([]*bookingv1.Appointment, string, error) {
		res, err := s.appointments.ListAppointments(ctx, &bookingv1.ListAppointmentsRequest{
			PageSize: 200, PageToken: token, Statuses: []bookingv1.AppointmentStatus{
				bookingv1.AppointmentStatus_APPOINTMENT_STATUS_HELD, bookingv1.AppointmentStatus_APPOINTMENT_STATUS_BOOKED,
				bookingv1.AppointmentStatus_APPOINTMENT_STATUS_CANCELLED,
			},
		})
		return res.GetAppointments(), res.GetNextPageToken(), err
	})
	if err != nil {
		t.Fatal(err)
	}
	got, want := map[string]string{}, map[string]string{}
	for _, a := range listed {
		if got[a.GetId()] != "" {
			t.Errorf("%s is listed twice", a.GetId())
		}
		got[a.GetId()] = visitOf(a).String()
	}
	for _, c := range s.callers {
		for _, v := range c.visits {
			want[v.id] = v.String()
		}
	}
	for id, v := range want {
		if got[id] != v {
			t.Errorf("%s is %q, want %q", id, got[id], v)
		}
	}
	for id, v := range got {
		if want[id] == "" {
			t.Errorf("%s is %q, which nobody was told", id, v)
		}
	}
	t.Logf("%d appointments", len(got))
}

// auditEvents checks that each appointment has one event about its booking, and one about its cancellation. A
// killed relay keeps the lease of its events for half a minute.
func (s *salon) auditEvents(t *testing.T) {
	t.Helper()
	var booked, cancelled []string
	for _, c := range s.callers {
		for _, v := range c.visits {
			if v.booked {
				booked = append(booked, v.id)
			}
			if v.status == bookingv1.AppointmentStatus_APPOINTMENT_STATUS_CANCELLED {
				cancelled = append(cancelled, v.id)
			}
		}
	}
	harness.Eventually(t, eventsLimit, func() error {
		var gotBooked, gotCancelled []string
		for _, e := range s.Events(t) {
			var b bookingv1.AppointmentBooked
			var c bookingv1.AppointmentCancelled
			switch {
			case e.Company != s.company.ID:
			case e.Subject == "booking.v1.appointment_booked" && proto.Unmarshal(e.Payload, &b) == nil:
				gotBooked = append(gotBooked, b.GetAppointment().GetId())
			case e.Subject == "booking.v1.appointment_cancelled" && proto.Unmarshal(e.Payload, &c) == nil:
				gotCancelled = append(gotCancelled, c.GetAppointment().GetId())
			}
		}
		return errors.Join(compareSets("bookings", gotBooked, booked), compareSets("cancellations", gotCancelled, cancelled))
	})
}

func (v *visit) String() string {
	return fmt.Sprintf("%s with %s from %s for %d minutes", v.status, v.staff, v.starts.UTC().Format("2006-01-02T15:04:05"), v.length)
}
