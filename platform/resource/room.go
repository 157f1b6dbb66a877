package resource

import (
	"reservation.dev/platform/enum"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

// Room converts a room or a kind of equipment.
func Room(r *bookingv1.Room) *edgebv1.Room {
	return &edgebv1.Room{
		Id: r.GetId(), Name: r.GetName(), Kind: enum.Name(r.GetKind()), Capacity: r.GetCapacity(), Location: r.GetLocation(), Active: r.GetActive(),
		Reference: nullableText(r.GetReference()), CreatedAt: utc(r.GetCreatedAt()), UpdatedAt: utc(r.GetUpdatedAt()),
	}
}
