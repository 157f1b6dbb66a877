package admin

import (
	"slices"
	"strings"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// teachersPage chooses the staff and the rooms of an event, or of one date.
type teachersPage struct {
	Event  eventView
	Slot   *slot // nil for the event
	Form   *form
	People []staffView
	Rooms  []roomView
	// Usual are the names of the staff of the event.
	Usual string
}

func (p teachersPage) head() (*message, string) {
	return msg("appointments.teachers.title"), "events"
}

// Back is the path of the page of the event or the date.
func (p teachersPage) Back() string {
	if p.Slot != nil {
		return p.Slot.Path()
	}
	return "/events/" + p.Event.GetId()
}

// teachersPage returns the page of a form, with the people and rooms that are active or chosen.
func (r *request) teachersPage(e eventView, s *slot, f *form) (teachersPage, error) {
	page := teachersPage{Event: e, Slot: s, Form: f}
	people, err := r.people()
	if err != nil {
		return page, err
	}
	rooms, err := r.rooms()
	if err != nil {
		return page, err
	}
	var usual []string
	for _, x := range people {
		if x.GetActive() || f.Has("staff", x.GetId()) {
			page.People = append(page.People, x)
		}
		if slices.Contains(e.GetStaffAndRooms().GetStaffIds(), x.GetId()) {
			usual = append(usual, x.GetName())
		}
	}
	for _, x := range rooms {
		if x.GetActive() || f.Has("room", x.GetId()) {
			page.Rooms = append(page.Rooms, x)
		}
	}
	page.Usual = strings.Join(usual, ", ")
	return page, nil
}

// names returns the names of the people and rooms that the form chooses.
func (p teachersPage) names() (people, rooms string) {
	var all, places []string
	for _, x := range p.People {
		if p.Form.Has("staff", x.GetId()) {
			all = append(all, x.GetName())
		}
	}
	for _, x := range p.Rooms {
		if p.Form.Has("room", x.GetId()) {
			places = append(places, x.GetName())
		}
	}
	return strings.Join(all, ", "), strings.Join(places, ", ")
}

// teacherNames are the form's names of the service's fields.
var teacherNames = map[string]string{"staff_ids": "staff", "room_ids": "room", "staff_and_rooms": "staff"}

func (r *request) teachersForm() error {
	e, err := r.findEvent()
	if err != nil {
		return err
	}
	f := newForm()
	f.values["staff"], f.values["room"] = e.GetStaffAndRooms().GetStaffIds(), e.GetStaffAndRooms().GetRoomIds()
	f.setVersion(e.GetVersion())
	page, err := r.teachersPage(e, nil, f)
	if err != nil {
		return err
	}
	return r.render("teachers", page)
}

func (r *request) setTeachers() error {
	e, err := r.findEvent()
	if err != nil {
		return err
	}
	f := r.sent(teacherNames)
	page, err := r.teachersPage(e, nil, f)
	if err != nil {
		return err
	}
	_, err = submit(r, f, unindexed(r.services.events.UpdateEvent), &bookingv1.UpdateEventRequest{
		Id: e.GetId(), StaffAndRooms: &bookingv1.StaffAndRooms{StaffIds: f.All("staff"), RoomIds: f.All("room")}, ExpectedVersion: f.expectedVersion(e.GetVersion()),
	})
	if err != nil {
		return r.again(err, "teachers", page)
	}
	people, rooms := page.names()
	r.detail("staff", page.Usual, people)
	r.detail("rooms", "", rooms)
	return r.back(page.Back(), r.text("appointments.teachers.saved"))
}

// assignedNames returns the names of the staff and the rooms of an event, in two calls; in none if there are
// none.
func (r *request) assignedNames(x *bookingv1.StaffAndRooms) (people, rooms string, err error) {
	if len(x.GetStaffIds()) > 0 {
		all, err := r.people()
		if err != nil {
			return "", "", err
		}
		people = namesOf(x.GetStaffIds(), all)
	}
	if len(x.GetRoomIds()) > 0 {
		all, err := r.rooms()
		if err != nil {
			return "", "", err
		}
		rooms = namesOf(x.GetRoomIds(), all)
	}
	return people, rooms, nil
}

// namesOf lists the names of the people or rooms with the identifiers.
func namesOf[T interface {
	GetId() string
	GetName() string
}](ids []string, all []T) string {
	var names []string
	for _, x := range all {
		if slices.Contains(ids, x.GetId()) {
			names = append(names, x.GetName())
		}
	}
	return strings.Join(names, ", ")
}

// assignedTo returns the identifiers of the staff and rooms of a date.
func assignedTo(d *bookingv1.EventDate) (people, rooms []string) {
	people = views(d.GetStaff(), func(x *bookingv1.AssignedStaff) string { return x.GetStaff().GetId() })
	return people, views(d.GetRooms(), func(x *bookingv1.RoomReference) string { return x.GetId() })
}

func (r *request) substitutesForm() error {
	e, s, err := r.findDate()
	if err != nil {
		return err
	}
	f := newForm()
	f.values["staff"], f.values["room"] = assignedTo(s.GetDate())
	page, err := r.teachersPage(e, &s, f)
	if err != nil {
		return err
	}
	return r.render("teachers", page)
}

func (r *request) setSubstitutes() error {
	e, s, err := r.findDate()
	if err != nil {
		return err
	}
	f := r.sent(teacherNames)
	page, err := r.teachersPage(e, &s, f)
	if err != nil {
		return err
	}
	_, err = submit(r, f, unindexed(r.services.events.UpdateEventDate), &bookingv1.UpdateEventDateRequest{Date: &bookingv1.EventDateChange{
		Id: s.GetDate().GetId(), StaffAndRooms: &bookingv1.StaffAndRooms{StaffIds: f.All("staff"), RoomIds: f.All("room")},
	}})
	if err != nil {
		return r.again(err, "teachers", page)
	}
	before := strings.Join(views(s.GetDate().GetStaff(), func(x *bookingv1.AssignedStaff) string { return x.GetStaff().GetName() }), ", ")
	people, rooms := page.names()
	r.detail("staff", before, people)
	r.detail("rooms", "", rooms)
	return r.back(page.Back(), r.text("appointments.teachers.saved_date"))
}

// assignedLine says who teaches a date: "Alex", or "Alex instead of Sam".
func assignedLine(x *bookingv1.AssignedStaff, names map[string]string) *message {
	name := x.GetStaff().GetName()
	if absent := x.GetSubstitutesForId(); absent != "" {
		return msg("appointments.teachers.instead", "name", name, "absent", orID(names[absent], absent))
	}
	return literal(name)
}

// orID returns a name; if it is empty, the identifier.
func orID(name, id string) string {
	if name == "" {
		return id
	}
	return name
}

// Teachers lists the staff of a date; "" if nobody is assigned.
func (s slot) Teachers() string {
	return strings.Join(views(s.GetDate().GetStaff(), func(x *bookingv1.AssignedStaff) string { return x.GetStaff().GetName() }), ", ")
}

// RoomNames lists the rooms of a date.
func (s slot) RoomNames() string {
	return strings.Join(views(s.GetDate().GetRooms(), func(x *bookingv1.RoomReference) string { return x.GetName() }), ", ")
}

// teacherLines says who teaches a date. It reads the names of the people who are replaced.
func (r *request) teacherLines(d *bookingv1.EventDate) ([]*message, error) {
	names := map[string]string{}
	if slices.ContainsFunc(d.GetStaff(), func(x *bookingv1.AssignedStaff) bool { return x.GetSubstitutesForId() != "" }) {
		people, err := r.people()
		if err != nil {
			return nil, err
		}
		for _, x := range people {
			names[x.GetId()] = x.GetName()
		}
	}
	return views(d.GetStaff(), func(x *bookingv1.AssignedStaff) *message { return assignedLine(x, names) }), nil
}

// findDatePage redirects to the page of a date, whose address also has the event.
func (r *request) findDatePage() error {
	res, err := r.services.events.GetEventDate(r.ctx, &bookingv1.GetEventDateRequest{Id: r.path("date")})
	if err != nil {
		return err
	}
	return r.to(datePath(res.GetDate().GetEventId(), r.path("date")))
}
