package model

import (
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/id"
)

// RoomKind is what is shared. Its values are stored.
type RoomKind string

// Values of RoomKind.
const (
	OrdinaryRoom RoomKind = "room"
	Equipment    RoomKind = "equipment"
)

// MaxUnits is the largest capacity of a room.
const MaxUnits = 100

// Room is a room, or a kind of equipment, of which one or several units exist.
type Room struct {
	ID        id.Room
	Name      string
	Kind      RoomKind // "" is an unknown kind of a request
	Capacity  int32    // units
	Location  string
	Active    bool
	Reference string
	Version   int64
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Check trims and checks the fields of a room.
func (r *Room) Check(f *check.Fields) {
	r.Name = f.Line("name", r.Name, 1, maxResourceName)
	if r.Kind == "" {
		f.Add("kind", "enum", "must be room or equipment")
	}
	f.Range("capacity", int64(r.Capacity), 1, MaxUnits)
	r.Location = f.Line("location", r.Location, 0, maxLocation)
	r.Reference = f.Line("reference", r.Reference, 0, maxReference)
}

// RoomChange is a request to change a room. Fields that are nil do not change.
type RoomChange struct {
	Name, Location *string
	Kind           *RoomKind
	Capacity       *int32
	Active         *bool
}

// Apply returns the room after the change.
func (c *RoomChange) Apply(r Room) (Room, error) {
	if c.Name != nil {
		r.Name = *c.Name
	}
	if c.Location != nil {
		r.Location = *c.Location
	}
	if c.Kind != nil {
		r.Kind = *c.Kind
	}
	if c.Capacity != nil {
		r.Capacity = *c.Capacity
	}
	if c.Active != nil {
		r.Active = *c.Active
	}
	var faults check.Fields
	r.Check(&faults)
	return r, faults.Err()
}

// Raise increases the version of a locked room that changes now.
func (r *Room) Raise(now time.Time) {
	r.Version++
	r.UpdatedAt = now
}
