package gatewayb

import (
	"context"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/resource"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

// ListRooms is GET /rooms.
func (f *facade) ListRooms(ctx context.Context, req *edgebv1.ListRoomsRequest) (*edgebv1.ListRoomsResponse, error) {
	var q edge.Query
	p := newPage(&q, parameters{req.Page, req.PerPage, req.Cursor, req.Sort, req.UpdatedSince}, 4)
	list := &bookingv1.ListRoomsRequest{
		PageSize: p.size, PageToken: p.cursor, Offset: p.offset(), UpdatedSince: p.since, Order: bookingv1.ResourceOrder(p.sort),
		Active: q.Bool("active", req.Active),
	}
	if err := q.Err(); err != nil {
		return nil, err
	}
	res, err := f.rooms.ListRooms(ctx, list)
	if err != nil {
		return nil, err
	}
	return &edgebv1.ListRoomsResponse{
		Rooms: edge.Convert(res.GetRooms(), resource.Room),
		Total: res.GetTotal(), Page: p.number, PerPage: p.size, NextCursor: nextCursor(res.GetNextPageToken()),
	}, nil
}

// GetRoom is GET /rooms/{id}.
func (f *facade) GetRoom(ctx context.Context, req *edgebv1.GetRoomRequest) (*edgebv1.GetRoomResponse, error) {
	res, err := f.rooms.GetRoom(ctx, &bookingv1.GetRoomRequest{Id: req.GetId()})
	if err != nil {
		return nil, err
	}
	return &edgebv1.GetRoomResponse{Room: resource.Room(edge.Tag(ctx, res.GetRoom()))}, nil
}

// CreateRoom is POST /rooms.
func (f *facade) CreateRoom(ctx context.Context, req *edgebv1.CreateRoomRequest) (*edgebv1.CreateRoomResponse, error) {
	create, err := newRoom(req.GetRoom())
	if err != nil {
		return nil, err
	}
	res, err := f.rooms.CreateRoom(ctx, create)
	if err != nil {
		return nil, err
	}
	return &edgebv1.CreateRoomResponse{Room: resource.Room(setCreated(ctx, "rooms", res.GetRoom()))}, nil
}

// UpdateRoom is PUT and PATCH /rooms/{id}.
func (f *facade) UpdateRoom(ctx context.Context, req *edgebv1.UpdateRoomRequest) (*edgebv1.UpdateRoomResponse, error) {
	update, err := roomUpdate(req.GetRoom())
	if err != nil {
		_, look := f.rooms.GetRoom(ctx, &bookingv1.GetRoomRequest{Id: req.GetId()})
		return nil, missingOr(look, err)
	}
	update.Id, update.ExpectedVersion = req.GetId(), edge.ExpectedVersion(ctx)
	res, err := f.rooms.UpdateRoom(ctx, update)
	if err != nil {
		return nil, err
	}
	return &edgebv1.UpdateRoomResponse{Room: resource.Room(edge.Tag(ctx, res.GetRoom()))}, nil
}

// newRoom converts the body of POST /rooms.
func newRoom(in *edgebv1.RoomWrite) (*bookingv1.CreateRoomRequest, error) {
	in = edge.OrEmpty(in)
	var b body
	if in.Capacity != nil && in.GetCapacity() < 1 { // the service would treat 0 as absent
		b.Add("capacity", "min", "must be 1 or more")
	}
	return &bookingv1.CreateRoomRequest{
		Name: in.GetName(), Kind: value[bookingv1.RoomKind](&b, "kind", in.Kind), Capacity: in.GetCapacity(), Location: in.GetLocation(),
		Inactive: inactive(in.Active), Reference: in.GetReference(),
	}, b.Err()
}

// roomUpdate converts the body of PUT /rooms/{id}.
func roomUpdate(in *edgebv1.RoomWrite) (*bookingv1.UpdateRoomRequest, error) {
	in = edge.OrEmpty(in)
	var b body
	return &bookingv1.UpdateRoomRequest{
		Name: in.Name, Kind: value[bookingv1.RoomKind](&b, "kind", in.Kind), Capacity: in.Capacity, Location: in.Location, Active: in.Active,
	}, b.Err()
}
