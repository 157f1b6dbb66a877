package booking

import (
	"context"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// announcedDate returns the last event_date_updated.
func (w *world) announcedDate() *bookingv1.EventDateUpdated {
	w.t.Helper()
	payload := one[[]byte](w, `select payload from outbox where subject = $1 order by id desc limit 1`, subjectDateUpdated)
	var e bookingv1.EventDateUpdated
	if err := proto.Unmarshal(payload, &e); err != nil {
		w.t.Fatal(err)
	}
	return &e
}

func TestSubstitutions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	t.Run("a substitute takes the date, and the person who is replaced is free", func(t *testing.T) {
		ann, bob, hall := w.teacher("Ann"), w.teacher("Bob"), w.studio("Hall", 1)
		e := w.class(with(ann, hall), 0)
		date := e.GetDates()[0].GetId()
		res, err := w.staff(date, with(bob, hall))
		if err != nil || whoAndWhere(res.GetDate()) != "Bob for another, Hall 1" || res.GetDate().GetStaff()[0].GetSubstitutesForId() != ann.String() {
			t.Fatalf("got %v, %v", res, err)
		}
		if res.GetScheduled().GetVersion() != 2 || sequence(w, date) != 1 {
			t.Errorf("version %d, sequence %d", res.GetScheduled().GetVersion(), sequence(w, date))
		}
		event := w.announcedDate()
		if whoAndWhere(event.GetPrevious().GetDate()) != "Ann, Hall 1" || whoAndWhere(event.GetScheduled().GetDate()) != "Bob for another, Hall 1" || whoAndWhere(event.GetDate()) != "Bob for another, Hall 1" {
			t.Errorf("published %v", event)
		}
		own := w.class(with(ann), 0)
		_, err = w.staff(date, with(ann, hall))
		wantBusy(t, err, model.ReasonStaffBusy, map[string]string{"staff_id": ann.String(), "event_date_id": own.GetDates()[0].GetId()})
		if _, err := w.events.DeleteEvent(w.ctx, &bookingv1.DeleteEventRequest{Id: own.GetId()}); err != nil {
			t.Fatal(err)
		}
		res, err = w.staff(date, with(ann, hall))
		if err != nil || whoAndWhere(res.GetDate()) != "Ann, Hall 1" || sequence(w, date) != 2 {
			t.Fatalf("got %v, %v", res, err)
		}
		w.class(with(bob), 0)
	})
	t.Run("several substitutes replace those who are missing, in their order", func(t *testing.T) {
		ann, bob, cat, dan := w.teacher("Ann"), w.teacher("Bob"), w.teacher("Cat"), w.teacher("Dan")
		date := w.class(with(ann, bob), 0).GetDates()[0].GetId()
		res, err := w.staff(date, with(cat, bob, dan))
		if err != nil || whoAndWhere(res.GetDate()) != "Cat for another, Bob, Dan" || res.GetDate().GetStaff()[0].GetSubstitutesForId() != ann.String() {
			t.Fatalf("got %v, %v", res, err)
		}
		res, err = w.staff(date, with(cat, dan))
		if err != nil || res.GetDate().GetStaff()[0].GetSubstitutesForId() != ann.String() || res.GetDate().GetStaff()[1].GetSubstitutesForId() != bob.String() {
			t.Fatalf("got %v, %v", res, err)
		}
		res, err = w.staff(date, with())
		if err != nil || whoAndWhere(res.GetDate()) != "" {
			t.Fatalf("got %v, %v", res, err)
		}
	})
	t.Run("the same staff and rooms again change nothing", func(t *testing.T) {
		ann, hall := w.teacher("Ann"), w.studio("Hall", 1)
		date := w.class(with(ann, hall), 0).GetDates()[0].GetId()
		before := w.published(subjectDateUpdated)
		res, err := w.staff(date, with(ann, hall))
		if err != nil || res.GetScheduled().GetVersion() != 1 || w.published(subjectDateUpdated) != before || sequence(w, date) != 0 {
			t.Errorf("got %v, %v", res, err)
		}
	})
	t.Run("a date moves and changes its teacher in one request", func(t *testing.T) {
		ann, bob := w.teacher("Ann"), w.teacher("Bob")
		date := w.class(with(ann), 0).GetDates()[0].GetId()
		w.class(with(ann), 3*time.Hour)
		res, err := w.events.UpdateEventDate(w.ctx, &bookingv1.UpdateEventDateRequest{Date: &bookingv1.EventDateChange{
			Id: date, StartsAt: timestamppb.New(noon().Add(3 * time.Hour)), StaffAndRooms: with(bob),
		}})
		if err != nil || whoAndWhere(res.GetDate()) != "Bob for another" {
			t.Fatalf("got %v, %v", res, err)
		}
		_, err = w.events.CreateEvent(w.ctx, classOf(with(bob), 3*time.Hour))
		wantBusy(t, err, model.ReasonStaffBusy, map[string]string{"event_date_id": date})
	})
	t.Run("a new default replaces the dates to come that had the old one", func(t *testing.T) {
		ann, bob, cat, hall := w.teacher("Ann"), w.teacher("Bob"), w.teacher("Cat"), w.studio("Hall", 3)
		e := w.class(with(ann, hall), -72*time.Hour, 0, 2*time.Hour, 4*time.Hour)
		substituted, other := e.GetDates()[1].GetId(), e.GetDates()[2].GetId()
		for date, who := range map[string]*bookingv1.StaffAndRooms{substituted: with(bob, hall), other: with(ann, w.studio("Gym", 1))} {
			if _, err := w.staff(date, who); err != nil {
				t.Fatal(err)
			}
		}
		version := w.getEvent(e.GetId()).GetVersion()
		changed := w.updateEvent(&bookingv1.UpdateEventRequest{Id: e.GetId(), StaffAndRooms: with(cat)})
		if changed.GetVersion() != version+1 || !proto.Equal(changed.GetStaffAndRooms(), with(cat)) || len(changed.GetDates()[3].GetStaff()) != 0 {
			t.Errorf("got %v", changed)
		}
		w.wantShown(e, "Ann, Hall 1", "Bob for another, Hall 1", "Ann, Gym 1", "Cat")
		event := w.announcedDate()
		if whoAndWhere(event.GetPrevious().GetDate()) != "Ann, Hall 1" || whoAndWhere(event.GetScheduled().GetDate()) != "Cat" || event.GetVersion() != version+1 {
			t.Errorf("published %v", event)
		}
		w.updateEvent(&bookingv1.UpdateEventRequest{Id: e.GetId(), StaffAndRooms: with()})
		w.wantShown(e, "Ann, Hall 1", "Bob for another, Hall 1", "Ann, Gym 1", "")
		if got := w.getEvent(e.GetId()); got.GetStaffAndRooms() != nil {
			t.Errorf("got %v", got.GetStaffAndRooms())
		}
	})
	t.Run("refuses a new default whose people are taken on any of the dates to come", func(t *testing.T) {
		ann, bob := w.teacher("Ann"), w.teacher("Bob")
		e := w.class(with(ann), 0, 2*time.Hour)
		other := w.class(with(bob), 150*time.Minute)
		_, err := w.events.UpdateEvent(w.ctx, &bookingv1.UpdateEventRequest{Id: e.GetId(), StaffAndRooms: with(bob)})
		wantBusy(t, err, model.ReasonStaffBusy, map[string]string{
			"event_date_id": other.GetDates()[0].GetId(), "starts_at": noon().Add(2 * time.Hour).Format(time.RFC3339),
		})
		w.wantShown(e, "Ann", "Ann")
	})
	t.Run("refuses staff of single dates in a change of the event", func(t *testing.T) {
		e := w.class(with(w.teacher("Ann")), 0)
		for field, req := range map[string]*bookingv1.UpdateEventRequest{
			"dates[0].staff_and_rooms":  {Dates: []*bookingv1.EventDateChange{{Id: e.GetDates()[0].GetId(), StaffAndRooms: with()}}},
			"only_date.staff_and_rooms": {OnlyDate: &bookingv1.EventDateChange{StaffAndRooms: with()}},
		} {
			req.Id = e.GetId()
			_, err := w.events.UpdateEvent(w.ctx, req)
			if f := wantFault(t, err, fault.Invalid, fault.ReasonValidation); f.Fields[0].Field != field {
				t.Errorf("got %v, want %s", f.Fields, field)
			}
		}
	})
	t.Run("people and rooms that do not exist are named by their place in the request", func(t *testing.T) {
		date := w.class(nil, 0).GetDates()[0].GetId()
		_, err := w.staff(date, with(id.New[id.StaffMember]()))
		if f := wantFault(t, err, fault.Invalid, fault.ReasonValidation); f.Fields[0].Field != "date.staff_and_rooms.staff_ids[0]" {
			t.Errorf("got %v", f.Fields)
		}
		_, err = w.staff(date, &bookingv1.StaffAndRooms{RoomIds: []string{"room_x"}})
		if f := wantFault(t, err, fault.Invalid, fault.ReasonValidation); f.Fields[0].Field != "date.staff_and_rooms.room_ids[0]" {
			t.Errorf("got %v", f.Fields)
		}
	})
	w.verify()
}

func TestAssignmentsFollowTheStatementsOfThePreviousRelease(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.teacher("Ann")
	e := w.class(with(ann), 0, 20*time.Hour)
	date := idOf[id.EventDate](t, e.GetDates()[0].GetId())
	taken := func() string {
		return one[string](w, `select format('%s %s %s', extract(epoch from taken_from - $2)::integer / 60, extract(epoch from taken_until - $2)::integer / 60, active)
			from assignments where event_date_id = $1`, date, noon())
	}
	for _, step := range []struct{ behaviour, statement, want string }{
		{"a new start moves them", `update event_dates set starts_at = starts_at + interval '10 minutes' where id = $1`, "10 70 t"},
		{"a new length lengthens them", `update event_dates set duration_minutes = 90 where id = $1`, "10 100 t"},
		{"clearing the start on the way moves nothing", `update event_dates set starts_at = starts_at + interval '100000 years' where id = $1`, "10 100 t"},
		{"the start that follows does", `update event_dates set starts_at = starts_at - interval '100000 years 10 minutes' where id = $1`, "0 90 t"},
		{"cancelling ends them", `update event_dates set status = 'cancelled' where id = $1`, "0 90 f"},
	} {
		t.Run(step.behaviour, func(t *testing.T) {
			w.exec(step.statement, date)
			if got := taken(); got != step.want {
				t.Errorf("got %s, want %s", got, step.want)
			}
		})
	}
	t.Run("deleting the event ends them", func(t *testing.T) {
		w.exec(`update events set deleted_at = now() where id = $1`, idOf[id.Event](t, e.GetId()))
		if n := one[int64](w, `select count(*) from assignments where active`); n != 0 {
			t.Errorf("%d are active", n)
		}
	})
	t.Run("a move into a taken time breaks the constraint, which is a refusal", func(t *testing.T) {
		first, second := w.class(with(ann), 0), w.class(with(ann), 5*time.Hour)
		_ = first
		err := w.server.store.Write(t.Context(), w.company, func(ctx context.Context, tx *pg.Tx) error {
			_, err := tx.Exec(ctx, `update event_dates set starts_at = starts_at - interval '5 hours' where id = $1`, idOf[id.EventDate](t, second.GetDates()[0].GetId()))
			return err
		})
		wantFault(t, err, fault.Refused, model.ReasonStaffBusy)
	})
}
