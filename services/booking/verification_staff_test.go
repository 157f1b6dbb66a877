package booking

import (
	"slices"
	"testing"
	"time"

	"reservation.dev/platform/id"
)

// appointmentType adds an event of appointments without dates.
func (w *world) appointmentType() id.Event {
	w.t.Helper()
	event := id.New[id.Event]()
	w.exec(`insert into events (company_id, id, title, description, type, status, timezone, location, created_at, updated_at, of_appointments, listed)
		values ($1, $2, 'Massage', '', 'appointment', 'published', 'Europe/London', '', now(), now(), true, false)`, w.company, event)
	return event
}

// slot adds a date of an appointment with a staff member.
func (w *world) slot(event id.Event, staff id.StaffMember, at time.Time, booked int) id.EventDate {
	w.t.Helper()
	date := id.New[id.EventDate]()
	w.exec(`insert into event_dates (company_id, id, event_id, starts_at, duration_minutes, timezone, capacity, booked, appointment_id)
		values ($1, $2, $3, $4, 30, 'Europe/London', 1, $5, $2)`, w.company, date, event, at, booked)
	w.exec(`insert into assignments (company_id, event_date_id, resource_id, kind, unit, position, buffer_after, taken_from, taken_until)
		values ($1, $2, $3, 'staff', 0, 0, 10, $4, $4::timestamptz + interval '40 minutes')`, w.company, date, staff, at)
	return date
}

func TestVerifyFindsDamagedAssignments(t *testing.T) {
	t.Parallel()
	w, owner := newPlanWorld(t)
	ann, hall := w.teacher("Ann"), w.studio("Hall", 2)
	first, second := w.class(with(ann, hall), 0), w.class(with(ann, hall), 2*time.Hour)
	w.class(with(hall), 0)
	date, other := idOf[id.EventDate](t, first.GetDates()[0].GetId()), idOf[id.EventDate](t, second.GetDates()[0].GetId())
	bob := w.teacher("Bob")
	for _, statement := range []string{
		`alter table assignments drop constraint assignments_overlap`, `alter table event_dates disable trigger event_date_changed`,
		`alter table events disable trigger event_deleted`,
	} {
		if _, err := owner.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	slot := w.slot(w.appointmentType(), bob, noon(), 0)
	w.exec(`update event_dates set status = 'cancelled' where id = $1`, slot)
	w.exec(`update assignments set active = false where event_date_id = $1`, slot)
	w.verify()

	for behaviour, tt := range map[string]struct {
		damage, repair []string
		row            id.UUID
		want           []string
	}{
		"dates of a person at the same time": {
			[]string{`update event_dates set starts_at = starts_at - interval '90 minutes' where id = $1`, `update assignments set taken_from = taken_from - interval '90 minutes', taken_until = taken_until - interval '90 minutes' where event_date_id = $1`},
			[]string{`update event_dates set starts_at = starts_at + interval '90 minutes' where id = $1`, `update assignments set taken_from = taken_from + interval '90 minutes', taken_until = taken_until + interval '90 minutes' where event_date_id = $1`},
			other.UUID(), []string{"staff.overlaps " + ann.String() + " 1 0", "room.overlaps " + hall.String() + " 1 0"}},
		"assignments that did not follow their date": {
			[]string{`update event_dates set duration_minutes = 70 where id = $1`}, []string{`update event_dates set duration_minutes = 60 where id = $1`},
			date.UUID(), []string{"assignment.time " + date.String() + " 2 0"}},
		"assignments of a cancelled date that take time": {
			[]string{`update event_dates set status = 'cancelled' where id = $1`}, []string{`update event_dates set status = 'scheduled' where id = $1`},
			date.UUID(), []string{"assignment.active " + date.String() + " 2 0"}},
		"assignments of a deleted event that take time": {
			[]string{`update events set deleted_at = now(), listed = false where id = $1`}, []string{`update events set deleted_at = null, listed = true where id = $1`},
			idOf[id.Event](t, second.GetId()).UUID(), []string{"assignment.active " + other.String() + " 2 0", "events.total  3 2"}},
		"an assignment that takes no time": {
			[]string{`update assignments set active = false where event_date_id = $1 and kind = 'staff'`}, []string{`update assignments set active = true where event_date_id = $1 and kind = 'staff'`},
			date.UUID(), []string{"assignment.active " + date.String() + " 1 2"}},
		"units beyond the capacity": {
			[]string{`update rooms set capacity = 1 where id = $1`}, []string{`update rooms set capacity = 2 where id = $1`},
			hall.UUID(), []string{"room.unit " + hall.String() + " 1 0"}},
		"an appointment date that nobody has": {
			[]string{`update event_dates set status = 'scheduled' where id = $1`, `update assignments set active = true where event_date_id = $1`},
			[]string{`update event_dates set status = 'cancelled' where id = $1`, `update assignments set active = false where event_date_id = $1`},
			slot.UUID(), []string{"appointment.slot " + slot.String() + " 1 0"}},
		"a booked appointment without a staff member": {
			[]string{`update event_dates set status = 'scheduled', booked = 1 where id = $1`, `update assignments set position = -1 where event_date_id = $1`},
			[]string{`update event_dates set status = 'cancelled', booked = 0 where id = $1`, `update assignments set position = 0 where event_date_id = $1`},
			slot.UUID(), []string{"event_date.booked " + slot.String() + " 1 0", "appointment.slot " + slot.String() + " 0 1"}},
	} {
		t.Run("finds "+behaviour, func(t *testing.T) {
			for _, statement := range tt.damage {
				w.exec(statement, tt.row)
			}
			if found := w.differences(); !slices.Equal(found, tt.want) {
				t.Errorf("got %q, want %q", found, tt.want)
			}
			for _, statement := range tt.repair {
				w.exec(statement, tt.row)
			}
		})
	}
	w.verify()
}
