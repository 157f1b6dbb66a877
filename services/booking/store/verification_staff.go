package store

// Verifications of staff, rooms and appointments. $2 is the present.
const (
	VerifyStaffOverlaps Verification = overlapsSQL + `'staff'` + byResourceSQL

	VerifyRoomOverlaps Verification = overlapsSQL + `'room'` + byResourceSQL

	// An overlap is an assignment that begins before an earlier one of the same unit has ended.
	overlapsSQL = `select a.resource_id, count(*) filter (where a.taken_from < a.busy_until), 0::bigint, null::integer
		from (select resource_id, taken_from, max(taken_until) over (partition by resource_id, unit order by taken_from, taken_until
				rows between unbounded preceding and 1 preceding) as busy_until
			from assignments where company_id = $1 and active and kind = `

	byResourceSQL = `) a group by a.resource_id`

	// The assignments of a date, and those that have its time.
	VerifyAssignedTimes Verification = `select d.id, count(*), count(*) filter (
				where a.taken_from = d.starts_at - make_interval(mins => a.buffer_before)
					and a.taken_until = d.starts_at + make_interval(mins => d.duration_minutes + a.buffer_after)), null::integer
		from assignments a join event_dates d on d.company_id = $1 and d.id = a.event_date_id
		where a.company_id = $1 group by d.id`

	// The active assignments of a date, and those that must be. Appointments that were imported after their end
	// take no time.
	VerifyAssigned Verification = `select d.id, count(*) filter (where a.active), count(*) filter (
				where d.status = 'scheduled' and e.deleted_at is null and a.position >= 0
					and (a.active or d.appointment_id is null or a.taken_until > $2)), null::integer
		from assignments a join event_dates d on d.company_id = $1 and d.id = a.event_date_id
			join events e on e.company_id = $1 and e.id = d.event_id
		where a.company_id = $1 group by d.id`

	// A room can lose a unit that only past dates used.
	VerifyUnits Verification = `select r.id, (select count(*) from assignments a
				where a.company_id = $1 and a.resource_id = r.id and a.active and a.taken_until > $2 and a.unit > r.capacity),
			0::bigint, null::integer
		from rooms r where r.company_id = $1`

	// A date of appointments that is not cancelled has its space taken, and one staff member.
	VerifySlots Verification = `select d.id, case when d.booked = 0 then 1 else (select count(*) from assignments a
				where a.company_id = $1 and a.event_date_id = d.id and a.kind = 'staff' and a.position >= 0 and (a.active or a.taken_until <= $2)) end,
			case when d.booked = 0 then 0 else 1 end::bigint, null::integer
		from event_dates d where d.company_id = $1 and d.appointment_id is not null and d.status = 'scheduled'`
)
