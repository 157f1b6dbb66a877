package booking

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// member adds a person with a name.
func (w *world) member(name string) *bookingv1.StaffMember {
	w.t.Helper()
	resp, err := w.staffClient.CreateStaffMember(w.ctx, &bookingv1.CreateStaffMemberRequest{Name: name})
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.GetStaffMember()
}

// room adds a room with a number of units.
func (w *world) room(name string, units int32) *bookingv1.Room {
	w.t.Helper()
	resp, err := w.roomClient.CreateRoom(w.ctx, &bookingv1.CreateRoomRequest{Name: name, Capacity: units})
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.GetRoom()
}

// assign makes the first date of an event take the time of a staff member, or of a unit of a room.
func (w *world) assign(e *bookingv1.Event, kind string, resource id.UUID, unit int) {
	w.t.Helper()
	date, err := id.Parse[id.EventDate](e.GetDates()[0].GetId())
	if err != nil {
		w.t.Fatal(err)
	}
	w.exec(`insert into assignments (company_id, event_date_id, resource_id, kind, unit, position, taken_from, taken_until)
		select company_id, id, $2, $3, $4, 0, starts_at, starts_at + make_interval(mins => duration_minutes) from event_dates where id = $1`,
		date, resource, kind, unit)
}

// broken returns the fields of a fault and the rules that they break.
func broken(t testing.TB, err error) string {
	t.Helper()
	if !fault.Is(err, fault.Invalid) {
		t.Fatalf("got %v, want a fault of a field", err)
	}
	var all []string
	for _, f := range fault.From(err).Fields {
		all = append(all, f.Field+" "+f.Rule)
	}
	return strings.Join(all, ", ")
}

func TestStaff(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	resp, err := w.staffClient.CreateStaffMember(w.ctx, &bookingv1.CreateStaffMemberRequest{
		Name: " Ada Moon ", Email: "ada@example.org", PhotoUrl: "https://example.org/ada.jpg", Bio: "Physio.\nSince 2010.", Color: "#A1B2C3", Reference: "s1",
	})
	if err != nil {
		t.Fatal(err)
	}
	ada := resp.GetStaffMember()
	t.Run("a person is returned as it is stored", func(t *testing.T) {
		got, err := w.staffClient.GetStaffMember(w.ctx, &bookingv1.GetStaffMemberRequest{Id: ada.GetId()})
		if diff := cmp.Diff(ada, got.GetStaffMember(), protocmp.Transform()); err != nil || diff != "" {
			t.Error(err, diff)
		}
		if ada.GetName() != "Ada Moon" || ada.GetColor() != "#a1b2c3" || !ada.GetActive() || ada.GetVersion() != 1 {
			t.Errorf("got %v", ada)
		}
	})
	t.Run("every field is checked, and all faults are listed", func(t *testing.T) {
		_, err := w.staffClient.CreateStaffMember(w.ctx, &bookingv1.CreateStaffMemberRequest{Name: " ", Email: "ada", PhotoUrl: "http://example.org/x", Color: "red", Bio: "\x00"})
		if got := broken(t, err); got != "name required, email email, photo_url format, bio characters, color format" {
			t.Error(got)
		}
	})
	t.Run("a reference is unique", func(t *testing.T) {
		_, err := w.staffClient.CreateStaffMember(w.ctx, &bookingv1.CreateStaffMemberRequest{Name: "Bo", Reference: "s1"})
		if got := broken(t, err); got != "reference unique" {
			t.Error(got)
		}
	})
	t.Run("colours are chosen in turn, and repeat after twelve", func(t *testing.T) {
		colors := map[string]int{}
		for i := range 12 {
			colors[w.member(fmt.Sprint("P", i)).GetColor()]++
		}
		if len(colors) != 12 {
			t.Errorf("12 people have %d colours", len(colors))
		}
		if next := w.member("P12").GetColor(); colors[next] != 1 {
			t.Errorf("the next person has the colour %s, want one of the twelve", next)
		}
	})
	t.Run("a change keeps the other fields and increases the version", func(t *testing.T) {
		got, err := w.staffClient.UpdateStaffMember(w.ctx, &bookingv1.UpdateStaffMemberRequest{
			Id: ada.GetId(), Active: new(false), Email: new(""), ExpectedVersion: new(int64(1)),
		})
		want := proto.CloneOf(ada)
		want.Active, want.Email, want.Version, want.UpdatedAt = false, "", 2, got.GetStaffMember().GetUpdatedAt()
		if diff := cmp.Diff(want, got.GetStaffMember(), protocmp.Transform()); err != nil || diff != "" {
			t.Error(err, diff)
		}
	})
	t.Run("a change to the present values changes nothing", func(t *testing.T) {
		got, err := w.staffClient.UpdateStaffMember(w.ctx, &bookingv1.UpdateStaffMemberRequest{Id: ada.GetId(), Name: new("Ada Moon")})
		if err != nil || got.GetStaffMember().GetVersion() != 2 {
			t.Errorf("got %v, %v", got, err)
		}
	})
	t.Run("a change of an earlier version is refused", func(t *testing.T) {
		_, err := w.staffClient.UpdateStaffMember(w.ctx, &bookingv1.UpdateStaffMemberRequest{Id: ada.GetId(), Name: new("X"), ExpectedVersion: new(int64(1))})
		wantFault(t, err, fault.VersionMismatch, fault.ReasonVersionMismatch)
	})
	t.Run("a colour cannot be removed", func(t *testing.T) {
		_, err := w.staffClient.UpdateStaffMember(w.ctx, &bookingv1.UpdateStaffMemberRequest{Id: ada.GetId(), Color: new("")})
		if got := broken(t, err); got != "color required" {
			t.Error(got)
		}
	})
	t.Run("a retry with the key returns the first response", func(t *testing.T) {
		ctx := withKey(w.ctx, "staff")
		req := &bookingv1.CreateStaffMemberRequest{Name: "Once"}
		first, err := w.staffClient.CreateStaffMember(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		again, err := w.staffClient.CreateStaffMember(ctx, req)
		if diff := cmp.Diff(first, again, protocmp.Transform()); err != nil || diff != "" {
			t.Error(err, diff)
		}
		if n := one[int64](w, `select count(*) from staff where name = 'Once'`); n != 1 {
			t.Errorf("%d people", n)
		}
	})
}

func TestResourceLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec(`insert into staff (company_id, id, name, email, photo_url, bio, color, active, created_at, updated_at)
		select $1, gen_random_uuid(), 'p', '', '', '', '#000000', true, now(), now() from generate_series(1, $2 - 5)`, w.company, model.MaxResources)
	w.exec(`insert into rooms (company_id, id, name, kind, capacity, location, active, created_at, updated_at)
		select $1, gen_random_uuid(), 'r', 'room', 1, '', true, now(), now() from generate_series(1, $2)`, w.company, model.MaxResources)
	w.exec(`with made as (
			insert into events (company_id, id, title, description, type, status, timezone, location, created_at, updated_at, of_appointments, listed)
			select $1, gen_random_uuid(), 'x', '', 'appointment', 'published', 'UTC', '', now(), now(), true, false from generate_series(1, $2) returning id)
		insert into appointment_types (company_id, id, lengths, buffer_before_minutes, buffer_after_minutes, slot_minutes, active, created_at, updated_at)
		select $1, id, '{30}', 0, 0, 15, true, now(), now() from made`, w.company, model.MaxResources)
	t.Run("concurrent additions do not exceed the limit", func(t *testing.T) {
		var wg sync.WaitGroup
		errs := make([]error, 20)
		for i := range errs {
			wg.Go(func() {
				_, errs[i] = w.staffClient.CreateStaffMember(w.ctx, &bookingv1.CreateStaffMemberRequest{Name: "New"})
			})
		}
		wg.Wait()
		refused := 0
		for _, err := range errs {
			if err != nil {
				wantFault(t, err, fault.Refused, model.ReasonTooManyStaff)
				refused++
			}
		}
		if n := one[int64](w, `select count(*) from staff`); refused != 15 || n != model.MaxResources {
			t.Errorf("%d were refused, and the company has %d", refused, n)
		}
	})
	t.Run("a room beyond the limit is refused", func(t *testing.T) {
		_, err := w.roomClient.CreateRoom(w.ctx, &bookingv1.CreateRoomRequest{Name: "R"})
		wantFault(t, err, fault.Refused, model.ReasonTooManyRooms)
	})
	t.Run("an appointment type beyond the limit is refused, and leaves no event", func(t *testing.T) {
		_, err := w.typeClient.CreateAppointmentType(w.ctx, &bookingv1.CreateAppointmentTypeRequest{Title: "T", Lengths: []int32{30}})
		wantFault(t, err, fault.Refused, model.ReasonTooManyAppointmentTypes)
		if n := one[int64](w, `select count(*) from events`); n != model.MaxResources {
			t.Errorf("%d events", n)
		}
	})
}

func TestStaffList(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ada, _, cy := w.member("Ada"), w.member("Bo"), w.member("Cy")
	if _, err := w.staffClient.UpdateStaffMember(w.ctx, &bookingv1.UpdateStaffMemberRequest{Id: ada.GetId(), Active: new(false)}); err != nil {
		t.Fatal(err)
	}
	massage := w.newType(&bookingv1.CreateAppointmentTypeRequest{StaffIds: []string{cy.GetId(), ada.GetId()}})
	names := func(req *bookingv1.ListStaffRequest) string {
		t.Helper()
		var all []string
		for req.PageSize = 2; ; {
			resp, err := w.staffClient.ListStaff(w.ctx, req)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range resp.GetStaff() {
				all = append(all, m.GetName())
			}
			if req.PageToken = resp.GetNextPageToken(); req.PageToken == "" {
				return fmt.Sprint(strings.Join(all, " "), " of ", resp.GetTotal())
			}
		}
	}
	for _, tt := range []struct {
		behaviour, want string
		req             *bookingv1.ListStaffRequest
	}{
		{"people are ordered by creation", "Ada Bo Cy of 3", &bookingv1.ListStaffRequest{}},
		{"or in the reverse order", "Cy Bo Ada of 3", &bookingv1.ListStaffRequest{Order: bookingv1.ResourceOrder_RESOURCE_ORDER_CREATED_DESC}},
		{"or by their change", "Bo Cy Ada of 3", &bookingv1.ListStaffRequest{Order: bookingv1.ResourceOrder_RESOURCE_ORDER_UPDATED}},
		{"or by their change in the reverse order", "Ada Cy Bo of 3", &bookingv1.ListStaffRequest{Order: bookingv1.ResourceOrder_RESOURCE_ORDER_UPDATED_DESC}},
		{"active people alone", "Bo Cy of 2", &bookingv1.ListStaffRequest{Active: new(true)}},
		{"inactive people alone", "Ada of 1", &bookingv1.ListStaffRequest{Active: new(false)}},
		{"those who offer a type", "Ada Cy of 2", &bookingv1.ListStaffRequest{AppointmentTypeId: massage.GetId()}},
		{"nobody for a type that does not exist", " of 0", &bookingv1.ListStaffRequest{AppointmentTypeId: "apt_x"}},
		{"those changed since", "Cy Ada of 2", &bookingv1.ListStaffRequest{Order: bookingv1.ResourceOrder_RESOURCE_ORDER_UPDATED, UpdatedSince: cy.GetUpdatedAt()}},
	} {
		t.Run(tt.behaviour, func(t *testing.T) {
			if got := names(tt.req); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
	t.Run("a token of another order is refused", func(t *testing.T) {
		first, err := w.staffClient.ListStaff(w.ctx, &bookingv1.ListStaffRequest{PageSize: 1})
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.roomClient.ListRooms(w.ctx, &bookingv1.ListRoomsRequest{PageToken: first.GetNextPageToken()})
		wantFault(t, err, fault.Invalid, fault.ReasonInvalidParameter)
	})
}

func TestRooms(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	resp, err := w.roomClient.CreateRoom(w.ctx, &bookingv1.CreateRoomRequest{Name: "Sauna", Location: "North", Reference: "r1"})
	if err != nil {
		t.Fatal(err)
	}
	sauna := resp.GetRoom()
	t.Run("a room has one unit and is active by default", func(t *testing.T) {
		got, err := w.roomClient.GetRoom(w.ctx, &bookingv1.GetRoomRequest{Id: sauna.GetId()})
		if diff := cmp.Diff(sauna, got.GetRoom(), protocmp.Transform()); err != nil || diff != "" {
			t.Error(err, diff)
		}
		if sauna.GetCapacity() != 1 || sauna.GetKind() != bookingv1.RoomKind_ROOM_KIND_ROOM || !sauna.GetActive() {
			t.Errorf("got %v", sauna)
		}
	})
	t.Run("every field is checked", func(t *testing.T) {
		_, err := w.roomClient.CreateRoom(w.ctx, &bookingv1.CreateRoomRequest{Kind: 9, Capacity: 101, Location: "a\nb"})
		if got := broken(t, err); got != "name required, kind enum, capacity range, location characters" {
			t.Error(got)
		}
		_, err = w.roomClient.CreateRoom(w.ctx, &bookingv1.CreateRoomRequest{Name: "x", Reference: "r1"})
		if got := broken(t, err); got != "reference unique" {
			t.Error(got)
		}
	})
	t.Run("a change keeps the other fields and increases the version", func(t *testing.T) {
		got, err := w.roomClient.UpdateRoom(w.ctx, &bookingv1.UpdateRoomRequest{
			Id: sauna.GetId(), Kind: bookingv1.RoomKind_ROOM_KIND_EQUIPMENT, Capacity: new(int32(3)), ExpectedVersion: new(int64(1)),
		})
		want := proto.CloneOf(sauna)
		want.Kind, want.Capacity, want.Version, want.UpdatedAt = bookingv1.RoomKind_ROOM_KIND_EQUIPMENT, 3, 2, got.GetRoom().GetUpdatedAt()
		if diff := cmp.Diff(want, got.GetRoom(), protocmp.Transform()); err != nil || diff != "" {
			t.Error(err, diff)
		}
		_, err = w.roomClient.UpdateRoom(w.ctx, &bookingv1.UpdateRoomRequest{Id: sauna.GetId(), ExpectedVersion: new(int64(1))})
		wantFault(t, err, fault.VersionMismatch, fault.ReasonVersionMismatch)
	})
	t.Run("lists filter by active", func(t *testing.T) {
		w.room("Studio", 1)
		for _, c := range []struct {
			active *bool
			want   int64
		}{{nil, 2}, {new(true), 2}, {new(false), 0}} {
			got, err := w.roomClient.ListRooms(w.ctx, &bookingv1.ListRoomsRequest{Active: c.active})
			if err != nil || got.GetTotal() != c.want || int64(len(got.GetRooms())) != c.want {
				t.Errorf("got %v, %v", got, err)
			}
		}
	})
}

func TestFewerUnits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	studio := w.room("Studio", 3)
	which := idOf[id.Room](t, studio.GetId()).UUID()
	class := w.event(w.ctx, nil)
	w.assign(class, "room", which, 2)
	to := func(units int32) error {
		_, err := w.roomClient.UpdateRoom(w.ctx, &bookingv1.UpdateRoomRequest{Id: studio.GetId(), Capacity: &units})
		return err
	}
	t.Run("a unit that is not used can be removed", func(t *testing.T) {
		if err := to(2); err != nil {
			t.Error(err)
		}
	})
	t.Run("a unit that is used later cannot be removed", func(t *testing.T) {
		f := wantFault(t, to(1), fault.Refused, model.ReasonRoomBusy)
		want := map[string]string{"room_id": studio.GetId(), "event_date_id": class.GetDates()[0].GetId(), "conflicts": "1"}
		if diff := cmp.Diff(want, f.Meta); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("a unit that was used in the past can be removed", func(t *testing.T) {
		w.shift(3 * time.Hour)
		if err := to(1); err != nil {
			t.Error(err)
		}
	})
}

// TestResourceTenants checks that no identifier of another company is known (invariant 5).
func TestResourceTenants(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	them := w.as(id.New[id.Company]())
	ada, studio := w.member("Ada"), w.room("Studio", 1)
	massage := w.newType(&bookingv1.CreateAppointmentTypeRequest{StaffIds: []string{ada.GetId()}})
	off, err := w.timeOff(ada, time.Hour, 2*time.Hour, false)
	if err != nil {
		t.Fatal(err)
	}
	holiday, err := w.staffClient.CreateHoliday(w.ctx, &bookingv1.CreateHolidayRequest{Date: "2030-01-01", Name: "New Year"})
	if err != nil {
		t.Fatal(err)
	}
	span := func(req *bookingv1.CreateTimeOffRequest) *bookingv1.CreateTimeOffRequest {
		req.StartsAt, req.EndsAt = off.GetStartsAt(), off.GetEndsAt()
		return req
	}
	calls := map[string]func(ctx context.Context) error{
		"GetStaffMember":        callOf(w.staffClient.GetStaffMember, &bookingv1.GetStaffMemberRequest{Id: ada.GetId()}),
		"UpdateStaffMember":     callOf(w.staffClient.UpdateStaffMember, &bookingv1.UpdateStaffMemberRequest{Id: ada.GetId()}),
		"GetWorkingHours":       callOf(w.staffClient.GetWorkingHours, &bookingv1.GetWorkingHoursRequest{StaffId: ada.GetId()}),
		"SetWorkingHours":       callOf(w.staffClient.SetWorkingHours, &bookingv1.SetWorkingHoursRequest{StaffId: ada.GetId()}),
		"CreateTimeOff":         callOf(w.staffClient.CreateTimeOff, span(&bookingv1.CreateTimeOffRequest{StaffId: ada.GetId()})),
		"CreateTimeOff of room": callOf(w.staffClient.CreateTimeOff, span(&bookingv1.CreateTimeOffRequest{RoomId: studio.GetId()})),
		"GetTimeOff":            callOf(w.staffClient.GetTimeOff, &bookingv1.GetTimeOffRequest{Id: off.GetId()}),
		"GetHoliday":            callOf(w.staffClient.GetHoliday, &bookingv1.GetHolidayRequest{Id: holiday.GetHoliday().GetId()}),
		"DeleteTimeOff":         callOf(w.staffClient.DeleteTimeOff, &bookingv1.DeleteTimeOffRequest{Id: off.GetId()}),
		"DeleteHoliday":         callOf(w.staffClient.DeleteHoliday, &bookingv1.DeleteHolidayRequest{Id: holiday.GetHoliday().GetId()}),
		"GetRoom":               callOf(w.roomClient.GetRoom, &bookingv1.GetRoomRequest{Id: studio.GetId()}),
		"UpdateRoom":            callOf(w.roomClient.UpdateRoom, &bookingv1.UpdateRoomRequest{Id: studio.GetId()}),
		"GetAppointmentType":    callOf(w.typeClient.GetAppointmentType, &bookingv1.GetAppointmentTypeRequest{Id: massage.GetId()}),
		"UpdateAppointmentType": callOf(w.typeClient.UpdateAppointmentType, &bookingv1.UpdateAppointmentTypeRequest{Id: massage.GetId()}),
	}
	for name, call := range calls {
		t.Run(name+" of another company is NOT_FOUND", func(t *testing.T) {
			wantFault(t, call(them), fault.NotFound, fault.ReasonNotFound)
		})
	}
	t.Run("an appointment type cannot have staff and rooms of another company", func(t *testing.T) {
		_, err := w.typeClient.CreateAppointmentType(them, &bookingv1.CreateAppointmentTypeRequest{
			Title: "x", Lengths: []int32{30}, StaffIds: []string{ada.GetId()}, Rooms: []*bookingv1.RoomRequirement{{AnyOf: []string{studio.GetId()}}},
		})
		if got := broken(t, err); got != "staff_ids[0] exists, rooms[0].any_of[0] exists" {
			t.Error(got)
		}
	})
	t.Run("lists of another company are empty", func(t *testing.T) {
		staff, err1 := w.staffClient.ListStaff(them, &bookingv1.ListStaffRequest{})
		rooms, err2 := w.roomClient.ListRooms(them, &bookingv1.ListRoomsRequest{})
		types, err3 := w.typeClient.ListAppointmentTypes(them, &bookingv1.ListAppointmentTypesRequest{StaffId: ada.GetId()})
		offs, err4 := w.staffClient.ListTimeOff(them, &bookingv1.ListTimeOffRequest{StaffId: ada.GetId()})
		holidays, err5 := w.staffClient.ListHolidays(them, &bookingv1.ListHolidaysRequest{})
		total := staff.GetTotal() + rooms.GetTotal() + types.GetTotal() + offs.GetTotal() + holidays.GetTotal()
		if i := slices.IndexFunc([]error{err1, err2, err3, err4, err5}, func(err error) bool { return err != nil }); i >= 0 || total != 0 {
			t.Errorf("list %d failed, %d rows", i, total)
		}
	})
}
