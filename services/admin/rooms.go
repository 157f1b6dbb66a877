package admin

import (
	"cmp"
	"strconv"

	"reservation.dev/platform/enum"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// roomView is a room, or a kind of equipment, as a page shows it.
type roomView struct{ *bookingv1.Room }

// Path is the path of the room's page.
func (v roomView) Path() string { return "/rooms/" + v.GetId() }

// State says whether the room gets new appointments and classes.
func (v roomView) State() stateTag { return activity(v.GetActive()) }

// KindName says whether it is a room or equipment.
func (v roomView) KindName() *message { return roomKind(enum.Name(v.GetKind())) }

func roomKind(name string) *message {
	return msg("appointments.room_kind." + cmp.Or(name, "room")).or(name)
}

// rooms returns the company's first resourcesMost rooms, in the order in which they were added.
func (r *request) rooms() ([]roomView, error) {
	res, err := r.services.rooms.ListRooms(r.ctx, &bookingv1.ListRoomsRequest{PageSize: resourcesMost})
	return views(res.GetRooms(), func(x *bookingv1.Room) roomView { return roomView{x} }), err
}

// roomsPage is the list of rooms and equipment.
type roomsPage struct {
	Rooms []roomView
	Total int64
	Next  string
}

func (roomsPage) head() (*message, string) { return msg("appointments.rooms.title"), "staff" }

func (r *request) roomList() error {
	res, err := r.services.rooms.ListRooms(r.ctx, &bookingv1.ListRoomsRequest{PageSize: 50, PageToken: r.query("page")})
	if err != nil {
		return err
	}
	return r.render("rooms", roomsPage{
		Rooms: views(res.GetRooms(), func(x *bookingv1.Room) roomView { return roomView{x} }),
		Total: res.GetTotal(), Next: r.with("page", res.GetNextPageToken()),
	})
}

// roomPage adds or changes a room.
type roomPage struct {
	Form  *form
	Room  *roomView // nil for a new room
	Kinds []option
}

func (p roomPage) head() (*message, string) {
	if p.Room == nil {
		return msg("appointments.rooms.add"), "staff"
	}
	return literal(p.Room.GetName()), "staff"
}

// Action is the path of the form.
func (p roomPage) Action() string {
	if p.Room == nil {
		return "/rooms"
	}
	return p.Room.Path()
}

func (r *request) roomPage(f *form, room *roomView) roomPage {
	return roomPage{Form: f, Room: room, Kinds: optionsOf(enum.Names[bookingv1.RoomKind](), func(kind string) string { return r.text(roomKind(kind)) })}
}

func (r *request) newRoom() error {
	return r.render("room", r.roomPage(newForm("kind", "room", "units", "1", "active", "on"), nil))
}

// roomNames are the form's names of the service's fields.
var roomNames = map[string]string{"capacity": "units"}

// unitsMost is the largest number of units of a room.
const unitsMost = 100

func (r *request) createRoom() error {
	f := r.sent(roomNames)
	kind, _ := enum.Parse[bookingv1.RoomKind](f.text("kind"))
	res, err := submit(r, f, r.services.rooms.CreateRoom, &bookingv1.CreateRoomRequest{
		Name: f.required("name", msg("desk.field.name")), Kind: kind, Capacity: f.count("units", msg("appointments.field.units"), 1, unitsMost),
		Location: f.text("location"), Inactive: f.text("active") == "",
	})
	if err != nil {
		return r.again(err, "room", r.roomPage(f, nil))
	}
	r.target(res.GetRoom().GetId())
	r.detail("name", "", res.GetRoom().GetName())
	return r.back("/rooms", r.text("appointments.rooms.added", "name", res.GetRoom().GetName()))
}

func (r *request) findRoom() (roomView, error) {
	res, err := r.services.rooms.GetRoom(r.ctx, &bookingv1.GetRoomRequest{Id: r.path("id")})
	return roomView{res.GetRoom()}, err
}

func (r *request) room() error {
	room, err := r.findRoom()
	if err != nil {
		return err
	}
	f := newForm("name", room.GetName(), "kind", cmp.Or(enum.Name(room.GetKind()), "room"), "units", strconv.Itoa(int(room.GetCapacity())), "location", room.GetLocation())
	if room.GetActive() {
		f.values.Set("active", "on")
	}
	f.setVersion(room.GetVersion())
	return r.render("room", r.roomPage(f, &room))
}

func (r *request) updateRoom() error {
	room, err := r.findRoom()
	if err != nil {
		return err
	}
	f := r.sent(roomNames)
	kind, _ := enum.Parse[bookingv1.RoomKind](f.text("kind"))
	name, location, on := f.required("name", msg("desk.field.name")), f.text("location"), f.text("active") != ""
	units := f.count("units", msg("appointments.field.units"), 1, unitsMost)
	_, err = submit(r, f, r.services.rooms.UpdateRoom, &bookingv1.UpdateRoomRequest{
		Id: room.GetId(), Name: &name, Kind: kind, Capacity: &units, Location: &location, Active: &on, ExpectedVersion: f.expectedVersion(room.GetVersion()),
	})
	if err != nil {
		return r.again(err, "room", r.roomPage(f, &room))
	}
	r.detail("name", room.GetName(), name)
	r.detail("units", strconv.Itoa(int(room.GetCapacity())), strconv.Itoa(int(units)))
	r.detail("location", room.GetLocation(), location)
	r.detail("active", strconv.FormatBool(room.GetActive()), strconv.FormatBool(on))
	return r.back("/rooms", r.text("shared.done.saved"))
}
