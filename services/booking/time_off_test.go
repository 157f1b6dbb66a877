package booking

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// timeOff asks for time off from and until a number of hours from now.
func (w *world) timeOff(who *bookingv1.StaffMember, from, until time.Duration, keep bool) (*bookingv1.TimeOff, error) {
	now := time.Now().Truncate(time.Second)
	resp, err := w.staffClient.CreateTimeOff(w.ctx, &bookingv1.CreateTimeOffRequest{
		StaffId: who.GetId(), StartsAt: timestamppb.New(now.Add(from)), EndsAt: timestamppb.New(now.Add(until)), KeepBookings: keep,
	})
	return resp.GetTimeOff(), err
}

func TestTimeOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ada, bo := w.member("Ada"), w.member("Bo")
	class := w.event(w.ctx, nil) // in an hour, for an hour
	w.assign(class, "staff", idOf[id.StaffMember](t, ada.GetId()).UUID(), 0)
	t.Run("time off during a class is refused, and nothing is stored (invariant 39)", func(t *testing.T) {
		_, err := w.timeOff(ada, 0, 5*time.Hour, false)
		f := wantFault(t, err, fault.Refused, model.ReasonStaffBusy)
		want := map[string]string{"staff_id": ada.GetId(), "event_date_id": class.GetDates()[0].GetId(), "conflicts": "1"}
		if diff := cmp.Diff(want, f.Meta); diff != "" {
			t.Error(diff)
		}
		if n := one[int64](w, `select count(*) from time_off`); n != 0 {
			t.Errorf("%d rows", n)
		}
	})
	t.Run("time off that only touches the class is accepted", func(t *testing.T) {
		starts := class.GetDates()[0].GetStartsAt().AsTime()
		for _, span := range [][2]time.Time{{starts.Add(-time.Hour), starts}, {starts.Add(time.Hour), starts.Add(2 * time.Hour)}} {
			_, err := w.staffClient.CreateTimeOff(w.ctx, &bookingv1.CreateTimeOffRequest{StaffId: ada.GetId(), StartsAt: timestamppb.New(span[0]), EndsAt: timestamppb.New(span[1])})
			if err != nil {
				t.Error(err)
			}
		}
	})
	t.Run("time off of somebody else is accepted", func(t *testing.T) {
		if _, err := w.timeOff(bo, 0, 5*time.Hour, false); err != nil {
			t.Error(err)
		}
	})
	t.Run("keep_bookings accepts time off during a class", func(t *testing.T) {
		if _, err := w.timeOff(ada, 0, 5*time.Hour, true); err != nil {
			t.Error(err)
		}
	})
	t.Run("an inactive assignment does not prevent time off", func(t *testing.T) {
		w.exec(`update assignments set active = false`)
		if _, err := w.timeOff(ada, 0, 5*time.Hour, false); err != nil {
			t.Error(err)
		}
		w.exec(`update assignments set active = true`)
	})
	t.Run("the fields are checked", func(t *testing.T) {
		now := time.Now().UTC().Truncate(time.Second)
		for _, c := range []struct {
			req  *bookingv1.CreateTimeOffRequest
			want string
		}{
			{&bookingv1.CreateTimeOffRequest{}, "staff_id required, starts_at required, ends_at required"},
			{&bookingv1.CreateTimeOffRequest{StaffId: "x", RoomId: "y", StartsAt: timestamppb.New(now), EndsAt: timestamppb.New(now)}, "room_id exclusive, ends_at min"},
			{&bookingv1.CreateTimeOffRequest{StaffId: "x", StartsAt: timestamppb.New(now), EndsAt: timestamppb.New(now.AddDate(2, 0, 0).Add(time.Second))}, "ends_at range"},
			{&bookingv1.CreateTimeOffRequest{StaffId: "x", StartsAt: timestamppb.New(now.Add(time.Millisecond)), EndsAt: timestamppb.New(now.Add(time.Hour))}, "starts_at precision"},
		} {
			_, err := w.staffClient.CreateTimeOff(w.ctx, c.req)
			if got := broken(t, err); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		}
	})
	t.Run("a person has at most 1000 times off to come", func(t *testing.T) {
		cy := w.member("Cy")
		w.exec(`insert into time_off (company_id, id, resource_id, kind, starts_at, ends_at, reason, created_at)
			select $1, gen_random_uuid(), $2, 'staff', now() + (n * 2 - 3) * interval '1 day', now() + (n * 2 - 2) * interval '1 day', '', now()
			from generate_series(1, $3::integer) n`, w.company, idOf[id.StaffMember](t, cy.GetId()), model.MaxTimeOff)
		if _, err := w.timeOff(cy, time.Hour, 2*time.Hour, false); err != nil { // the first of the others has ended
			t.Fatal(err)
		}
		_, err := w.timeOff(cy, time.Hour, 2*time.Hour, false)
		wantFault(t, err, fault.Refused, model.ReasonTooManyTimeOff)
		if _, err := w.timeOff(cy, -2*time.Hour, -time.Hour, false); err != nil {
			t.Errorf("in the past: %v", err)
		}
		if _, err := w.timeOff(bo, time.Hour, 2*time.Hour, false); err != nil {
			t.Errorf("of another person: %v", err)
		}
	})
	t.Run("time off is read, and deleted once", func(t *testing.T) {
		off, err := w.timeOff(bo, 10*time.Hour, 11*time.Hour, false)
		if err != nil {
			t.Fatal(err)
		}
		got, err := w.staffClient.GetTimeOff(w.ctx, &bookingv1.GetTimeOffRequest{Id: off.GetId()})
		if diff := cmp.Diff(off, got.GetTimeOff(), protocmp.Transform()); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
		if _, err := w.staffClient.DeleteTimeOff(w.ctx, &bookingv1.DeleteTimeOffRequest{Id: off.GetId()}); err != nil {
			t.Error(err)
		}
		_, err = w.staffClient.GetTimeOff(w.ctx, &bookingv1.GetTimeOffRequest{Id: off.GetId()})
		wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
		_, err = w.staffClient.DeleteTimeOff(w.ctx, &bookingv1.DeleteTimeOffRequest{Id: off.GetId()})
		wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
	})
}

func TestTimeOffList(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ada, studio := w.member("Ada"), w.room("Studio", 1)
	day := func(n int) *timestamppb.Timestamp {
		return timestamppb.New(time.Date(2030, 1, n, 0, 0, 0, 0, time.UTC))
	}
	for _, days := range [][2]int{{5, 8}, {1, 3}, {9, 10}} {
		for _, req := range []*bookingv1.CreateTimeOffRequest{{StaffId: ada.GetId()}, {RoomId: studio.GetId()}} {
			req.StartsAt, req.EndsAt, req.Reason = day(days[0]), day(days[1]), fmt.Sprint(days[0])
			if _, err := w.staffClient.CreateTimeOff(w.ctx, req); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		behaviour, want string
		req             *bookingv1.ListTimeOffRequest
	}{
		{"all time off is listed by start", "1 1 5 5 9 9 of 6", &bookingv1.ListTimeOffRequest{}},
		{"of a person", "1 5 9 of 3", &bookingv1.ListTimeOffRequest{StaffId: ada.GetId()}},
		{"of a room", "1 5 9 of 3", &bookingv1.ListTimeOffRequest{RoomId: studio.GetId()}},
		{"of somebody who does not exist", " of 0", &bookingv1.ListTimeOffRequest{StaffId: "staff_x"}},
		{"during a span", "5 of 1", &bookingv1.ListTimeOffRequest{StaffId: ada.GetId(), StartsFrom: day(3), StartsBefore: day(9)}},
		{"that began before a span", "5 9 of 2", &bookingv1.ListTimeOffRequest{StaffId: ada.GetId(), StartsFrom: day(7)}},
	} {
		t.Run(c.behaviour, func(t *testing.T) {
			var all []string
			for c.req.PageSize = 2; ; {
				resp, err := w.staffClient.ListTimeOff(w.ctx, c.req)
				if err != nil {
					t.Fatal(err)
				}
				for _, off := range resp.GetTimeOff() {
					all = append(all, off.GetReason())
				}
				if c.req.PageToken = resp.GetNextPageToken(); c.req.PageToken == "" {
					if got := fmt.Sprint(strings.Join(all, " "), " of ", resp.GetTotal()); got != c.want {
						t.Errorf("got %s, want %s", got, c.want)
					}
					return
				}
			}
		})
	}
}

func TestHolidays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	create := func(date, location string) (*bookingv1.Holiday, error) {
		resp, err := w.staffClient.CreateHoliday(w.ctx, &bookingv1.CreateHolidayRequest{Date: date, Name: "Closed", Location: location})
		return resp.GetHoliday(), err
	}
	var made []*bookingv1.Holiday
	for _, h := range [][2]string{{"2030-12-26", ""}, {"2030-12-25", "North"}, {"2030-12-25", ""}, {"2031-01-01", ""}, {"1900-01-01", ""}} {
		holiday, err := create(h[0], h[1])
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, holiday)
	}
	t.Run("a day is a holiday of a location once", func(t *testing.T) {
		_, err := create("2030-12-25", " North ")
		wantFault(t, err, fault.Refused, model.ReasonHolidayExists)
	})
	t.Run("a company has at most 1000", func(t *testing.T) {
		w.exec(`insert into holidays (company_id, id, date, name, location, created_at)
			select $1, gen_random_uuid(), '2100-01-01'::date + n, 'Many', '', now() from generate_series(1, $2::integer - 6) n`, w.company, model.MaxHolidays)
		last, err := create("2200-01-01", "")
		if err != nil {
			t.Fatal(err)
		}
		_, err = create("2200-01-02", "")
		wantFault(t, err, fault.Refused, model.ReasonTooManyHolidays)
		w.exec(`delete from holidays where name = 'Many' or id = $1`, idOf[id.Holiday](t, last.GetId()))
	})
	t.Run("the day must exist", func(t *testing.T) {
		for _, day := range []string{"2030-02-29", "2030-1-1", "0000-01-01", "tomorrow"} {
			_, err := create(day, "")
			if got := broken(t, err); got != "date format" {
				t.Errorf("%s: %s", day, got)
			}
		}
		_, err := w.staffClient.CreateHoliday(w.ctx, &bookingv1.CreateHolidayRequest{})
		if got := broken(t, err); got != "date required, name required" {
			t.Error(got)
		}
	})
	list := func(t *testing.T, from, to string) string {
		t.Helper()
		var days []string
		for token := ""; ; {
			resp, err := w.staffClient.ListHolidays(w.ctx, &bookingv1.ListHolidaysRequest{PageSize: 1, PageToken: token, From: from, To: to})
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range resp.GetHolidays() {
				days = append(days, h.GetDate())
			}
			if token = resp.GetNextPageToken(); token == "" {
				return fmt.Sprint(strings.Join(days, " "), " of ", resp.GetTotal())
			}
		}
	}
	t.Run("they are listed by day, a page at a time", func(t *testing.T) {
		if got := list(t, "", ""); got != "1900-01-01 2030-12-25 2030-12-25 2030-12-26 2031-01-01 of 5" {
			t.Error(got)
		}
	})
	t.Run("both bounds are included", func(t *testing.T) {
		if got := list(t, "2030-12-25", "2030-12-26"); got != "2030-12-25 2030-12-25 2030-12-26 of 3" {
			t.Error(got)
		}
	})
	t.Run("a bound that is not a day is refused", func(t *testing.T) {
		_, err := w.staffClient.ListHolidays(w.ctx, &bookingv1.ListHolidaysRequest{To: "x"})
		wantFault(t, err, fault.Invalid, fault.ReasonInvalidParameter)
	})
	t.Run("a holiday is read, and deleted once", func(t *testing.T) {
		got, err := w.staffClient.GetHoliday(w.ctx, &bookingv1.GetHolidayRequest{Id: made[0].GetId()})
		if diff := cmp.Diff(made[0], got.GetHoliday(), protocmp.Transform()); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
		if _, err := w.staffClient.DeleteHoliday(w.ctx, &bookingv1.DeleteHolidayRequest{Id: made[0].GetId()}); err != nil {
			t.Error(err)
		}
		_, err = w.staffClient.GetHoliday(w.ctx, &bookingv1.GetHolidayRequest{Id: made[0].GetId()})
		wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
		_, err = w.staffClient.DeleteHoliday(w.ctx, &bookingv1.DeleteHolidayRequest{Id: made[0].GetId()})
		wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
	})
}

func TestTimeOffWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ada := w.member("Ada")
	who := idOf[id.StaffMember](t, ada.GetId()).UUID()
	class := w.event(w.ctx, nil)
	done := make(chan error, 1)
	err := w.db.InTx(t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		if _, err := tx.Exec(ctx, `select from staff where id = $1 for no key update`, who); err != nil {
			return err
		}
		go func() {
			_, err := w.timeOff(ada, 0, 5*time.Hour, false)
			done <- err
		}()
		testkit.Eventually(t, time.Minute, func() error {
			if one[int64](w, `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`) == 0 {
				return errors.New("nobody waits for a lock")
			}
			return nil
		})
		_, err := tx.Exec(ctx, `insert into assignments (company_id, event_date_id, resource_id, kind, unit, position, taken_from, taken_until)
			select company_id, id, $1, 'staff', 0, 0, starts_at, starts_at + interval '1 hour' from event_dates`, who)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("time off waits for a writer who holds the person, and sees the new assignment (invariant 39)", func(t *testing.T) {
		f := wantFault(t, <-done, fault.Refused, model.ReasonStaffBusy)
		if f.Meta["event_date_id"] != class.GetDates()[0].GetId() {
			t.Errorf("got %v", f.Meta)
		}
	})
}
