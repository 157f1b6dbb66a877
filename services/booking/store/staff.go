package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

const (
	staffColumns = `r.id, r.name, r.email, r.photo_url, r.bio, r.color, r.active, coalesce(r.reference, ''), r.version, r.created_at, r.updated_at`

	insertStaffSQL = `insert into staff (company_id, id, name, email, photo_url, bio, color, active, reference, created_at, updated_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10)`

	saveStaffSQL = `update staff set name = $3, email = $4, photo_url = $5, bio = $6, color = $7, active = $8, version = $9, updated_at = $10
		where company_id = $1 and id = $2`

	staffSQL     = `select ` + staffColumns + ` from staff r where r.company_id = $1`
	staffByIDSQL = staffSQL + ` and r.id = $2`
	countedStaff = `select count(*) from staff r where r.company_id = $1`
)

func scanStaff(into *[]model.StaffMember) func(pgx.Rows) error {
	return pg.Each(func(rows pgx.Rows) error {
		var m model.StaffMember
		err := rows.Scan(&m.ID, &m.Name, &m.Email, &m.PhotoURL, &m.Bio, &m.Color, &m.Active, &m.Reference, &m.Version, &m.CreatedAt, &m.UpdatedAt)
		*into = append(*into, m)
		return err
	})
}

// InsertStaffMember stores a new person and chooses a colour if the person has none. It refuses one beyond
// the limit.
func (s *Store) InsertStaffMember(ctx context.Context, tx *pg.Tx, company id.Company, m *model.StaffMember) error {
	n, err := adding(ctx, tx, company, "staff", countStaffSQL)
	if err != nil {
		return err
	}
	if n >= model.MaxResources {
		return model.TooManyStaff()
	}
	if m.Color == "" {
		m.Color = model.DefaultColor(n)
	}
	_, err = tx.Exec(ctx, insertStaffSQL, company, m.ID, m.Name, m.Email, m.PhotoURL, m.Bio, m.Color, m.Active, orNull(m.Reference), m.CreatedAt)
	return err
}

// StaffMember reads a person.
func (s *Store) StaffMember(ctx context.Context, company id.Company, who id.StaffMember) (*model.StaffMember, error) {
	var found []model.StaffMember
	err := s.ReadOf(ctx, company, pg.Query{SQL: staffByIDSQL, Args: []any{company, who}, Scan: scanStaff(&found)})
	return only(found, "staff member", err)
}

// LockStaffMember reads a person for a change in tx.
func (s *Store) LockStaffMember(ctx context.Context, tx *pg.Tx, company id.Company, who id.StaffMember) (*model.StaffMember, error) {
	var found []model.StaffMember
	err := tx.Pipeline(ctx, pg.Query{SQL: staffByIDSQL + ` for no key update`, Args: []any{company, who}, Scan: scanStaff(&found)})
	return only(found, "staff member", err)
}

// only returns the only row, or NOT_FOUND for resource.
func only[T any](found []T, resource string, err error) (*T, error) {
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, fault.Missing(resource)
	}
	return &found[0], nil
}

// SaveStaffMember stores the fields of a person that can change.
func (s *Store) SaveStaffMember(ctx context.Context, tx *pg.Tx, company id.Company, m *model.StaffMember) error {
	_, err := tx.Exec(ctx, saveStaffSQL, company, m.ID, m.Name, m.Email, m.PhotoURL, m.Bio, m.Color, m.Active, m.Version, m.UpdatedAt)
	return err
}

// Staff reads a page of people plus one more, and the total number of matches.
func (s *Store) Staff(ctx context.Context, company id.Company, q *ResourceQuery) (staff []model.StaffMember, total int64, err error) {
	list, count := q.list(company, staffSQL), q.statement(company, countedStaff)
	err = s.ReadOf(ctx, company, list.Query(scanStaff(&staff)), count.Query(pg.First(&total)))
	return staff, total, err
}

// AfterStaff returns the cursor after a person.
func (q *ResourceQuery) AfterStaff(last *model.StaffMember) page.Cursor {
	return q.cursor(last.CreatedAt, last.UpdatedAt, last.ID.UUID())
}
