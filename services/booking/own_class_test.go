package booking

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/roles"
	"reservation.dev/platform/token"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// asTeacher returns a context with the token of a teacher.
func (w *world) asTeacher(company id.Company, staff id.StaffMember) context.Context {
	return bearer(w.t.Context(), w.issuer.Sign(token.Claims{
		Subject: id.New[id.Administrator]().String(), Kind: token.KindAdministrator, Company: company, Staff: staff, Scopes: roles.Teacher.Scopes(),
	}))
}

// teaching is a world with the classes of two teachers, each with a booking.
type teaching struct {
	*world
	own        bookingv1.OwnClassServiceClient
	ann, bob   id.StaffMember
	asAnn      context.Context
	mine, hers string // dates of ann and bob
	booking    string // on the date of ann
	other      string // on the date of bob
}

func newTeaching(t *testing.T) *teaching {
	t.Helper()
	w := &teaching{world: newWorld(t)}
	w.own = bookingv1.NewOwnClassServiceClient(w.conn)
	w.ann, w.bob = w.teacher("Ann"), w.teacher("Bob")
	w.asAnn = w.asTeacher(w.company, w.ann)
	yoga, pilates := w.class(with(w.ann, w.studio("Hall", 1)), 0), w.class(with(w.bob), 0)
	w.mine, w.hers = yoga.GetDates()[0].GetId(), pilates.GetDates()[0].GetId()
	guest := w.customer(w.company, "guest")
	w.booking = w.mustBook(w.ctx, guest, yoga, 2).GetBookings()[0].GetId()
	w.other = w.mustBook(w.ctx, guest, pilates, 1).GetBookings()[0].GetId()
	return w
}

// dates lists the dates of a teacher around noon of the classes.
func (w *teaching) dates(ctx context.Context) []*bookingv1.OwnDate {
	w.t.Helper()
	req := &bookingv1.ListOwnDatesRequest{
		StartsFrom: timestamppb.New(noon().Add(-48 * time.Hour)), StartsBefore: timestamppb.New(noon().Add(20 * 24 * time.Hour)), PageSize: 1,
	}
	var all []*bookingv1.OwnDate
	for {
		resp, err := w.own.ListOwnDates(ctx, req)
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, resp.GetDates()...)
		if req.PageToken = resp.GetNextPageToken(); req.PageToken == "" {
			return all
		}
	}
}

// wantDates checks which dates a teacher sees, in their order.
func (w *teaching) wantDates(ctx context.Context, want ...string) {
	w.t.Helper()
	got := []string{}
	for _, d := range w.dates(ctx) {
		got = append(got, d.GetId())
	}
	if !slices.Equal(got, append([]string{}, want...)) {
		w.t.Errorf("sees %v, want %v", got, want)
	}
}

// wantClosed checks that a teacher can neither read a date and its booking nor record an attendance, and that the
// answers are those for identifiers that do not exist.
func (w *teaching) wantClosed(ctx context.Context, date, booking string) {
	w.t.Helper()
	answer := func(date, booking string) string {
		_, read := w.own.GetOwnDate(ctx, &bookingv1.GetOwnDateRequest{Id: date})
		_, list := w.own.ListOwnBookings(ctx, &bookingv1.ListOwnBookingsRequest{EventDateId: date})
		_, write := w.own.RecordOwnAttendance(ctx, &bookingv1.RecordOwnAttendanceRequest{BookingId: booking, Attendance: bookingv1.Attendance_ATTENDANCE_CHECKED_IN})
		for _, err := range []error{read, list, write} {
			wantFault(w.t, err, fault.NotFound, fault.ReasonNotFound)
		}
		return fmt.Sprint(read, list, write)
	}
	if got, want := answer(date, booking), answer(id.New[id.EventDate]().String(), id.New[id.Booking]().String()); got != want {
		w.t.Errorf("the answers are\n%s\nand not, as for what does not exist,\n%s", got, want)
	}
}

func TestOwnClasses(t *testing.T) { // invariant 51
	t.Parallel()
	w := newTeaching(t)

	t.Run("a teacher sees their own dates with the names of those who booked, and nothing else about them", func(t *testing.T) {
		w.wantDates(w.asAnn, w.mine)
		d := w.dates(w.asAnn)[0]
		if d.GetTitle() != "Yoga" || d.GetBooked() != 2 || len(d.GetRooms()) != 1 || d.GetStatus() != bookingv1.EventDateStatus_EVENT_DATE_STATUS_SCHEDULED {
			t.Errorf("got %v", d)
		}
		list, err := w.own.ListOwnBookings(w.asAnn, &bookingv1.ListOwnBookingsRequest{EventDateId: w.mine})
		if err != nil || len(list.GetBookings()) != 1 || list.GetTotal() != 1 || list.GetBookings()[0].GetFirstName() != "guest" || list.GetBookings()[0].GetSpaces() != 2 {
			t.Fatalf("got %v, %v", list, err)
		}
		if text := protojson.Format(list); strings.Contains(text, "@") || strings.Contains(text, "cust_") || strings.Contains(text, "price") {
			t.Errorf("shows %s", text)
		}
	})
	t.Run("a teacher checks in, and the change is in the history under the teacher", func(t *testing.T) {
		record := &bookingv1.RecordOwnAttendanceRequest{BookingId: w.booking, Attendance: bookingv1.Attendance_ATTENDANCE_CHECKED_IN}
		for _, changed := range []bool{true, false} {
			res, err := w.own.RecordOwnAttendance(w.asAnn, record)
			if err != nil || res.GetChanged() != changed || res.GetBooking().GetAttendance() != record.GetAttendance() {
				t.Fatalf("got %v, %v", res, err)
			}
		}
		history, err := w.changes.ListBookingHistory(w.ctx, &bookingv1.ListBookingHistoryRequest{BookingId: w.booking})
		if err != nil || len(history.GetEntries()) != 2 || !strings.HasPrefix(history.GetEntries()[1].GetActor(), "admin_") {
			t.Errorf("got %v, %v", history, err)
		}
	})
	t.Run("another teacher's class and booking do not exist for a teacher", func(t *testing.T) {
		w.wantClosed(w.asAnn, w.hers, w.other)
	})
	t.Run("nothing exists for the same staff member in another company", func(t *testing.T) {
		stranger := w.asTeacher(id.New[id.Company](), w.ann)
		w.wantDates(stranger)
		w.wantClosed(stranger, w.mine, w.booking)
	})
	t.Run("a class without staff is nobody's", func(t *testing.T) {
		e := w.event(w.ctx, nil)
		guest := w.customer(w.company, "walker")
		w.wantClosed(w.asAnn, e.GetDates()[0].GetId(), w.mustBook(w.ctx, guest, e, 1).GetBookings()[0].GetId())
	})
	t.Run("a token without a staff member is refused, also one of the platform", func(t *testing.T) {
		for _, ctx := range []context.Context{w.asTeacher(w.company, id.StaffMember{}), w.asPlatform(w.company)} {
			_, dates := w.own.ListOwnDates(ctx, &bookingv1.ListOwnDatesRequest{})
			_, date := w.own.GetOwnDate(ctx, &bookingv1.GetOwnDateRequest{Id: w.mine})
			_, list := w.own.ListOwnBookings(ctx, &bookingv1.ListOwnBookingsRequest{EventDateId: w.mine})
			_, write := w.own.RecordOwnAttendance(ctx, &bookingv1.RecordOwnAttendanceRequest{BookingId: w.booking, Attendance: bookingv1.Attendance_ATTENDANCE_NO_SHOW})
			for _, err := range []error{dates, date, list, write} {
				wantFault(t, err, fault.Forbidden, fault.ReasonForbidden)
			}
		}
	})
	t.Run("a span without an end, or of more than 31 days, is refused", func(t *testing.T) {
		for _, req := range []*bookingv1.ListOwnDatesRequest{
			{StartsFrom: timestamppb.Now()}, {StartsBefore: timestamppb.Now()},
			{StartsFrom: timestamppb.Now(), StartsBefore: timestamppb.New(time.Now().Add(40 * 24 * time.Hour))},
		} {
			_, err := w.own.ListOwnDates(w.asAnn, req)
			wantFault(t, err, fault.Invalid, fault.ReasonInvalidParameter)
		}
	})
}

func TestOwnClassesFollowTheAssignment(t *testing.T) { // invariant 51
	t.Parallel()
	w := newTeaching(t)
	asBob := w.asTeacher(w.company, w.bob)

	t.Run("a substitute sees the class from then on, and the person who is replaced does not", func(t *testing.T) {
		cat := w.teacher("Cat")
		if _, err := w.world.staff(w.mine, with(cat)); err != nil {
			t.Fatal(err)
		}
		w.wantDates(w.asTeacher(w.company, cat), w.mine)
		w.wantDates(w.asAnn)
		w.wantClosed(w.asAnn, w.mine, w.booking)
	})
	t.Run("a cancelled class stays in the schedule of its teacher, and not of the person who was replaced", func(t *testing.T) {
		for _, date := range []string{w.mine, w.hers} {
			if _, err := w.events.CancelEventDate(w.ctx, &bookingv1.CancelEventDateRequest{Id: date}); err != nil {
				t.Fatal(err)
			}
		}
		w.wantDates(asBob, w.hers)
		w.wantDates(w.asAnn)
		if d := w.dates(asBob)[0]; d.GetStatus() != bookingv1.EventDateStatus_EVENT_DATE_STATUS_CANCELLED {
			t.Errorf("got %v", d)
		}
		if list, err := w.own.ListOwnBookings(asBob, &bookingv1.ListOwnBookingsRequest{EventDateId: w.hers}); err != nil || len(list.GetBookings()) > 0 {
			t.Errorf("got %v, %v", list, err)
		}
	})
}

// While a substitution is being stored, a teacher's change of a booking waits. It is refused if the
// substitution replaces that teacher.
func TestOwnAttendanceDuringASubstitution(t *testing.T) { // invariant 51
	t.Parallel()
	record := func(w *teaching) error {
		_, err := w.own.RecordOwnAttendance(w.asAnn, &bookingv1.RecordOwnAttendanceRequest{
			BookingId: w.booking, Attendance: bookingv1.Attendance_ATTENDANCE_CHECKED_IN,
		})
		return err
	}
	attendance := func(w *teaching) string {
		return one[string](w.world, `select coalesce(attendance, '') from bookings where id = $1`, idOf[id.Booking](w.t, w.booking))
	}
	t.Run("a substitution that commits first refuses the attendance", func(t *testing.T) {
		w := newTeaching(t)
		before := attendance(w)
		var recorded error
		var done sync.WaitGroup
		err := w.db.InTx(t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
			if _, err := tx.Exec(ctx, `select from transactions where id = (select transaction_id from bookings where id = $1) for update`,
				idOf[id.Booking](t, w.booking)); err != nil {
				return err
			}
			done.Go(func() { recorded = record(w) })
			w.waitsFor("from transactions t")
			_, err := w.world.staff(w.mine, with(w.teacher("Cat")))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		done.Wait()
		wantFault(t, recorded, fault.NotFound, fault.ReasonNotFound)
		if after := attendance(w); after != before {
			t.Errorf("the attendance is %s", after)
		}
	})
	t.Run("an attendance waits for a substitution that has not committed", func(t *testing.T) {
		w := newTeaching(t)
		var recorded error
		var done sync.WaitGroup
		err := w.db.InTx(t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
			if _, err := tx.Exec(ctx, `update assignments set active = false, position = -1 where event_date_id = $1`, idOf[id.EventDate](t, w.mine)); err != nil {
				return err
			}
			done.Go(func() { recorded = record(w) })
			w.waitsFor("for share of a")
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		done.Wait()
		wantFault(t, recorded, fault.NotFound, fault.ReasonNotFound)
	})
}

func TestOwnAppointments(t *testing.T) { // invariant 51
	t.Parallel()
	p := newParlour(t)
	own := bookingv1.NewOwnClassServiceClient(p.conn)
	tokenOf := func(who *bookingv1.StaffMember) context.Context {
		staff, err := id.Parse[id.StaffMember](who.GetId())
		if err != nil {
			t.Fatal(err)
		}
		return p.asTeacher(p.company, staff)
	}
	list := func(who *bookingv1.StaffMember) []*bookingv1.OwnDate {
		t.Helper()
		res, err := own.ListOwnDates(tokenOf(who), &bookingv1.ListOwnDatesRequest{
			StartsFrom: timestamppb.New(parlourTime()), StartsBefore: timestamppb.New(parlourTime().Add(30 * 24 * time.Hour)),
		})
		if err != nil {
			t.Fatal(err)
		}
		return res.GetDates()
	}
	a := p.reserve("2030-01-07T10:00", by(p.lea))
	attend := &bookingv1.RecordOwnAttendanceRequest{BookingId: a.GetBooking().GetId(), Attendance: bookingv1.Attendance_ATTENDANCE_CHECKED_IN}

	if got := list(p.lea); len(got) != 1 || got[0].GetTitle() != "Massage" || got[0].GetEventType() != bookingv1.EventType_EVENT_TYPE_APPOINTMENT {
		t.Fatalf("Lea sees %v", got)
	}
	if got := list(p.max); len(got) != 0 {
		t.Errorf("Max sees %v", got)
	}
	_, err := own.RecordOwnAttendance(tokenOf(p.max), attend)
	wantFault(t, err, fault.NotFound, fault.ReasonNotFound)

	moved := p.mustMove(a, func(r *bookingv1.MoveAppointmentRequest) { r.StaffId = p.max.GetId() })
	if got := list(p.lea); len(got) != 0 {
		t.Errorf("after the move to Max, Lea sees %v", got)
	}
	if got := list(p.max); len(got) != 1 {
		t.Errorf("after the move, Max sees %v", got)
	}
	_, err = own.RecordOwnAttendance(tokenOf(p.lea), attend)
	wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
	if res, err := own.RecordOwnAttendance(tokenOf(p.max), attend); err != nil || res.GetBooking().GetFirstName() != "ann" {
		t.Errorf("got %v, %v", res, err)
	}
	p.cancelBooking(moved)
	if got := list(p.max); len(got) != 0 {
		t.Errorf("after the cancellation, Max sees %v", got)
	}
}
