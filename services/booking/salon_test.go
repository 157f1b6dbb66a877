package booking

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// salon is a world with an appointment type, two staff members, a room with two units and two customers.
// Their references are their names.
type salon struct {
	*world
	massage   id.AppointmentType
	lea, max  id.StaffMember
	room      id.Room
	ann, ben  id.Customer
	tomorrow  time.Time // at noon
	cancelled bool      // whether line returns cancelled appointments
}

func newSalon(t testing.TB) *salon {
	t.Helper()
	return salonOn(newWorld(t))
}

func salonOn(w *world) *salon {
	s := &salon{world: w, tomorrow: time.Now().UTC().Truncate(24 * time.Hour).Add(36 * time.Hour)}
	s.ann, s.ben = studioOf(w)
	s.massage = s.addType(w.company, "massage")
	s.lea, s.max = s.addStaff(w.company, "lea"), s.addStaff(w.company, "max")
	s.room = s.addRoom(w.company, "room", 2)
	return s
}

// addType adds an appointment type with a price.
func (s *salon) addType(company id.Company, name string) id.AppointmentType {
	s.t.Helper()
	of := id.New[id.AppointmentType]()
	s.exec(`insert into events (company_id, id, title, description, type, status, timezone, location, created_at, updated_at, of_appointments, listed)
		values ($1, $2, $3, '', 'appointment', 'published', 'Europe/London', 'Harbour', now(), now(), true, false)`, company, of, name)
	s.exec(`insert into appointment_types (company_id, id, lengths, buffer_before_minutes, buffer_after_minutes, slot_minutes, active, reference, created_at, updated_at)
		values ($1, $2, '{60}', 10, 10, 15, true, $3, now(), now())`, company, of, name)
	s.exec(`insert into pricing_options (company_id, id, event_id, position, name, price, currency, tax_rate_basis_points)
		values ($1, gen_random_uuid(), $2, 0, 'Adult', 5000, 'GBP', 0)`, company, of)
	return of
}

func (s *salon) addStaff(company id.Company, name string) id.StaffMember {
	s.t.Helper()
	member := id.New[id.StaffMember]()
	s.exec(`insert into staff (company_id, id, name, email, photo_url, bio, color, active, reference, created_at, updated_at)
		values ($1, $2, $3, '', '', '', '#aabbcc', true, $3, now(), now())`, company, member, name)
	return member
}

func (s *salon) addRoom(company id.Company, name string, units int32) id.Room {
	s.t.Helper()
	room := id.New[id.Room]()
	s.exec(`insert into rooms (company_id, id, name, kind, capacity, location, active, reference, created_at, updated_at)
		values ($1, $2, $3, 'room', $4, '', true, $3, now(), now())`, company, room, name, units)
	return room
}

// line returns an imported appointment of ann with lea, hours after tomorrow noon.
func (s *salon) line(reference string, hours float64) *bookingv1.ImportedAppointment {
	return &bookingv1.ImportedAppointment{
		Reference: reference, Customer: "ann", AppointmentType: "massage", Staff: "lea", LengthMinutes: 60, IsCancelled: s.cancelled,
		StartsAt: timestamppb.New(s.tomorrow.Add(time.Duration(hours * float64(time.Hour)))),
	}
}

// importAll imports lines and returns their results.
func (s *salon) importAll(lines ...*bookingv1.ImportedAppointment) []*bookingv1.ImportAppointmentResult {
	s.t.Helper()
	resp, err := s.appointments.ImportAppointments(s.ctx, &bookingv1.ImportAppointmentsRequest{Appointments: lines})
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.GetResults()
}

// mustImport imports lines, none of which may be refused, and returns their identifiers.
func (s *salon) mustImport(lines ...*bookingv1.ImportedAppointment) []string {
	s.t.Helper()
	var ids []string
	for _, r := range s.importAll(lines...) {
		if r.GetOutcome() == refused {
			s.t.Fatal(r)
		}
		ids = append(ids, r.GetId())
	}
	return ids
}

// refusal imports a line that must be refused, and returns the field and the rule.
func (s *salon) refusal(line *bookingv1.ImportedAppointment) string {
	s.t.Helper()
	r := s.importAll(line)[0]
	if r.GetOutcome() != refused || r.GetId() != "" || r.GetMessage() == "" {
		s.t.Errorf("got %v, want a refusal", r)
	}
	return fmt.Sprintf("%s %s", r.GetField(), r.GetRule())
}

func (s *salon) get(appointment string) *bookingv1.Appointment {
	s.t.Helper()
	resp, err := s.appointments.GetAppointment(s.ctx, &bookingv1.GetAppointmentRequest{Id: appointment})
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.GetAppointment()
}

// list returns the identifiers of all pages of a list, and checks that the total is their number.
func (s *salon) list(req *bookingv1.ListAppointmentsRequest) []string {
	s.t.Helper()
	var ids []string
	for {
		resp, err := s.appointments.ListAppointments(s.ctx, req)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, a := range resp.GetAppointments() {
			ids = append(ids, a.GetId())
		}
		if req.PageToken = resp.GetNextPageToken(); req.PageToken == "" {
			if resp.GetTotal() != int64(len(ids)) {
				s.t.Errorf("the total is %d of %d appointments", resp.GetTotal(), len(ids))
			}
			return ids
		}
	}
}

// hold gives the booking of an appointment another status, as if its purchase were in progress.
func (s *salon) hold(appointment, status string, until time.Time) {
	s.t.Helper()
	s.exec(`update transactions set status = $2, expires_at = $3 where id = (select transaction_id from bookings where id = $1)`,
		idOf[id.Appointment](s.t, appointment), status, until)
}

// overlapping returns the number of pairs of active assignments that overlap.
func (s *salon) overlapping() int64 {
	s.t.Helper()
	return one[int64](s.world, `select count(*) from assignments a join assignments b on a.company_id = b.company_id and a.resource_id = b.resource_id
		and a.unit = b.unit and a.event_date_id < b.event_date_id and a.active and b.active
		and tstzrange(a.taken_from, a.taken_until) && tstzrange(b.taken_from, b.taken_until)`)
}
