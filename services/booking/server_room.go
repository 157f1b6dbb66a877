package booking

import (
	"context"

	"reservation.dev/platform/check"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/convert"
	"reservation.dev/services/booking/store"
)

// CreateRoom implements RoomService.
func (s *Server) CreateRoom(ctx context.Context, req *bookingv1.CreateRoomRequest) (*bookingv1.CreateRoomResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	r, err := convert.NewRoom(req)
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.CreateRoomResponse{}
	return idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		r.ID, r.CreatedAt = id.Room(s.newID()), pg.Instant(s.clock(company))
		r.UpdatedAt = r.CreatedAt
		resp.Room = convert.Room(r)
		if err := s.store.InsertRoom(ctx, tx, company.ID, r); err != nil {
			return err
		}
		return s.outbox.AppendChange(ctx, tx, company.ID, r.ID, outbox.Fact{Field: "name", Value: r.Name})
	})
}

// GetRoom implements RoomService.
func (s *Server) GetRoom(ctx context.Context, req *bookingv1.GetRoomRequest) (*bookingv1.GetRoomResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	which, err := check.ID[id.Room](req.GetId(), "room")
	if err != nil {
		return nil, err
	}
	r, err := s.store.Room(ctx, company.ID, which)
	if err != nil {
		return nil, err
	}
	return &bookingv1.GetRoomResponse{Room: convert.Room(r)}, nil
}

// ListRooms implements RoomService.
func (s *Server) ListRooms(ctx context.Context, req *bookingv1.ListRoomsRequest) (*bookingv1.ListRoomsResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	q, err := resourceQuery(req, req.Active, store.RoomOrders())
	if err != nil {
		return nil, err
	}
	rooms, total, err := s.store.Rooms(ctx, company.ID, q)
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.ListRoomsResponse{Total: total}
	rooms, resp.NextPageToken = page.Cut(q.Page, rooms, q.AfterRoom)
	for i := range rooms {
		resp.Rooms = append(resp.Rooms, convert.Room(&rooms[i]))
	}
	return resp, nil
}

// UpdateRoom implements RoomService.
func (s *Server) UpdateRoom(ctx context.Context, req *bookingv1.UpdateRoomRequest) (*bookingv1.UpdateRoomResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	which, err := check.ID[id.Room](req.GetId(), "room")
	if err != nil {
		return nil, err
	}
	change := convert.RoomChange(req)
	resp := &bookingv1.UpdateRoomResponse{}
	return idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		before, err := s.store.LockRoom(ctx, tx, company.ID, which)
		if err != nil {
			return err
		}
		if err := check.Version(before.Version, req.ExpectedVersion, "room"); err != nil {
			return err
		}
		after, err := change.Apply(*before)
		if err != nil {
			return err
		}
		now := pg.Instant(s.clock(company))
		if after.Capacity < before.Capacity {
			conflicts, err := s.store.UnitConflicts(ctx, tx, company.ID, &after, now)
			if err != nil {
				return err
			}
			if conflicts.Count > 0 {
				return conflicts.UnitsBusy(which)
			}
		}
		resp.Room = convert.Room(&after)
		if after == *before {
			return nil
		}
		after.Raise(now)
		resp.Room = convert.Room(&after)
		if err := s.store.SaveRoom(ctx, tx, company.ID, &after); err != nil {
			return err
		}
		return s.outbox.AppendChange(ctx, tx, company.ID, after.ID, outbox.Fact{Field: "name", Value: after.Name})
	})
}
