package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

const (
	// AssignmentsSQL reads the assignments of dates, in the order in which callers see them.
	AssignmentsSQL = `select d.id, a.kind, a.resource_id, coalesce(n.name, ''), coalesce(n.color, ''), a.unit, a.position,
			a.buffer_before, a.buffer_after, a.taken_from, a.taken_until, a.active, a.substitutes_for
		from unnest($2::uuid[]) d(id)
		cross join lateral (` + assignedToDate + `) a
		left join lateral (` + nameOfResource + `) n on true
		order by d.id, a.position, a.resource_id`

	assignedToDate = `select a.kind, a.resource_id, a.unit, a.position, a.buffer_before, a.buffer_after, a.taken_from,
			a.taken_until, a.active, a.substitutes_for
		from assignments a where a.company_id = $1 and a.event_date_id = d.id offset 0`

	lockStaffSQL = `select s.id, 'staff', s.name, s.color, s.active, 0 from staff s
		where s.company_id = $1 and s.id` + pg.AmongIDs + ` order by s.id for no key update`

	lockRoomsSQL = `select r.id, 'room', r.name, '', r.active, r.capacity from rooms r
		where r.company_id = $1 and r.id` + pg.AmongIDs + ` order by r.id for no key update`

	// overlappingNeed reads the active assignments that overlap the time of n. Those of one unit do not overlap each
	// other, so they are the ones that end during this time, and at most the next one of each unit. Times are compared
	// rather than ranges, because only they are searched with an index under row level security.
	overlappingNeed = `select ` + takenByNeed + ` and a.taken_until > n.taken_from and a.taken_until <= n.taken_until
			union all
			select a.* from (select ` + takenByNeed + nextByNeed + `) a where a.unit = 0 and a.taken_from < n.taken_until
			union all
			select a.* from rooms r cross join generate_series(1, r.capacity) u(unit)
				cross join lateral (select ` + takenByNeed + ` and a.unit = u.unit::smallint and a.unit > 0` + nextByNeed + `) a
				where r.company_id = $1 and r.id = n.resource_id and a.taken_from < n.taken_until`

	takenByNeed = `a.unit, a.event_date_id, a.taken_from from assignments a
				where a.company_id = $1 and a.resource_id = n.resource_id and a.active`

	nextByNeed = ` and a.taken_until > n.taken_until order by a.taken_until limit 1`

	// OccupiedSQL finds the units that other dates take during each of several times, and the first of these
	// dates. $5 is the dates to leave out.
	OccupiedSQL = `select n.i, o.units, o.first
		from unnest($2::uuid[], $3::timestamptz[], $4::timestamptz[]) with ordinality n(resource_id, taken_from, taken_until, i)
		cross join lateral (
			select array_agg(distinct a.unit::integer) as units, (array_agg(a.event_date_id order by a.taken_from, a.event_date_id))[1] as first
			from (` + overlappingNeed + `) a where a.event_date_id not in (select unnest($5::uuid[]))
			having count(*) > 0) o`

	offSQL = `select n.i from unnest($2::uuid[], $3::timestamptz[], $4::timestamptz[]) with ordinality n(resource_id, taken_from, taken_until, i)
		where exists (select from time_off o where o.company_id = $1 and o.resource_id = n.resource_id
			and o.ends_at > n.taken_from and o.starts_at < n.taken_until)`

	// A date that an earlier statement moved or cancelled passes on its time and status.
	assignSQL = `insert into assignments (company_id, event_date_id, resource_id, kind, unit, position, buffer_before, buffer_after,
			taken_from, taken_until, active, substitutes_for)
		select $1, n.event_date_id, n.resource_id, n.kind, n.unit, n.position, n.before, n.after,
			d.starts_at - make_interval(mins => n.before), d.starts_at + make_interval(mins => d.duration_minutes + n.after),
			d.status = 'scheduled', n.substitutes_for
		from unnest($2::uuid[], $3::uuid[], $4::text[], $5::smallint[], $6::smallint[], $7::integer[], $8::integer[], $9::uuid[])
				n(event_date_id, resource_id, kind, unit, position, before, after, substitutes_for)
			join event_dates d on d.company_id = $1 and d.id = n.event_date_id
		on conflict (company_id, event_date_id, resource_id) do update set unit = excluded.unit, position = excluded.position,
			taken_from = excluded.taken_from, taken_until = excluded.taken_until, active = excluded.active,
			substitutes_for = excluded.substitutes_for`

	unassignSQL = `update assignments a set active = false, position = n.position
		from unnest($2::uuid[], $3::uuid[], $4::smallint[]) n(event_date_id, resource_id, position)
		where a.company_id = $1 and a.event_date_id = n.event_date_id and a.resource_id = n.resource_id`

	raiseSequencesSQL = `update event_dates set sequence = sequence + 1 where company_id = $1 and id = any($2)`

	// The constraint is checked now, so that its violation has a name.
	checkOverlapsSQL = `set constraints assignments_overlap immediate`
)

// Assignments reads the assignments of dates, also those that are not active. Without tx, it runs in its own
// transaction.
func (s *Store) Assignments(ctx context.Context, tx *pg.Tx, company id.Company, dates []id.EventDate) (map[id.EventDate][]model.Assignment, error) {
	found := map[id.EventDate][]model.Assignment{}
	if len(dates) == 0 {
		return found, nil
	}
	query := pg.Query{SQL: AssignmentsSQL, Args: []any{company, dates}, Scan: scanAssignments(found)}
	if tx == nil {
		return found, s.ReadOf(ctx, company, query)
	}
	return found, tx.Pipeline(ctx, query)
}

func scanAssignments(into map[id.EventDate][]model.Assignment) func(pgx.Rows) error {
	return pg.Each(func(rows pgx.Rows) error {
		var a model.Assignment
		err := rows.Scan(&a.Date, &a.Kind, &a.Resource, &a.Name, &a.Color, &a.Unit, &a.Position, &a.Before, &a.After,
			&a.From, &a.Until, &a.Active, &a.SubstitutesFor)
		a.From, a.Until = a.From.UTC(), a.Until.UTC()
		into[a.Date] = append(into[a.Date], a)
		return err
	})
}

// LockStaffing locks the staff and rooms of f until the end of tx, and reads them and what takes the times that
// f needs.
func (s *Store) LockStaffing(ctx context.Context, tx *pg.Tx, company id.Company, f *model.Staffing) (known map[id.UUID]model.KnownResource, occupied []model.Occupied, err error) {
	staff, rooms := f.Resources()
	known = make(map[id.UUID]model.KnownResource, len(staff)+len(rooms))
	needs := f.Needs()
	occupied = make([]model.Occupied, len(needs))
	queries := []pg.Query{
		{SQL: lockStaffSQL, Args: []any{company, staff}, Scan: scanKnown(known)},
		{SQL: lockRoomsSQL, Args: []any{company, rooms}, Scan: scanKnown(known)},
	}
	if len(needs) > 0 {
		queries = append(queries, occupations(company, needs, f.Stored(), occupied)...)
	}
	return known, occupied, tx.Pipeline(ctx, queries...)
}

// occupations returns the queries for what takes the times of needs, without the dates that are given.
func occupations(company id.Company, needs []model.Need, without []id.EventDate, into []model.Occupied) []pg.Query {
	resources, from, until := make([]id.UUID, len(needs)), make([]time.Time, len(needs)), make([]time.Time, len(needs))
	for i, n := range needs {
		resources[i], from[i], until[i] = n.Resource, n.From, n.Until
	}
	return []pg.Query{
		{SQL: OccupiedSQL, Args: []any{company, resources, from, until, without}, Scan: pg.Each(func(rows pgx.Rows) error {
			var at int64
			var o model.Occupied
			if err := rows.Scan(&at, &o.Units, &o.By); err != nil {
				return err
			}
			into[at-1].Units, into[at-1].By = o.Units, o.By
			return nil
		})},
		{SQL: offSQL, Args: []any{company, resources, from, until}, Scan: pg.Each(func(rows pgx.Rows) error {
			var at int64
			if err := rows.Scan(&at); err != nil {
				return err
			}
			into[at-1].Off = true
			return nil
		})},
	}
}

func scanKnown(into map[id.UUID]model.KnownResource) func(pgx.Rows) error {
	return pg.Each(func(rows pgx.Rows) error {
		var which id.UUID
		var r model.KnownResource
		err := rows.Scan(&which, &r.Kind, &r.Name, &r.Color, &r.Active, &r.Units)
		into[which] = r
		return err
	})
}

// assign returns the statements that store the staffing of dates, after those that store the dates. nil
// changes nothing.
func assign(company id.Company, f *model.Staffing) []pg.Query {
	if f == nil || f.Empty() {
		return nil
	}
	var queries []pg.Query
	if removed := f.Removed(); len(removed) > 0 {
		var o assignments
		o.add(removed)
		queries = append(queries, pg.Query{SQL: unassignSQL, Args: []any{company, o.dates, o.resources, o.positions}})
	}
	if made := f.Assignments(); len(made) > 0 {
		var o assignments
		o.add(made)
		queries = append(queries, pg.Query{SQL: assignSQL, Args: []any{company, o.dates, o.resources, o.kinds, o.units, o.positions,
			o.before, o.after, o.substitutes}})
	}
	if dates := f.Reassigned(); len(dates) > 0 {
		queries = append(queries, pg.Query{SQL: raiseSequencesSQL, Args: []any{company, dates}})
	}
	return append(queries, pg.Query{SQL: checkOverlapsSQL})
}

// assignments are the column values of assignments.
type assignments struct {
	dates            []id.EventDate
	resources        []id.UUID
	kinds            []string
	units, positions []int16
	before, after    []int32
	substitutes      []id.StaffMember
}

func (o *assignments) add(all []model.Assignment) {
	for _, a := range all {
		o.dates, o.resources = append(o.dates, a.Date), append(o.resources, a.Resource)
		o.substitutes, o.kinds = append(o.substitutes, a.SubstitutesFor), append(o.kinds, string(a.Kind))
		o.units, o.positions = append(o.units, int16(a.Unit)), append(o.positions, int16(a.Position))
		o.before, o.after = append(o.before, a.Before), append(o.after, a.After)
	}
}
