package booking

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// teacher adds an active staff member.
func (w *world) teacher(name string) id.StaffMember {
	w.t.Helper()
	staff := id.New[id.StaffMember]()
	w.exec(`insert into staff (company_id, id, name, email, photo_url, bio, color, active, created_at, updated_at)
		values ($1, $2, $3, '', '', '', '#336699', true, now(), now())`, w.company, staff, name)
	return staff
}

// studio adds an active room with units.
func (w *world) studio(name string, units int) id.Room {
	w.t.Helper()
	room := id.New[id.Room]()
	w.exec(`insert into rooms (company_id, id, name, kind, capacity, location, active, created_at, updated_at)
		values ($1, $2, $3, 'room', $4, '', true, now(), now())`, w.company, room, name, units)
	return room
}

// away gives a staff member or a room time off.
func (w *world) away(resource id.UUID, kind string, from, until time.Time) {
	w.t.Helper()
	w.exec(`insert into time_off (company_id, id, resource_id, kind, starts_at, ends_at, reason, created_at)
		values ($1, gen_random_uuid(), $2, $3, $4, $5, '', now())`, w.company, resource, kind, from, until)
}

// with returns who teaches and where.
func with(of ...fmt.Stringer) *bookingv1.StaffAndRooms {
	out := &bookingv1.StaffAndRooms{}
	for _, one := range of {
		switch one.(type) {
		case id.Room:
			out.RoomIds = append(out.RoomIds, one.String())
		default:
			out.StaffIds = append(out.StaffIds, one.String())
		}
	}
	return out
}

// class creates a class with one date of an hour for each offset from noon of the next day.
func (w *world) class(who *bookingv1.StaffAndRooms, offsets ...time.Duration) *bookingv1.Event {
	w.t.Helper()
	return w.createEvent(w.ctx, classOf(who, offsets...))
}

func classOf(who *bookingv1.StaffAndRooms, offsets ...time.Duration) *bookingv1.CreateEventRequest {
	req := &bookingv1.CreateEventRequest{Title: "Yoga", StaffAndRooms: who}
	for _, offset := range offsets {
		req.Dates = append(req.Dates, &bookingv1.NewEventDate{StartsAt: timestamppb.New(noon().Add(offset)), DurationMinutes: 60})
	}
	return req
}

// noon returns noon of the next day but one. It stays the same until the tests end, because a test that runs over
// midnight needs one day.
var noon = sync.OnceValue(func() time.Time { return time.Now().UTC().Truncate(24 * time.Hour).Add(60 * time.Hour) })

// whoAndWhere describes the staff and rooms of a date.
func whoAndWhere(d *bookingv1.EventDate) string {
	var parts []string
	for _, s := range d.GetStaff() {
		text := s.GetStaff().GetName()
		if s.GetSubstitutesForId() != "" {
			text += " for another"
		}
		parts = append(parts, text)
	}
	for _, r := range d.GetRooms() {
		parts = append(parts, fmt.Sprintf("%s %d", r.GetName(), r.GetUnit()))
	}
	return strings.Join(parts, ", ")
}

func (w *world) getDate(which string) *bookingv1.ScheduledDate {
	w.t.Helper()
	resp, err := w.events.GetEventDate(w.ctx, &bookingv1.GetEventDateRequest{Id: which})
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.GetDate()
}

// staff changes who teaches a date.
func (w *world) staff(date string, who *bookingv1.StaffAndRooms) (*bookingv1.UpdateEventDateResponse, error) {
	return w.events.UpdateEventDate(w.ctx, &bookingv1.UpdateEventDateRequest{Date: &bookingv1.EventDateChange{Id: date, StaffAndRooms: who}})
}

// wantShown checks the staff and rooms of dates, in their order.
func (w *world) wantShown(e *bookingv1.Event, want ...string) {
	w.t.Helper()
	var got []string
	for _, d := range e.GetDates() {
		got = append(got, whoAndWhere(w.getDate(d.GetId()).GetDate()))
	}
	if !slices.Equal(got, want) {
		w.t.Errorf("got %q, want %q", got, want)
	}
}

// wantBusy checks a refusal and its metadata.
func wantBusy(t *testing.T, err error, reason string, meta map[string]string) {
	t.Helper()
	f := wantFault(t, err, fault.Refused, reason)
	for key, want := range meta {
		if f.Meta[key] != want {
			t.Errorf("%s is %q, want %q", key, f.Meta[key], want)
		}
	}
}

func sequence(w *world, date string) int32 {
	return one[int32](w, `select sequence from event_dates where id = $1`, idOf[id.EventDate](w.t, date))
}

func TestStaffAndRoomsOfClasses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann, bob, hall := w.teacher("Ann"), w.teacher("Bob"), w.studio("Hall", 2)

	t.Run("every date of a new class has its staff and the lowest free unit of its rooms", func(t *testing.T) {
		first := w.class(with(ann, hall), 0, 24*time.Hour)
		w.wantShown(first, "Ann, Hall 1", "Ann, Hall 1")
		w.wantShown(w.class(with(bob, hall), 30*time.Minute, 2*time.Hour), "Bob, Hall 2", "Bob, Hall 1")
		read := w.getEvent(first.GetId())
		if !proto.Equal(read, first) || !proto.Equal(read.GetStaffAndRooms(), with(ann, hall)) {
			t.Errorf("read %v\nwant %v", read, first)
		}
		list, err := w.events.ListEventDates(w.ctx, &bookingv1.ListEventDatesRequest{EventId: first.GetId()})
		if err != nil || len(list.GetDates()) != 2 || whoAndWhere(list.GetDates()[1].GetDate()) != "Ann, Hall 1" {
			t.Errorf("listed %v, %v", list, err)
		}
	})
	t.Run("refuses a class whose teacher has another date at the time, and stores nothing", func(t *testing.T) {
		cat := w.teacher("Cat")
		other := w.class(with(cat), 0).GetDates()[0]
		before := one[int64](w, `select count(*) from events`)
		_, err := w.events.CreateEvent(w.ctx, classOf(with(w.teacher("Flo"), cat), 48*time.Hour, 59*time.Minute))
		wantBusy(t, err, model.ReasonStaffBusy, map[string]string{
			"staff_id": cat.String(), "event_date_id": other.GetId(), "why": "staff_busy", "starts_at": noon().Add(59 * time.Minute).Format(time.RFC3339),
		})
		if one[int64](w, `select count(*) from events`) != before {
			t.Error("an event was stored")
		}
		w.class(with(cat), time.Hour, -time.Hour) // right after and before
	})
	t.Run("refuses a room whose units are all taken", func(t *testing.T) {
		studio := w.studio("Studio", 2)
		one := w.class(with(studio), 0).GetDates()[0]
		w.class(with(studio), 30*time.Minute)
		_, err := w.events.CreateEvent(w.ctx, classOf(with(studio), 45*time.Minute))
		wantBusy(t, err, model.ReasonRoomBusy, map[string]string{"room_id": studio.String(), "event_date_id": one.GetId(), "why": "room_busy"})
	})
	t.Run("refuses dates of one request that overlap", func(t *testing.T) {
		dan := w.teacher("Dan")
		_, err := w.events.CreateEvent(w.ctx, classOf(with(dan), 0, 30*time.Minute))
		wantBusy(t, err, model.ReasonStaffBusy, map[string]string{"staff_id": dan.String(), "event_date_id": "", "starts_at": noon().Add(30 * time.Minute).Format(time.RFC3339)})
		w.wantShown(w.class(with(w.studio("Gym", 2)), 0, 30*time.Minute), "Gym 1", "Gym 2")
	})
	t.Run("refuses time off, people who are not active, and those who do not exist", func(t *testing.T) {
		eve, den := w.teacher("Eve"), w.studio("Den", 3)
		w.away(eve.UUID(), "staff", noon().Add(50*time.Minute), noon().Add(2*time.Hour))
		w.away(den.UUID(), "room", noon().Add(50*time.Minute), noon().Add(2*time.Hour))
		_, err := w.events.CreateEvent(w.ctx, classOf(with(eve), 0))
		wantBusy(t, err, model.ReasonStaffBusy, map[string]string{"why": "time_off", "staff_id": eve.String()})
		_, err = w.events.CreateEvent(w.ctx, classOf(with(den), 0))
		wantBusy(t, err, model.ReasonRoomBusy, map[string]string{"why": "time_off", "room_id": den.String()})
		w.class(with(eve, den), -10*time.Minute)
		w.exec(`update staff set active = false where id = $1`, eve)
		_, err = w.events.CreateEvent(w.ctx, classOf(with(eve), 24*time.Hour))
		wantBusy(t, err, model.ReasonStaffBusy, map[string]string{"why": "inactive"})
		for field, who := range map[string]*bookingv1.StaffAndRooms{
			"staff_and_rooms.staff_ids[1]": with(ann, id.New[id.StaffMember]()), "staff_and_rooms.room_ids[0]": with(id.New[id.Room]()),
			"staff_and_rooms.staff_ids[0]": {StaffIds: []string{hall.String()}},
		} {
			_, err := w.events.CreateEvent(w.ctx, classOf(who, 99*time.Hour))
			if f := wantFault(t, err, fault.Invalid, fault.ReasonValidation); f.Fields[0].Field != field || f.Fields[0].Rule != "exists" {
				t.Errorf("got %v, want %s", f.Fields, field)
			}
		}
		_, err = w.events.CreateEvent(w.ctx, classOf(with(ann, ann), 99*time.Hour))
		if f := wantFault(t, err, fault.Invalid, fault.ReasonValidation); f.Fields[0].Field != "staff_and_rooms.staff_ids[1]" || f.Fields[0].Rule != "unique" {
			t.Errorf("got %v", f.Fields)
		}
	})
	t.Run("another company's staff do not exist", func(t *testing.T) {
		other := id.New[id.Company]()
		_, err := w.events.CreateEvent(w.as(other), classOf(with(ann), 300*time.Hour))
		if f := wantFault(t, err, fault.Invalid, fault.ReasonValidation); f.Fields[0].Field != "staff_and_rooms.staff_ids[0]" || f.Fields[0].Rule != "exists" {
			t.Errorf("got %v", f.Fields)
		}
	})
	t.Run("callers with catalog:read see rooms and no staff", func(t *testing.T) {
		e := w.class(with(w.teacher("Kim"), w.studio("Loft", 1)), 0)
		ctx := bearer(t.Context(), w.issuer.Client(w.company, "catalog:read"))
		date, err := w.events.GetEventDate(ctx, &bookingv1.GetEventDateRequest{Id: e.GetDates()[0].GetId()})
		if err != nil || whoAndWhere(date.GetDate().GetDate()) != "Loft 1" {
			t.Errorf("got %v, %v", date, err)
		}
		read, err := w.events.GetEvent(ctx, &bookingv1.GetEventRequest{Id: e.GetId()})
		if err != nil || len(read.GetEvent().GetStaffAndRooms().GetStaffIds()) != 0 {
			t.Errorf("got %v, %v", read, err)
		}
	})
	w.verify()
}

func TestAddedAndMovedDatesOfClasses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	t.Run("added dates have the staff and rooms of the event", func(t *testing.T) {
		ann, hall := w.teacher("Ann"), w.studio("Hall", 1)
		e := w.class(with(ann, hall), 0)
		added, err := w.events.AddEventDates(w.ctx, &bookingv1.AddEventDatesRequest{EventId: e.GetId(), Dates: []*bookingv1.NewEventDate{{StartsAt: timestamppb.New(noon().Add(2 * time.Hour))}}})
		if err != nil || whoAndWhere(added.GetDates()[0]) != "Ann, Hall 1" || whoAndWhere(added.GetScheduled().GetDate()) != "Ann, Hall 1" {
			t.Fatalf("got %v, %v", added, err)
		}
		_, err = w.events.AddEventDates(w.ctx, &bookingv1.AddEventDatesRequest{EventId: e.GetId(), Dates: []*bookingv1.NewEventDate{{StartsAt: timestamppb.New(noon().Add(90 * time.Minute))}}})
		wantBusy(t, err, model.ReasonStaffBusy, map[string]string{"event_date_id": added.GetDates()[0].GetId()})
		got := w.updateEvent(&bookingv1.UpdateEventRequest{Id: e.GetId(), Dates: []*bookingv1.EventDateChange{{StartsAt: timestamppb.New(noon().Add(5 * time.Hour))}}})
		w.wantShown(got, "Ann, Hall 1", "Ann, Hall 1", "Ann, Hall 1")
	})
	t.Run("a moved date takes its staff along, and another unit if its own is taken", func(t *testing.T) {
		ann, hall := w.teacher("Ann"), w.studio("Hall", 2)
		e := w.class(with(ann, hall), 0)
		other := w.class(with(hall), 2*time.Hour)
		moved, err := w.events.UpdateEventDate(w.ctx, &bookingv1.UpdateEventDateRequest{Date: &bookingv1.EventDateChange{Id: e.GetDates()[0].GetId(), StartsAt: timestamppb.New(noon().Add(150 * time.Minute))}})
		if err != nil || whoAndWhere(moved.GetDate()) != "Ann, Hall 2" || whoAndWhere(moved.GetScheduled().GetDate()) != "Ann, Hall 2" {
			t.Fatalf("got %v, %v", moved, err)
		}
		w.wantShown(other, "Hall 1")
		_, err = w.events.CreateEvent(w.ctx, classOf(with(ann), 3*time.Hour))
		wantBusy(t, err, model.ReasonStaffBusy, nil)
		w.class(with(ann), 0) // its old time
	})
	t.Run("refuses to move or lengthen a date into another one of its teacher", func(t *testing.T) {
		ann := w.teacher("Ann")
		e, other := w.class(with(ann), 0), w.class(with(ann), 2*time.Hour)
		_, err := w.events.UpdateEventDate(w.ctx, &bookingv1.UpdateEventDateRequest{Date: &bookingv1.EventDateChange{Id: e.GetDates()[0].GetId(), DurationMinutes: new(int32(121))}})
		wantBusy(t, err, model.ReasonStaffBusy, map[string]string{"event_date_id": other.GetDates()[0].GetId()})
		_, err = w.events.UpdateEvent(w.ctx, &bookingv1.UpdateEventRequest{Id: e.GetId(), OnlyDate: &bookingv1.EventDateChange{DurationMinutes: new(int32(121))}})
		wantBusy(t, err, model.ReasonStaffBusy, map[string]string{"event_date_id": other.GetDates()[0].GetId()})
		if _, err = w.events.UpdateEventDate(w.ctx, &bookingv1.UpdateEventDateRequest{Date: &bookingv1.EventDateChange{Id: e.GetDates()[0].GetId(), DurationMinutes: new(int32(120))}}); err != nil {
			t.Error(err)
		}
	})
	t.Run("dates of an event can swap their times, and the assignments follow", func(t *testing.T) {
		ann := w.teacher("Ann")
		e := w.class(with(ann), 0, 30*time.Hour)
		first, second := e.GetDates()[0], e.GetDates()[1]
		w.updateEvent(&bookingv1.UpdateEventRequest{Id: e.GetId(), Dates: []*bookingv1.EventDateChange{
			{Id: first.GetId(), StartsAt: second.GetStartsAt()}, {Id: second.GetId(), StartsAt: first.GetStartsAt()},
		}})
		if got := one[time.Time](w, `select taken_from from assignments where event_date_id = $1`, idOf[id.EventDate](t, first.GetId())); !got.Equal(second.GetStartsAt().AsTime()) {
			t.Errorf("the assignment is at %s", got)
		}
		if sequence(w, first.GetId()) != 1 {
			t.Errorf("the sequence is %d", sequence(w, first.GetId()))
		}
	})
	t.Run("a change of capacities moves nothing and leaves the sequence", func(t *testing.T) {
		e := w.class(with(w.teacher("Ann")), 0, 30*time.Hour)
		w.updateEvent(&bookingv1.UpdateEventRequest{Id: e.GetId(), OnlyDate: &bookingv1.EventDateChange{Capacity: new(int32(5))}})
		for _, d := range e.GetDates() {
			if sequence(w, d.GetId()) != 0 {
				t.Errorf("the sequence is %d", sequence(w, d.GetId()))
			}
		}
	})
	t.Run("a date of a person who is no longer active can move", func(t *testing.T) {
		ann := w.teacher("Ann")
		e := w.class(with(ann), 0)
		w.exec(`update staff set active = false where id = $1`, ann)
		if _, err := w.events.UpdateEventDate(w.ctx, &bookingv1.UpdateEventDateRequest{Date: &bookingv1.EventDateChange{Id: e.GetDates()[0].GetId(), StartsAt: timestamppb.New(noon().Add(time.Minute))}}); err != nil {
			t.Error(err)
		}
	})
	t.Run("a cancelled date frees its teacher and still shows who had it", func(t *testing.T) {
		ann, bob := w.teacher("Ann"), w.teacher("Bob")
		e := w.class(with(ann), 0)
		date := e.GetDates()[0].GetId()
		if _, err := w.staff(date, with(bob)); err != nil {
			t.Fatal(err)
		}
		res, err := w.events.CancelEventDate(w.ctx, &bookingv1.CancelEventDateRequest{Id: date})
		if err != nil || whoAndWhere(res.GetDate()) != "Bob for another" || whoAndWhere(res.GetScheduled().GetDate()) != "Bob for another" {
			t.Fatalf("got %v, %v", res, err)
		}
		w.wantShown(e, "Bob for another")
		w.class(with(ann, bob), 0)
		if again, err := w.staff(date, with(bob)); err != nil || whoAndWhere(again.GetDate()) != "Bob for another" {
			t.Errorf("got %v, %v", again, err)
		}
		_, err = w.staff(date, with(ann))
		wantFault(t, err, fault.Refused, model.ReasonEventCancelled)
	})
	t.Run("a cancelled and a deleted event free their teachers", func(t *testing.T) {
		ann := w.teacher("Ann")
		e := w.class(with(ann), 0, 20*time.Hour)
		if _, err := w.events.CancelEvent(w.ctx, &bookingv1.CancelEventRequest{Id: e.GetId()}); err != nil {
			t.Fatal(err)
		}
		e = w.class(with(ann), 0, 20*time.Hour)
		if _, err := w.events.DeleteEvent(w.ctx, &bookingv1.DeleteEventRequest{Id: e.GetId()}); err != nil {
			t.Fatal(err)
		}
		w.class(with(ann), 0, 20*time.Hour)
	})
	w.verify()
}
