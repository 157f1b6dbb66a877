package booking

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

func TestImportAppointments(t *testing.T) {
	t.Parallel()
	t.Run("stores an appointment with its date, its staff member, its room and its payment", func(t *testing.T) {
		s := newSalon(t)
		line := s.line("a1", 0)
		line.Rooms, line.BoughtFor = []string{"room"}, s.ben.String()
		line.Payment = &bookingv1.ImportedAppointment_Card{Card: &bookingv1.CardPayment{Currency: "EUR", Gross: 6000, Net: 5000, Reference: "ch_1"}}
		line.PurchasedAt = timestamppb.New(time.Date(2025, 2, 1, 8, 0, 0, 5e8, time.UTC))
		got := s.get(s.mustImport(line)[0])
		b := got.GetBooking()
		if got.GetStatus() != bookingv1.AppointmentStatus_APPOINTMENT_STATUS_BOOKED || got.GetTitle() != "massage" || got.GetLocation() != "Harbour" ||
			got.GetAppointmentTypeId() != s.massage.String() || got.GetPurchaser().GetId() != s.ann.String() || got.GetCustomer().GetFirstName() != "ben" ||
			got.GetVersion() != 1 || got.GetHeldUntil() != nil || got.GetTransactionId() == "" {
			t.Errorf("got %v", got)
		}
		if got.GetStaff().GetId() != s.lea.String() || got.GetStaff().GetName() != "lea" || got.GetStaff().GetColor() != "#aabbcc" ||
			got.GetBufferBeforeMinutes() != 0 || got.GetBufferAfterMinutes() != 0 {
			t.Errorf("got %v", got)
		}
		if r := got.GetRooms(); len(r) != 1 || r[0].GetId() != s.room.String() || r[0].GetName() != "room" || r[0].GetUnit() != 1 {
			t.Errorf("got the rooms %v", r)
		}
		if !b.GetStartsAt().AsTime().Equal(s.tomorrow) || b.GetDurationMinutes() != 60 || b.GetTimezone() != "Europe/London" ||
			b.GetCard().GetGross() != 6000 || b.GetCard().GetReference() != "ch_1" || b.GetSpaces() != 1 {
			t.Errorf("got %v", b)
		}
		s.inStep()
	})
	t.Run("publishes only events of imports, and lists the event of the type (invariant 10)", func(t *testing.T) {
		s := newSalon(t)
		s.mustImport(s.line("a1", 0))
		s.mustImport(s.line("a2", 1))
		if got := one[string](s.world, `select string_agg(subject, ' ' order by id) from outbox`); got != strings.Join(
			[]string{subjectEventsImported, subjectTransactionsImported, subjectTransactionsImported}, " ") {
			t.Errorf("published %s", got)
		}
		if got := one[string](s.world, `select format('%s %s %s %s', listed, version, (select events from event_totals), updated_at > created_at) from events`); got != "t 1 1 t" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("a transaction for the date of an appointment is refused", func(t *testing.T) {
		s := newSalon(t)
		line := past("t1", "ann", "massage", 1)
		line.Bookings[0].Date = &bookingv1.ImportedBooking_EventDateId{EventDateId: s.get(s.mustImport(s.line("a1", 0))[0]).GetBooking().GetEventDateId()}
		if r := s.mustSend(line)[0]; r.GetField() != "bookings[0].event_date_id" || r.GetRule() != "appointment" || !strings.Contains(r.GetMessage(), "ImportAppointments") {
			t.Errorf("got %v", r)
		}
	})
	t.Run("a repeated import changes nothing and returns the same identifiers", func(t *testing.T) {
		s := newSalon(t)
		lines := []*bookingv1.ImportedAppointment{s.line("a1", 0), s.line("a2", 1)}
		first := s.mustImport(lines...)
		lines[0].StartsAt = timestamppb.New(s.tomorrow.Add(5 * time.Hour))
		again := s.importAll(append(lines, s.line("a3", 2), s.line("a3", 3))...)
		for i, want := range []bookingv1.ImportOutcome{existed, existed, created, existed} {
			if again[i].GetOutcome() != want {
				t.Errorf("line %d: %v", i, again[i])
			}
		}
		if again[0].GetId() != first[0] || again[1].GetId() != first[1] || again[3].GetId() != again[2].GetId() {
			t.Errorf("got %v after %v", again, first)
		}
		if n := one[int64](s.world, `select count(*) from event_dates`); n != 3 {
			t.Errorf("%d dates", n)
		}
		s.inStep()
	})
	t.Run("a request with an Idempotency-Key is replayed", func(t *testing.T) {
		s := newSalon(t)
		req := &bookingv1.ImportAppointmentsRequest{Appointments: []*bookingv1.ImportedAppointment{s.line("a1", 0)}}
		for range 2 {
			resp, err := s.appointments.ImportAppointments(withKey(s.ctx, "k"), req)
			if err != nil {
				t.Fatal(err)
			}
			if resp.GetResults()[0].GetOutcome() != created {
				t.Errorf("got %v", resp)
			}
		}
	})
	t.Run("stores a payment by pass, a refund, and what cost nothing", func(t *testing.T) {
		s := newSalon(t)
		pass := s.line("a1", 0)
		pass.Payment = &bookingv1.ImportedAppointment_Pass{Pass: &bookingv1.PassPayment{CreditsUsed: 2, CustomerPassId: id.New[id.CustomerPass]().String()}}
		refundedLine := s.line("a2", 1)
		refundedLine.IsCancelled, refundedLine.IsRefunded = true, true
		usual := s.line("a4", 5)
		usual.Payment = &bookingv1.ImportedAppointment_Card{Card: &bookingv1.CardPayment{Gross: 4000}}
		ids := s.mustImport(pass, refundedLine, s.line("a3", 2), usual)
		if got := s.get(ids[3]).GetBooking().GetCard(); got.GetGross() != 4000 || got.GetCurrency() != "GBP" {
			t.Errorf("got %v", got)
		}
		if got := s.get(ids[0]).GetBooking().GetPass(); got.GetCreditsUsed() != 2 || got.GetCustomerPassId() == "" {
			t.Errorf("got %v", got)
		}
		if got := s.get(ids[1]); !got.GetBooking().GetIsRefunded() || got.GetStatus() != bookingv1.AppointmentStatus_APPOINTMENT_STATUS_CANCELLED {
			t.Errorf("got %v", got)
		}
		if got := s.get(ids[2]).GetBooking().GetCard(); got.GetMethod() != bookingv1.PaymentMethod_PAYMENT_METHOD_FREE || got.GetGross() != 0 || got.GetCurrency() != "GBP" {
			t.Errorf("got %v", got)
		}
	})
}

func TestImportedOverlaps(t *testing.T) {
	t.Parallel()
	t.Run("refuses a person who is taken, and stores the other lines", func(t *testing.T) {
		s := newSalon(t)
		s.mustImport(s.line("a1", 0))
		results := s.importAll(s.line("a2", 1), s.line("a3", 0.5), s.line("a4", 1.75), s.line("a5", 2))
		for i, want := range []bookingv1.ImportOutcome{created, refused, refused, created} {
			if results[i].GetOutcome() != want {
				t.Errorf("line %d: %v", i, results[i])
			}
		}
		if r := results[1]; r.GetField() != "staff" || r.GetRule() != "overlap" {
			t.Errorf("got %v", r)
		}
		if n := one[int64](s.world, `select count(*) from transactions`); n != 3 {
			t.Errorf("%d transactions", n)
		}
		if n := s.overlapping(); n != 0 {
			t.Errorf("%d overlaps", n)
		}
		s.inStep()
	})
	t.Run("counts what another kind of date takes, buffers included", func(t *testing.T) {
		s := newSalon(t)
		class := s.createEvent(s.ctx, &bookingv1.CreateEventRequest{Title: "Yoga", Dates: []*bookingv1.NewEventDate{
			{StartsAt: timestamppb.New(s.tomorrow.Add(-60 * 24 * time.Hour)), DurationMinutes: 61 * 24 * 60}}})
		s.exec(`insert into assignments (company_id, event_date_id, resource_id, kind, unit, position, buffer_after, taken_from, taken_until)
			select company_id, id, $1, 'staff', 0, 0, 30, starts_at, starts_at + (duration_minutes + 30) * interval '1 minute' from event_dates where id = $2`,
			s.lea, idOf[id.EventDate](t, class.GetDates()[0].GetId()))
		if got := s.refusal(s.line("a1", 24.25)); got != "staff overlap" {
			t.Errorf("got %s", got)
		}
		s.mustImport(s.line("a2", 24.5))
	})
	t.Run("takes the lowest free unit of a room, and refuses a room without one", func(t *testing.T) {
		s := newSalon(t)
		with := func(reference, staff string) *bookingv1.ImportedAppointment {
			line := s.line(reference, 0)
			line.Staff, line.Rooms = staff, []string{s.room.String()}
			return line
		}
		s.addStaff(s.company, "kim")
		ids := s.mustImport(with("a1", "lea"), with("a2", "max"))
		for i, unit := range []int32{1, 2} {
			if got := s.get(ids[i]).GetRooms()[0].GetUnit(); got != unit {
				t.Errorf("unit %d, want %d", got, unit)
			}
		}
		if got := s.refusal(with("a3", "kim")); got != "rooms[0] overlap" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("chooses the rooms of the type in the order of preference", func(t *testing.T) {
		s := newSalon(t)
		closed, small := s.addRoom(s.company, "closed", 1), s.addRoom(s.company, "small", 1)
		s.exec(`update rooms set active = false where id = $1`, closed)
		for position, room := range []id.Room{closed, small, s.room} {
			s.exec(`insert into appointment_type_rooms values ($1, $2, 0, $3, $4)`, s.company, s.massage, position, room)
		}
		names := ""
		for i, staff := range []string{"lea", "max", "kim"} {
			if staff == "kim" {
				s.addStaff(s.company, staff)
			}
			line := s.line(staff, 0)
			line.Staff = staff
			r := s.get(s.mustImport(line)[0]).GetRooms()
			names += fmt.Sprintf("%d %s %d, ", i, r[0].GetName(), r[0].GetUnit())
		}
		if names != "0 small 1, 1 room 1, 2 room 2, " {
			t.Errorf("got %s", names)
		}
		s.addStaff(s.company, "joe")
		line := s.line("joe", 0)
		line.Staff = "joe"
		if got := s.refusal(line); got != "rooms overlap" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("refuses time off, and cancelled and past ones take no time", func(t *testing.T) {
		s := newSalon(t)
		s.exec(`insert into time_off values ($1, gen_random_uuid(), $2, 'staff', $3, $4, '', now())`,
			s.company, s.lea, s.tomorrow.Add(-48*time.Hour), s.tomorrow.Add(2*time.Hour))
		if got := s.refusal(s.line("a1", 1)); got != "staff time_off" {
			t.Errorf("got %s", got)
		}
		s.mustImport(s.line("a2", 2))
		s.cancelled = true
		s.mustImport(s.line("a3", 1), s.line("a4", 1), s.line("a5", 2))
		s.cancelled = false
		ids := s.mustImport(s.line("a6", -24*40), s.line("a7", -24*40))
		for _, which := range ids {
			if got := s.get(which); got.GetStatus() != bookingv1.AppointmentStatus_APPOINTMENT_STATUS_BOOKED || got.GetStaff().GetName() != "lea" {
				t.Errorf("got %v", got)
			}
		}
		if n := one[int64](s.world, `select count(*) from assignments where active`); n != 1 {
			t.Errorf("%d active assignments", n)
		}
		if n := one[int64](s.world, `select count(*) from event_dates where status = 'cancelled' and booked = 0`); n != 3 {
			t.Errorf("%d cancelled dates", n)
		}
		s.inStep()
	})
	t.Run("many imports at once never overlap", func(t *testing.T) {
		s := newSalon(t)
		made := make([]int, 8)
		together(len(made), func(n int) {
			var lines []*bookingv1.ImportedAppointment
			for i := range 20 {
				line := s.line(fmt.Sprintf("a%d-%d", n, i), float64(i)/2)
				line.Rooms = []string{"room"}
				if n%2 == 0 {
					line.Staff = "max"
				}
				lines = append(lines, line)
			}
			resp, err := s.appointments.ImportAppointments(s.ctx, &bookingv1.ImportAppointmentsRequest{Appointments: lines})
			if err != nil {
				t.Error(err)
			}
			for _, r := range resp.GetResults() {
				if r.GetOutcome() == created {
					made[n]++
				}
			}
		})
		total := 0
		for _, n := range made {
			total += n
		}
		if n := s.overlapping(); n != 0 || total != 20 {
			t.Errorf("%d overlaps, %d appointments; want 0 and 20", n, total)
		}
		s.inStep()
	})
}

func TestImportedAppointmentRefusals(t *testing.T) {
	t.Parallel()
	s := newSalon(t)
	other := id.New[id.Company]()
	theirStaff, theirRoom, theirType := s.addStaff(other, "zoe"), s.addRoom(other, "cellar", 1), s.addType(other, "sauna")
	theirCustomer := s.customer(other, "carl")
	s.mustSend(past("class", "ann", "yoga", 1))
	for _, c := range []struct {
		name, want string
		change     func(*bookingv1.ImportedAppointment)
	}{
		{"a missing reference", "reference required", func(l *bookingv1.ImportedAppointment) { l.Reference = " " }},
		{"a long reference", "reference max_length", func(l *bookingv1.ImportedAppointment) { l.Reference = strings.Repeat("x", 201) }},
		{"the reference of another purchase", "reference unique", func(l *bookingv1.ImportedAppointment) { l.Reference = "class" }},
		{"an unknown customer", "customer exists", func(l *bookingv1.ImportedAppointment) { l.Customer = "nobody" }},
		{"a customer of another company", "customer exists", func(l *bookingv1.ImportedAppointment) { l.Customer = theirCustomer.String() }},
		{"an unknown attendee", "bought_for exists", func(l *bookingv1.ImportedAppointment) { l.BoughtFor = "nobody" }},
		{"an unknown type", "appointment_type exists", func(l *bookingv1.ImportedAppointment) { l.AppointmentType = "none" }},
		{"a type of another company", "appointment_type exists", func(l *bookingv1.ImportedAppointment) { l.AppointmentType = theirType.String() }},
		{"a type's reference of another company", "appointment_type exists", func(l *bookingv1.ImportedAppointment) { l.AppointmentType = "sauna" }},
		{"an unknown person", "staff exists", func(l *bookingv1.ImportedAppointment) { l.Staff = id.New[id.StaffMember]().String() }},
		{"a person of another company", "staff exists", func(l *bookingv1.ImportedAppointment) { l.Staff = theirStaff.String() }},
		{"a room of another company", "rooms[1] exists", func(l *bookingv1.ImportedAppointment) { l.Rooms = []string{"room", theirRoom.String()} }},
		{"a room twice", "rooms[1] unique", func(l *bookingv1.ImportedAppointment) { l.Rooms = []string{"room", s.room.String()} }},
		{"a missing start", "starts_at required", func(l *bookingv1.ImportedAppointment) { l.StartsAt = nil }},
		{"a short appointment", "length_minutes range", func(l *bookingv1.ImportedAppointment) { l.LengthMinutes = 4 }},
		{"a long appointment", "length_minutes range", func(l *bookingv1.ImportedAppointment) { l.LengthMinutes = 1441 }},
		{"a negative amount", "card.gross range", func(l *bookingv1.ImportedAppointment) {
			l.Payment = &bookingv1.ImportedAppointment_Card{Card: &bookingv1.CardPayment{Currency: "EUR", Gross: -1}}
		}},
		{"an unknown pass", "pass.customer_pass_id format", func(l *bookingv1.ImportedAppointment) {
			l.Payment = &bookingv1.ImportedAppointment_Pass{Pass: &bookingv1.PassPayment{CustomerPassId: "x"}}
		}},
	} {
		t.Run("refuses "+c.name, func(t *testing.T) {
			line := s.line("a1", 0)
			c.change(line)
			if got := s.refusal(line); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	if n := one[int64](s.world, `select count(*) from event_dates where appointment_id is not null`); n != 0 {
		t.Errorf("%d dates of refused appointments", n)
	}
	t.Run("refuses a request with no appointments or too many", func(t *testing.T) {
		for _, n := range []int{0, 101} {
			req := &bookingv1.ImportAppointmentsRequest{}
			for range n {
				req.Appointments = append(req.Appointments, s.line("a1", 0))
			}
			_, err := s.appointments.ImportAppointments(s.ctx, req)
			wantFault(t, err, fault.Invalid, fault.ReasonValidation)
		}
	})
}
