package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

const (
	raiseStaffSQL = `update staff set version = $3, updated_at = $4 where company_id = $1 and id = $2`

	deleteHoursSQL = `delete from working_hours where company_id = $1 and staff_id = $2`

	insertHoursSQL = `insert into working_hours (company_id, staff_id, position, weekday, date, starts, ends, location, timezone)
		select $1, $2, n.position, n.weekday, n.date, n.starts, n.ends, n.location, n.timezone
		from unnest($3::integer[], $4::smallint[], $5::text[]::date[], $6::smallint[], $7::smallint[], $8::text[], $9::text[])
			n(position, weekday, date, starts, ends, location, timezone)`

	hoursColumns = `coalesce(weekday, 0), coalesce(to_char(date, 'YYYY-MM-DD'), ''), starts is not null, coalesce(starts, 0), coalesce(ends, 0), location, timezone`

	hoursSQL = `select ` + hoursColumns + ` from working_hours where company_id = $1 and staff_id = $2 order by position`

	staffByIDsSQL = staffSQL + ` and r.id = any($2) order by r.id`

	hoursOfAllSQL = `select staff_id, ` + hoursColumns + ` from working_hours
		where company_id = $1 and staff_id = any($2) and (date is null or date between $3::text::date and $4::text::date) order by staff_id, position`
)

// hoursRows are the column values of working hours to insert. A calendar day without shifts has one row
// without times.
type hoursRows struct {
	positions           []int32
	weekdays            []*int32
	dates               []*string
	starts, ends        []*int32
	locations, timezone []string
}

func (h *hoursRows) add(weekday *int32, date *string, r *model.HoursRange) {
	h.positions = append(h.positions, int32(len(h.positions)))
	h.weekdays, h.dates = append(h.weekdays, weekday), append(h.dates, date)
	if r == nil {
		h.starts, h.ends = append(h.starts, nil), append(h.ends, nil)
		h.locations, h.timezone = append(h.locations, ""), append(h.timezone, "")
		return
	}
	h.starts, h.ends = append(h.starts, &r.Starts), append(h.ends, &r.Ends)
	h.locations, h.timezone = append(h.locations, r.Location), append(h.timezone, r.Timezone)
}

func rowsOf(h *model.WorkingHours) *hoursRows {
	rows := &hoursRows{}
	for i := range h.Weekly {
		w := &h.Weekly[i]
		rows.add(&w.Weekday, nil, &w.HoursRange)
	}
	for i := range h.Dates {
		d := &h.Dates[i]
		for j := range d.Ranges {
			rows.add(nil, &d.Date, &d.Ranges[j])
		}
		if len(d.Ranges) == 0 {
			rows.add(nil, &d.Date, nil)
		}
	}
	return rows
}

// SetWorkingHours replaces the working hours of a locked person, and stores the person's version.
func (s *Store) SetWorkingHours(ctx context.Context, tx *pg.Tx, company id.Company, m *model.StaffMember, h *model.WorkingHours) error {
	rows := rowsOf(h)
	return tx.Pipeline(ctx,
		pg.Query{SQL: deleteHoursSQL, Args: []any{company, m.ID}},
		pg.Query{SQL: insertHoursSQL, Args: []any{company, m.ID, rows.positions, rows.weekdays, rows.dates, rows.starts, rows.ends, rows.locations, rows.timezone}},
		pg.Query{SQL: raiseStaffSQL, Args: []any{company, m.ID, m.Version, m.UpdatedAt}})
}

// WorkingHours reads the working hours of a person.
func (s *Store) WorkingHours(ctx context.Context, company id.Company, who id.StaffMember) (*model.WorkingHours, error) {
	var found []model.StaffMember
	h := &model.WorkingHours{}
	err := s.ReadOf(ctx, company, pg.Query{SQL: staffByIDSQL, Args: []any{company, who}, Scan: scanStaff(&found)}, readHours(company, who, h))
	member, err := only(found, "staff member", err)
	if err != nil {
		return nil, err
	}
	h.Of(member)
	return h, nil
}

// LockedWorkingHours reads the working hours of a locked person.
func (s *Store) LockedWorkingHours(ctx context.Context, tx *pg.Tx, company id.Company, m *model.StaffMember) (*model.WorkingHours, error) {
	h := &model.WorkingHours{}
	err := tx.Pipeline(ctx, readHours(company, m.ID, h))
	h.Of(m)
	return h, err
}

// WorkingHoursOf reads the working hours of several people, by id, with the exceptions of the days from a day
// to another one (YYYY-MM-DD). It leaves out people who do not exist.
func (s *Store) WorkingHoursOf(ctx context.Context, company id.Company, who []id.StaffMember, from, to string) ([]*model.WorkingHours, error) {
	var found []model.StaffMember
	hours := map[id.StaffMember]*model.WorkingHours{}
	scan := func(rows pgx.Rows) error {
		var of id.StaffMember
		row, err := scanHours(rows, &of)
		if hours[of] == nil {
			hours[of] = &model.WorkingHours{}
		}
		row.addTo(hours[of])
		return err
	}
	err := s.ReadOf(ctx, company,
		pg.Query{SQL: staffByIDsSQL, Args: []any{company, who}, Scan: scanStaff(&found)},
		pg.Query{SQL: hoursOfAllSQL, Args: []any{company, who, from, to}, Scan: pg.Each(scan)})
	if err != nil {
		return nil, err
	}
	all := make([]*model.WorkingHours, len(found))
	for i := range found {
		if all[i] = hours[found[i].ID]; all[i] == nil {
			all[i] = &model.WorkingHours{}
		}
		all[i].Of(&found[i])
	}
	return all, nil
}

func readHours(company id.Company, who id.StaffMember, h *model.WorkingHours) pg.Query {
	return pg.Query{SQL: hoursSQL, Args: []any{company, who}, Scan: pg.Each(func(rows pgx.Rows) error {
		row, err := scanHours(rows)
		row.addTo(h)
		return err
	})}
}

// hoursRow is a row of working hours.
type hoursRow struct {
	weekday int32
	date    string // "" for a weekly shift
	works   bool   // the row has a shift
	shift   model.HoursRange
}

// scanHours reads a row whose hoursColumns come after the columns for before.
func scanHours(rows pgx.Rows, before ...any) (h hoursRow, err error) {
	r := &h.shift
	err = rows.Scan(append(before, &h.weekday, &h.date, &h.works, &r.Starts, &r.Ends, &r.Location, &r.Timezone)...)
	return h, err
}

// addTo adds the row to the hours of its person.
func (row hoursRow) addTo(h *model.WorkingHours) {
	if row.date == "" {
		h.Weekly = append(h.Weekly, model.WeeklyHours{Weekday: row.weekday, HoursRange: row.shift})
		return
	}
	if n := len(h.Dates); n == 0 || h.Dates[n-1].Date != row.date {
		h.Dates = append(h.Dates, model.DateHours{Date: row.date})
	}
	if row.works {
		day := &h.Dates[len(h.Dates)-1]
		day.Ranges = append(day.Ranges, row.shift)
	}
}
