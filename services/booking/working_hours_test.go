package booking

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

func shift(starts, ends string) *bookingv1.HoursRange {
	return &bookingv1.HoursRange{Starts: starts, Ends: ends}
}

func weekly(weekday int32, starts, ends string) *bookingv1.WeeklyHours {
	return &bookingv1.WeeklyHours{Weekday: weekday, Range: shift(starts, ends)}
}

// hoursText returns working hours as text.
func hoursText(h *bookingv1.WorkingHours) string {
	var all []string
	text := func(r *bookingv1.HoursRange) string { return r.GetStarts() + "-" + r.GetEnds() }
	for _, w := range h.GetWeekly() {
		all = append(all, "day"+strconv.Itoa(int(w.GetWeekday()))+" "+text(w.GetRange()))
	}
	for _, d := range h.GetDates() {
		line := d.GetDate()
		for _, r := range d.GetRanges() {
			line += " " + text(r)
		}
		all = append(all, line)
	}
	return strings.Join(all, "; ")
}

func TestWorkingHours(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ada := w.member("Ada")
	t.Run("a new person has no hours", func(t *testing.T) {
		got, err := w.staffClient.GetWorkingHours(w.ctx, &bookingv1.GetWorkingHoursRequest{StaffId: ada.GetId()})
		if h := got.GetHours(); err != nil || hoursText(h) != "" || h.GetVersion() != 1 || h.GetStaffId() != ada.GetId() {
			t.Errorf("got %v, %v", got, err)
		}
	})
	set := func(req *bookingv1.SetWorkingHoursRequest) (*bookingv1.WorkingHours, error) {
		req.StaffId = ada.GetId()
		resp, err := w.staffClient.SetWorkingHours(w.ctx, req)
		return resp.GetHours(), err
	}
	north := shift("08:00", "12:00")
	north.Location, north.Timezone = " North ", "America/New_York"
	first, err := set(&bookingv1.SetWorkingHoursRequest{
		Weekly: []*bookingv1.WeeklyHours{weekly(7, "22:00", "06:00"), weekly(1, "13:00", "24:00"), weekly(1, "09:00", "12:30"), {Weekday: 2, Range: north}},
		Dates: []*bookingv1.DateHours{
			{Date: "2030-12-31", Ranges: []*bookingv1.HoursRange{shift("14:00", "14:00"), shift("00:00", "24:00"), shift("09:00", "00:00")}},
			{Date: "2030-12-25"},
		},
		ExpectedVersion: new(int64(1)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("hours are returned in order, with the defaults", func(t *testing.T) {
		want := "day1 09:00-12:30; day1 13:00-24:00; day2 08:00-12:00; day7 22:00-06:00; 2030-12-25; 2030-12-31 00:00-24:00 09:00-24:00 14:00-14:00"
		if got := hoursText(first); got != want {
			t.Errorf("got %s", got)
		}
		if r := first.GetWeekly()[0].GetRange(); r.GetTimezone() != "Europe/London" || r.GetLocation() != "" {
			t.Errorf("got %v", r)
		}
		if r := first.GetWeekly()[2].GetRange(); r.GetTimezone() != "America/New_York" || r.GetLocation() != "North" {
			t.Errorf("got %v", r)
		}
	})
	t.Run("a change of the hours raises the version of the person", func(t *testing.T) {
		m, err := w.staffClient.GetStaffMember(w.ctx, &bookingv1.GetStaffMemberRequest{Id: ada.GetId()})
		if err != nil || first.GetVersion() != 2 || m.GetStaffMember().GetVersion() != 2 || !first.GetUpdatedAt().AsTime().Equal(m.GetStaffMember().GetUpdatedAt().AsTime()) {
			t.Errorf("got %v and %v, %v", first, m, err)
		}
	})
	t.Run("the hours that a call returned can be set again, and change nothing", func(t *testing.T) {
		read, err := w.staffClient.GetWorkingHours(w.ctx, &bookingv1.GetWorkingHoursRequest{StaffId: ada.GetId()})
		if diff := cmp.Diff(first, read.GetHours(), protocmp.Transform()); err != nil || diff != "" {
			t.Fatal(err, diff)
		}
		again, err := set(&bookingv1.SetWorkingHoursRequest{Weekly: first.GetWeekly(), Dates: first.GetDates(), ExpectedVersion: new(int64(2))})
		if diff := cmp.Diff(first, again, protocmp.Transform()); err != nil || diff != "" {
			t.Error(err, diff)
		}
	})
	t.Run("a change of an earlier version is refused", func(t *testing.T) {
		_, err := set(&bookingv1.SetWorkingHoursRequest{ExpectedVersion: new(int64(1))})
		wantFault(t, err, fault.VersionMismatch, fault.ReasonVersionMismatch)
	})
	t.Run("all faults are reported with their place", func(t *testing.T) {
		_, err := set(&bookingv1.SetWorkingHoursRequest{
			Weekly: []*bookingv1.WeeklyHours{weekly(0, "24:00", "24:01"), weekly(8, "9:00", "1200"), {Weekday: 1}},
			Dates: []*bookingv1.DateHours{
				{Date: "2030-02-30"}, {Date: "2030-01-01"},
				{Date: "2030-01-01", Ranges: []*bookingv1.HoursRange{{Starts: "09:60", Ends: "-1:00", Timezone: "Local"}}},
			},
		})
		want := []string{
			"weekly[0].weekday range", "weekly[0].range.starts format", "weekly[0].range.ends format",
			"weekly[1].weekday range", "weekly[1].range.starts format", "weekly[1].range.ends format",
			"weekly[2].range.starts required", "weekly[2].range.ends required",
			"dates[0].date format", "dates[2].date unique", "dates[2].ranges[0].timezone timezone",
			"dates[2].ranges[0].starts format", "dates[2].ranges[0].ends format",
		}
		if diff := cmp.Diff(want, strings.Split(broken(t, err), ", ")); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("the hours are replaced as a whole", func(t *testing.T) {
		got, err := set(&bookingv1.SetWorkingHoursRequest{Weekly: []*bookingv1.WeeklyHours{weekly(3, "10:00", "11:00")}})
		if err != nil || hoursText(got) != "day3 10:00-11:00" || got.GetVersion() != 3 {
			t.Errorf("got %v, %v", got, err)
		}
		if got, err = set(&bookingv1.SetWorkingHoursRequest{}); err != nil || hoursText(got) != "" || got.GetVersion() != 4 {
			t.Errorf("got %v, %v", got, err)
		}
	})
}

func TestListWorkingHours(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ada, bo, cy := w.member("Ada"), w.member("Bo"), w.member("Cy")
	set := func(who *bookingv1.StaffMember, starts string, days ...string) *bookingv1.WorkingHours {
		req := &bookingv1.SetWorkingHoursRequest{StaffId: who.GetId(), Weekly: []*bookingv1.WeeklyHours{weekly(1, starts, "17:00"), weekly(2, starts, "18:00")}}
		for _, day := range days {
			req.Dates = append(req.Dates, &bookingv1.DateHours{Date: day, Ranges: []*bookingv1.HoursRange{shift("10:00", "11:00"), shift("12:00", "13:00")}})
		}
		resp, err := w.staffClient.SetWorkingHours(w.ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		return resp.GetHours()
	}
	first := set(ada, "09:00", "2030-01-01", "2030-01-02", "2030-01-04")
	set(bo, "08:00", "2029-12-31", "2030-01-03")
	list := func(req *bookingv1.ListWorkingHoursRequest) ([]*bookingv1.WorkingHours, error) {
		resp, err := w.staffClient.ListWorkingHours(w.ctx, req)
		return resp.GetHours(), err
	}
	everybody := []string{cy.GetId(), bo.GetId(), ada.GetId(), ada.GetId(), w.room("Studio", 1).GetId(), "staff_unknown"}
	t.Run("the hours of people are listed by person, with the exceptions of the days", func(t *testing.T) {
		got, err := list(&bookingv1.ListWorkingHoursRequest{StaffIds: everybody, From: "2030-01-02", To: "2030-01-03"})
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{
			ada.GetId(): "day1 09:00-17:00; day2 09:00-18:00; 2030-01-02 10:00-11:00 12:00-13:00",
			bo.GetId():  "day1 08:00-17:00; day2 08:00-18:00; 2030-01-03 10:00-11:00 12:00-13:00",
			cy.GetId():  "",
		}
		found, previous := map[string]string{}, ""
		for _, h := range got {
			if h.GetStaffId() <= previous {
				t.Errorf("%s is after %s", h.GetStaffId(), previous)
			}
			previous = h.GetStaffId()
			found[h.GetStaffId()] = hoursText(h)
		}
		if diff := cmp.Diff(want, found); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("the hours of one person are those of the person", func(t *testing.T) {
		got, err := list(&bookingv1.ListWorkingHoursRequest{StaffIds: []string{ada.GetId()}, From: "2029-12-01", To: "2030-01-31"})
		if diff := cmp.Diff([]*bookingv1.WorkingHours{first}, got, protocmp.Transform()); err != nil || diff != "" {
			t.Error(err, diff)
		}
	})
	t.Run("people of another company are not listed", func(t *testing.T) {
		resp, err := w.staffClient.ListWorkingHours(w.as(id.New[id.Company]()), &bookingv1.ListWorkingHoursRequest{StaffIds: everybody, From: "2030-01-02", To: "2030-01-03"})
		if err != nil || len(resp.GetHours()) != 0 {
			t.Errorf("got %v, %v", resp, err)
		}
	})
	for want, req := range map[string]*bookingv1.ListWorkingHoursRequest{
		"staff_ids required": {},
		"from format":        {StaffIds: everybody, From: "2030-02-30", To: "today"},
		"to required":        {StaffIds: everybody, From: "2030-01-01"},
		"to range":           {StaffIds: everybody, From: "2030-01-01", To: "2030-03-04"},
	} {
		t.Run("reports "+want, func(t *testing.T) {
			_, err := list(req)
			if got := broken(t, err); got != want {
				t.Error(got)
			}
		})
	}
	t.Run("reports a day before the first one", func(t *testing.T) {
		_, err := list(&bookingv1.ListWorkingHoursRequest{StaffIds: everybody, From: "2030-01-02", To: "2030-01-01"})
		if got := broken(t, err); got != "to range" {
			t.Error(got)
		}
	})
}
