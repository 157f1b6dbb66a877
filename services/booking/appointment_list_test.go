package booking

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

const (
	statusHeld      = bookingv1.AppointmentStatus_APPOINTMENT_STATUS_HELD
	statusBooked    = bookingv1.AppointmentStatus_APPOINTMENT_STATUS_BOOKED
	statusCancelled = bookingv1.AppointmentStatus_APPOINTMENT_STATUS_CANCELLED
)

// listed is a salon with six appointments, an hour apart, by the letters of their references.
//
//	a ann, lea    c cancelled, ann, lea    e held, ben, lea
//	b ben, max    d ann for ben, max       f another type, ann, lea
type listed struct {
	*salon
	sauna id.AppointmentType
	ids   map[string]string // by letter
}

func newListed(t testing.TB) *listed {
	t.Helper()
	s := newSalon(t)
	l := &listed{salon: s, sauna: s.addType(s.company, "sauna"), ids: map[string]string{}}
	var lines []*bookingv1.ImportedAppointment
	for i, letter := range "abcdef" {
		line := s.line(string(letter), float64(i))
		switch letter {
		case 'b':
			line.Customer, line.Staff, line.Rooms = "ben", "max", []string{"room"}
		case 'c':
			line.IsCancelled = true
		case 'd':
			line.BoughtFor, line.Staff = "ben", "max"
		case 'e':
			line.Customer = "ben"
		case 'f':
			line.AppointmentType = "sauna"
		}
		lines = append(lines, line)
	}
	for i, appointment := range s.mustImport(lines...) {
		l.ids[string("abcdef"[i])] = appointment
	}
	s.hold(l.ids["e"], "held", time.Now().Add(time.Hour))
	s.mustBook(s.ctx, s.ann, s.event(s.ctx, nil), 1) // not an appointment
	return l
}

// letters returns the letters of a list.
func (l *listed) letters(req *bookingv1.ListAppointmentsRequest) string {
	l.t.Helper()
	out := ""
	for _, which := range l.list(req) {
		for letter, appointment := range l.ids {
			if appointment == which {
				out += letter
			}
		}
	}
	return out
}

func TestPageTokensOfOtherLists(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.member("Ada")
	w.member("Bo")
	resp, err := w.staffClient.ListStaff(w.ctx, &bookingv1.ListStaffRequest{PageSize: 1})
	if err != nil || resp.GetNextPageToken() == "" {
		t.Fatal(err)
	}
	_, err = w.appointments.ListAppointments(w.ctx, &bookingv1.ListAppointmentsRequest{PageToken: resp.GetNextPageToken()})
	wantFault(t, err, fault.Invalid, fault.ReasonInvalidParameter)
}

func TestListAppointments(t *testing.T) {
	t.Parallel()
	l := newListed(t)
	at := func(hours float64) *timestamppb.Timestamp {
		return timestamppb.New(l.tomorrow.Add(time.Duration(hours * float64(time.Hour))))
	}
	every := []bookingv1.AppointmentStatus{statusHeld, statusBooked, statusCancelled}
	later := time.Now().Add(time.Hour).Truncate(time.Second)
	l.exec(`update transactions set updated_at = $2 where reference = any($1)`, []string{"a", "e"}, later)
	other := id.New[id.Company]()
	for _, c := range []struct {
		name, want string
		req        *bookingv1.ListAppointmentsRequest
	}{
		{"booked and cancelled ones by start", "abcdf", &bookingv1.ListAppointmentsRequest{}},
		{"by start, descending", "fdcba", &bookingv1.ListAppointmentsRequest{Order: bookingv1.AppointmentOrder_APPOINTMENT_ORDER_START_DESC}},
		{"with every status", "abcdef", &bookingv1.ListAppointmentsRequest{Statuses: every}},
		{"held ones", "e", &bookingv1.ListAppointmentsRequest{Statuses: every[:1]}},
		{"booked ones", "abdf", &bookingv1.ListAppointmentsRequest{Statuses: every[1:2]}},
		{"cancelled ones", "c", &bookingv1.ListAppointmentsRequest{Statuses: every[2:]}},
		{"of a span", "bcd", &bookingv1.ListAppointmentsRequest{StartsFrom: at(1), StartsBefore: at(4)}},
		{"of a staff member", "acf", &bookingv1.ListAppointmentsRequest{StaffId: l.lea.String()}},
		{"of a staff member with held ones, descending", "feca", &bookingv1.ListAppointmentsRequest{StaffId: l.lea.String(), Statuses: every, Order: bookingv1.AppointmentOrder_APPOINTMENT_ORDER_START_DESC}},
		{"of a staff member in a span", "c", &bookingv1.ListAppointmentsRequest{StaffId: l.lea.String(), StartsFrom: at(1), StartsBefore: at(5)}},
		{"of a staff member by change", "cfa", &bookingv1.ListAppointmentsRequest{StaffId: l.lea.String(), Order: bookingv1.AppointmentOrder_APPOINTMENT_ORDER_UPDATED}},
		{"in a room", "b", &bookingv1.ListAppointmentsRequest{RoomId: l.room.String()}},
		{"of a staff member in a room of another one", "", &bookingv1.ListAppointmentsRequest{StaffId: l.lea.String(), RoomId: l.room.String()}},
		{"of a type", "f", &bookingv1.ListAppointmentsRequest{AppointmentTypeId: l.sauna.String()}},
		{"of a type and a staff member", "ac", &bookingv1.ListAppointmentsRequest{AppointmentTypeId: l.massage.String(), StaffId: l.lea.String()}},
		{"that a customer bought", "acdf", &bookingv1.ListAppointmentsRequest{CustomerId: l.ann.String()}},
		{"that a customer bought or attends, with held ones", "bde", &bookingv1.ListAppointmentsRequest{CustomerId: l.ben.String(), Statuses: every}},
		{"of a customer with a staff member", "bd", &bookingv1.ListAppointmentsRequest{CustomerId: l.ben.String(), StaffId: l.max.String(), Statuses: every}},
		{"held ones of a staff member", "e", &bookingv1.ListAppointmentsRequest{StaffId: l.lea.String(), Statuses: every[:1]}},
		{"changed since", "a", &bookingv1.ListAppointmentsRequest{UpdatedSince: timestamppb.New(later)}},
		{"changed since, with held ones", "ae", &bookingv1.ListAppointmentsRequest{UpdatedSince: timestamppb.New(later), Statuses: every}},
		{"of a span that changed since", "", &bookingv1.ListAppointmentsRequest{UpdatedSince: timestamppb.New(later), StartsFrom: at(1)}},
		{"by change", "bcdfa", &bookingv1.ListAppointmentsRequest{Order: bookingv1.AppointmentOrder_APPOINTMENT_ORDER_UPDATED}},
		{"by change, descending, with held ones", "eafdcb", &bookingv1.ListAppointmentsRequest{Statuses: every, Order: bookingv1.AppointmentOrder_APPOINTMENT_ORDER_UPDATED_DESC}},
		{"of an unknown staff member", "", &bookingv1.ListAppointmentsRequest{StaffId: "x"}},
		{"of an unknown room", "", &bookingv1.ListAppointmentsRequest{RoomId: id.New[id.Room]().String()}},
		{"of a staff member of another company", "", &bookingv1.ListAppointmentsRequest{StaffId: l.addStaff(other, "zoe").String()}},
	} {
		for _, size := range []int32{0, 1, 2} {
			t.Run(fmt.Sprintf("lists appointments %s, in pages of %d", c.name, size), func(t *testing.T) {
				c.req.PageSize = size
				if got := l.letters(c.req); got != c.want {
					t.Errorf("got %s, want %s", got, c.want)
				}
			})
		}
	}
	t.Run("skips with an offset", func(t *testing.T) {
		resp, err := l.appointments.ListAppointments(l.ctx, &bookingv1.ListAppointmentsRequest{Offset: 3, PageSize: 1})
		if err != nil || len(resp.GetAppointments()) != 1 || resp.GetAppointments()[0].GetId() != l.ids["d"] || resp.GetTotal() != 5 {
			t.Errorf("got %v, %v", resp, err)
		}
	})
	t.Run("another company sees nothing", func(t *testing.T) {
		for _, req := range []*bookingv1.ListAppointmentsRequest{{}, {StaffId: l.lea.String()}, {CustomerId: l.ann.String()}, {AppointmentTypeId: l.massage.String()}} {
			resp, err := l.appointments.ListAppointments(l.as(other), req)
			if err != nil || resp.GetTotal() != 0 || len(resp.GetAppointments()) != 0 {
				t.Errorf("got %v, %v", resp, err)
			}
		}
		_, err := l.appointments.GetAppointment(l.as(other), &bookingv1.GetAppointmentRequest{Id: l.ids["a"]})
		wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
	})
	t.Run("reports a customer who does not exist, if one must exist", func(t *testing.T) {
		for name, who := range map[string]string{"unknown": id.New[id.Customer]().String(), "not an identifier": "x", "none": ""} {
			_, err := l.appointments.ListAppointments(l.ctx, &bookingv1.ListAppointmentsRequest{CustomerId: who, CustomerMustExist: true})
			if err == nil {
				t.Error(name)
			}
			wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
		}
		resp, err := l.appointments.ListAppointments(l.ctx, &bookingv1.ListAppointmentsRequest{CustomerId: l.ann.String(), CustomerMustExist: true})
		if err != nil || resp.GetTotal() != 4 {
			t.Errorf("got %v, %v", resp, err)
		}
	})
	t.Run("refuses a token of another order and an unknown status", func(t *testing.T) {
		first, err := l.appointments.ListAppointments(l.ctx, &bookingv1.ListAppointmentsRequest{PageSize: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, req := range []*bookingv1.ListAppointmentsRequest{
			{PageToken: first.GetNextPageToken(), Order: bookingv1.AppointmentOrder_APPOINTMENT_ORDER_UPDATED},
			{PageToken: first.GetNextPageToken(), Order: bookingv1.AppointmentOrder_APPOINTMENT_ORDER_START_DESC},
			{Statuses: []bookingv1.AppointmentStatus{statusBooked, 9}}, {Order: 9}, {PageSize: 201},
		} {
			_, err := l.appointments.ListAppointments(l.ctx, req)
			wantFault(t, err, fault.Invalid, fault.ReasonInvalidParameter)
		}
	})
}

func TestGetAppointment(t *testing.T) {
	t.Parallel()
	l := newListed(t)
	until := time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
	t.Run("shows a held slot with the time at which it is released", func(t *testing.T) {
		l.hold(l.ids["e"], "held", until)
		got := l.get(l.ids["e"])
		if got.GetStatus() != statusHeld || !got.GetHeldUntil().AsTime().Equal(until) || got.GetPurchaser().GetFirstName() != "ben" {
			t.Errorf("got %v", got)
		}
		l.hold(l.ids["e"], "pending", until)
		if got := l.get(l.ids["e"]); got.GetStatus() != statusHeld || got.GetHeldUntil() != nil {
			t.Errorf("got %v", got)
		}
	})
	t.Run("a slot that was released is not found", func(t *testing.T) {
		l.hold(l.ids["e"], "released", until)
		_, err := l.appointments.GetAppointment(l.ctx, &bookingv1.GetAppointmentRequest{Id: l.ids["e"]})
		wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
	})
	t.Run("a cancelled appointment has its last staff member", func(t *testing.T) {
		l.exec(`insert into assignments (company_id, event_date_id, resource_id, kind, unit, position, taken_from, taken_until, active)
			select company_id, event_date_id, $1, 'staff', 0, 1, taken_from, taken_until, false from assignments
			where booking_id = $2 and resource_id = $3`, l.max, idOf[id.Appointment](t, l.ids["c"]), l.lea)
		if got := l.get(l.ids["c"]); got.GetStatus() != statusCancelled || got.GetStaff().GetName() != "max" {
			t.Errorf("got %v", got)
		}
		if got := l.letters(&bookingv1.ListAppointmentsRequest{StaffId: l.lea.String()}); got != "af" {
			t.Errorf("lea has %s", got)
		}
		if got := l.letters(&bookingv1.ListAppointmentsRequest{StaffId: l.max.String()}); got != "bcd" {
			t.Errorf("max has %s", got)
		}
	})
	t.Run("customers see what they bought or attend", func(t *testing.T) {
		for _, c := range []struct {
			letter, customer string
			found            bool
		}{{"a", l.ann.String(), true}, {"a", l.ben.String(), false}, {"d", l.ann.String(), true}, {"d", l.ben.String(), true}, {"a", "x", false}} {
			_, err := l.appointments.GetAppointment(l.ctx, &bookingv1.GetAppointmentRequest{Id: l.ids[c.letter], CustomerId: c.customer})
			if c.found == (err != nil) {
				t.Errorf("%s of %s: %v", c.letter, c.customer, err)
			}
			if !c.found {
				wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
			}
		}
	})
	t.Run("a booking that is not an appointment is not found", func(t *testing.T) {
		class := l.mustBook(l.ctx, l.ann, l.event(l.ctx, nil), 1).GetBookings()[0].GetId()
		for _, which := range []string{id.Appointment(idOf[id.Booking](t, class)).String(), class, "", id.New[id.Appointment]().String()} {
			_, err := l.appointments.GetAppointment(l.ctx, &bookingv1.GetAppointmentRequest{Id: which})
			wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
		}
	})
}

func TestAppointmentPages(t *testing.T) {
	t.Parallel()
	t.Run("return each appointment once while others are added (invariant 14)", func(t *testing.T) {
		s := newSalon(t)
		var lines []*bookingv1.ImportedAppointment
		for i := range 40 {
			line := s.line(fmt.Sprintf("a%d", i), float64(i/2))
			if i%2 == 1 {
				line.Staff = "max" // two at each time
			}
			lines = append(lines, line)
		}
		want := s.mustImport(lines...)
		for _, order := range []bookingv1.AppointmentOrder{1, 2, 3, 4} {
			var got []string
			req := &bookingv1.ListAppointmentsRequest{PageSize: 3, Order: order}
			for n := 0; n == 0 || req.PageToken != ""; n++ {
				resp, err := s.appointments.ListAppointments(s.ctx, req)
				if err != nil {
					t.Fatal(err)
				}
				for _, a := range resp.GetAppointments() {
					if slices.Contains(want, a.GetId()) {
						got = append(got, a.GetId())
					}
				}
				req.PageToken = resp.GetNextPageToken()
				if n < 10 {
					line := s.line(fmt.Sprintf("n%d-%d", order, n), float64(n)*2)
					line.Staff = fmt.Sprintf("new%d-%d", order, n)
					s.addStaff(s.company, line.GetStaff())
					s.mustImport(line)
				}
			}
			sorted := slices.Clone(got)
			slices.Sort(sorted)
			if len(got) != len(want) || len(slices.Compact(sorted)) != len(want) {
				t.Errorf("%v: %d appointments of %d", order, len(got), len(want))
			}
		}
	})
}

func TestListAssignments(t *testing.T) {
	t.Parallel()
	l := newListed(t)
	at := func(hours float64) *timestamppb.Timestamp {
		return timestamppb.New(l.tomorrow.Add(time.Duration(hours * float64(time.Hour))))
	}
	class := l.createEvent(l.ctx, &bookingv1.CreateEventRequest{Title: "Yoga", Dates: []*bookingv1.NewEventDate{{StartsAt: at(-2), DurationMinutes: 60}}})
	l.exec(`insert into assignments (company_id, event_date_id, resource_id, kind, unit, position, buffer_before, buffer_after, taken_from, taken_until, substitutes_for)
		select company_id, id, $1, 'staff', 0, 0, 5, 5, starts_at - interval '5 minutes', starts_at + interval '65 minutes', $3 from event_dates where id = $2`,
		l.max, idOf[id.EventDate](t, class.GetDates()[0].GetId()), l.lea)
	list := func(t *testing.T, req *bookingv1.ListAssignmentsRequest) (letters string, all []*bookingv1.Assignment) {
		resp, err := l.appointments.ListAssignments(l.ctx, req)
		if err != nil || resp.GetTruncated() {
			t.Fatal(resp, err)
		}
		for _, a := range resp.GetAssignments() {
			letter := "-"
			for name, which := range l.ids {
				if which == a.GetAppointment().GetId() {
					letter = name
				}
			}
			letters += letter
		}
		return letters, resp.GetAssignments()
	}
	t.Run("shows appointments, held slots and classes that take time", func(t *testing.T) {
		letters, all := list(t, &bookingv1.ListAssignmentsRequest{StartsFrom: at(-24), StartsBefore: at(24)})
		if letters != "-abbdef" {
			t.Errorf("got %s", letters)
		}
		yoga, room := all[0], all[2]
		if room.GetUnit() == 0 {
			room = all[3]
		}
		if yoga.GetTitle() != "Yoga" || yoga.GetResourceId() != l.max.String() || yoga.GetUnit() != 0 || yoga.GetSubstitutesForId() != l.lea.String() ||
			!yoga.GetStartsAt().AsTime().Equal(at(-2).AsTime().Add(-5*time.Minute)) || !yoga.GetEndsAt().AsTime().Equal(at(-1).AsTime().Add(5*time.Minute)) ||
			!yoga.GetDateStartsAt().AsTime().Equal(at(-2).AsTime()) || yoga.GetDurationMinutes() != 60 || yoga.GetEventId() != class.GetId() ||
			yoga.GetEventDateId() != class.GetDates()[0].GetId() || yoga.GetAppointment() != nil {
			t.Errorf("got %v", yoga)
		}
		if room.GetResourceId() != l.room.String() || room.GetUnit() != 1 || room.GetAppointment().GetCustomer().GetFirstName() != "ben" {
			t.Errorf("got %v", room)
		}
	})
	t.Run("compares the span with the time that is taken", func(t *testing.T) {
		for _, c := range []struct {
			from, before float64
			want         string
		}{{-1, 0, "-"}, {-1 + 5.0/60, 0, ""}, {-3, -2, "-"}, {-3, -2 - 5.0/60, ""}, {1, 3, "bb"}, {0.5, 0.6, "a"}} {
			if got, _ := list(t, &bookingv1.ListAssignmentsRequest{StartsFrom: at(c.from), StartsBefore: at(c.before)}); got != c.want {
				t.Errorf("from %v to %v: got %s, want %s", c.from, c.before, got, c.want)
			}
		}
	})
	t.Run("shows only the resources that are given", func(t *testing.T) {
		for _, c := range []struct {
			resources []string
			want      string
		}{
			{[]string{l.lea.String()}, "aef"}, {[]string{l.room.String(), l.room.String()}, "b"},
			{[]string{l.max.String(), l.room.String()}, "-bbd"}, {[]string{"x"}, ""},
		} {
			if got, _ := list(t, &bookingv1.ListAssignmentsRequest{StartsFrom: at(-24), StartsBefore: at(24), ResourceIds: c.resources}); got != c.want {
				t.Errorf("%v: got %s, want %s", c.resources, got, c.want)
			}
		}
		resp, err := l.appointments.ListAssignments(l.as(id.New[id.Company]()), &bookingv1.ListAssignmentsRequest{
			StartsFrom: at(-24), StartsBefore: at(24), ResourceIds: []string{l.lea.String()}})
		if err != nil || len(resp.GetAssignments()) != 0 {
			t.Errorf("another company sees %v, %v", resp, err)
		}
	})
	t.Run("refuses a span without an end, of no time, or of more than 31 days", func(t *testing.T) {
		for _, req := range []*bookingv1.ListAssignmentsRequest{
			{StartsFrom: at(0)}, {StartsBefore: at(0)}, {StartsFrom: at(0), StartsBefore: at(0)}, {StartsFrom: at(0), StartsBefore: at(31*24 + 3)},
		} {
			_, err := l.appointments.ListAssignments(l.ctx, req)
			wantFault(t, err, fault.Invalid, fault.ReasonInvalidParameter)
		}
	})
	t.Run("is truncated at 10000 assignments", func(t *testing.T) {
		from := l.tomorrow.AddDate(1, 0, 0)
		l.exec(`with made as (insert into event_dates (company_id, id, event_id, starts_at, duration_minutes, timezone)
				select $1, gen_random_uuid(), $2, $3::timestamptz + n * interval '1 minute', 1, 'UTC' from generate_series(1, 10001) n returning id, starts_at)
			insert into assignments (company_id, event_date_id, resource_id, kind, unit, position, taken_from, taken_until)
			select $1, id, $4, 'staff', 0, 0, starts_at, starts_at + interval '1 minute' from made`,
			l.company, idOf[id.Event](t, class.GetId()), from, l.lea)
		resp, err := l.appointments.ListAssignments(l.ctx, &bookingv1.ListAssignmentsRequest{StartsFrom: timestamppb.New(from), StartsBefore: timestamppb.New(from.AddDate(0, 0, 31))})
		if err != nil || !resp.GetTruncated() || len(resp.GetAssignments()) != 10_000 {
			t.Errorf("%d assignments, truncated %v, %v", len(resp.GetAssignments()), resp.GetTruncated(), err)
		}
	})
}

func TestAssignmentsFitInAMessage(t *testing.T) {
	t.Parallel()
	taken := make([]model.TakenTime, maxAssignments)
	for i := range taken {
		taken[i] = model.TakenTime{Title: strings.Repeat("x", 4000)}
	}
	resp := &bookingv1.ListAssignmentsResponse{}
	addAssignments(resp, taken, nil)
	if size := proto.Size(resp); !resp.GetTruncated() || size > maxAssignmentBytes || size < maxAssignmentBytes-100_000 {
		t.Errorf("%d bytes, truncated %v", size, resp.GetTruncated())
	}
}
