package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

const (
	roomColumns = `r.id, r.name, r.kind, r.capacity, r.location, r.active, coalesce(r.reference, ''), r.version, r.created_at, r.updated_at`

	insertRoomSQL = `insert into rooms (company_id, id, name, kind, capacity, location, active, reference, created_at, updated_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9)`

	saveRoomSQL = `update rooms set name = $3, kind = $4, capacity = $5, location = $6, active = $7, version = $8, updated_at = $9
		where company_id = $1 and id = $2`

	roomsSQL     = `select ` + roomColumns + ` from rooms r where r.company_id = $1`
	roomByIDSQL  = roomsSQL + ` and r.id = $2`
	countedRooms = `select count(*) from rooms r where r.company_id = $1`
)

func scanRooms(into *[]model.Room) func(pgx.Rows) error {
	return pg.Each(func(rows pgx.Rows) error {
		var r model.Room
		err := rows.Scan(&r.ID, &r.Name, &r.Kind, &r.Capacity, &r.Location, &r.Active, &r.Reference, &r.Version, &r.CreatedAt, &r.UpdatedAt)
		*into = append(*into, r)
		return err
	})
}

// InsertRoom stores a new room. It refuses one beyond the limit.
func (s *Store) InsertRoom(ctx context.Context, tx *pg.Tx, company id.Company, r *model.Room) error {
	n, err := adding(ctx, tx, company, "rooms", countRoomsSQL)
	if err != nil {
		return err
	}
	if n >= model.MaxResources {
		return model.TooManyRooms()
	}
	_, err = tx.Exec(ctx, insertRoomSQL, company, r.ID, r.Name, string(r.Kind), r.Capacity, r.Location, r.Active, orNull(r.Reference), r.CreatedAt)
	return err
}

// Room reads a room.
func (s *Store) Room(ctx context.Context, company id.Company, which id.Room) (*model.Room, error) {
	var found []model.Room
	err := s.ReadOf(ctx, company, pg.Query{SQL: roomByIDSQL, Args: []any{company, which}, Scan: scanRooms(&found)})
	return only(found, "room", err)
}

// LockRoom reads a room for a change in tx.
func (s *Store) LockRoom(ctx context.Context, tx *pg.Tx, company id.Company, which id.Room) (*model.Room, error) {
	var found []model.Room
	err := tx.Pipeline(ctx, pg.Query{SQL: roomByIDSQL + ` for no key update`, Args: []any{company, which}, Scan: scanRooms(&found)})
	return only(found, "room", err)
}

// SaveRoom stores the fields of a room that can change.
func (s *Store) SaveRoom(ctx context.Context, tx *pg.Tx, company id.Company, r *model.Room) error {
	_, err := tx.Exec(ctx, saveRoomSQL, company, r.ID, r.Name, string(r.Kind), r.Capacity, r.Location, r.Active, r.Version, r.UpdatedAt)
	return err
}

// Rooms reads a page of rooms plus one more, and the total number of matches.
func (s *Store) Rooms(ctx context.Context, company id.Company, q *ResourceQuery) (rooms []model.Room, total int64, err error) {
	list, count := q.list(company, roomsSQL), q.statement(company, countedRooms)
	err = s.ReadOf(ctx, company, list.Query(scanRooms(&rooms)), count.Query(pg.First(&total)))
	return rooms, total, err
}

// AfterRoom returns the cursor after a room.
func (q *ResourceQuery) AfterRoom(last *model.Room) page.Cursor {
	return q.cursor(last.CreatedAt, last.UpdatedAt, last.ID.UUID())
}
