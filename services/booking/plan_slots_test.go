package booking

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/services/booking/store"
)

// TestSlowSlotPlans checks that a search for slots reads the assignments of its own time and people only.
func TestSlowSlotPlans(t *testing.T) {
	plain, owner := newPlanWorld(t)
	w := newSlotWorldOn(plain)
	w.fillSlots()
	// Months of past and coming dates, of the same people and rooms.
	for _, n := range []int{-2, -1, 1, 2} {
		w.exec(`insert into assignments (company_id, event_date_id, resource_id, kind, unit, position, taken_from, taken_until)
			select a.company_id, gen_random_uuid(), a.resource_id, a.kind, a.unit, 0, a.taken_from + $1 * interval '60 days', a.taken_until + $1 * interval '60 days'
			from assignments a where a.taken_from between '2029-12-20' and '2030-02-17'`, n)
	}
	ann := one[id.StaffMember](w.world, `select id from staff order by id limit 1`)
	from := time.Date(2030, 1, 9, 0, 0, 0, 0, time.UTC)
	// The week, its bounds in all zones and three days: less than two weeks.
	const most = 14 * 10 * 16 * 2
	// Without statistics, PostgreSQL uses the index of the exclusion constraint.
	vacuum(t, owner)
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		for _, staff := range []id.StaffMember{{}, ann} {
			queries := store.CalendarQueries(w.company, w.kind, store.CalendarQuery{Staff: staff, From: from, Until: from.AddDate(0, 0, 1)})
			for i, q := range queries {
				t.Run(fmt.Sprintf("query %d with a %s, of one person %t", i, mode, !staff.IsZero()), func(t *testing.T) {
					p := explain(t, w.db, w.company, mode, q.SQL, q.Args...)
					takes, byTime := strings.Contains(q.SQL, "assignments"), false
					p.walk(func(n plan) {
						byTime = byTime || n.Index == "assignments_by_time"
						if n.Type == "Seq Scan" && n.Table == "assignments" {
							t.Error("reads all assignments")
						}
						if rows := (n.Rows + n.Removed) * n.Loops; rows > most {
							t.Errorf("%s on %s %s goes through %.0f rows", n.Type, n.Table, n.Index, rows)
						}
					})
					if takes && !byTime {
						t.Error("does not use assignments_by_time")
					}
					if t.Failed() {
						t.Log(p)
					}
				})
			}
		}
	}
}
