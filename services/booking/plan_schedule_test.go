package booking

import (
	"fmt"
	"testing"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/services/booking/store"
)

// fillDatesSQL adds n hourly dates to every event.
const fillDatesSQL = `insert into event_dates (company_id, id, event_id, starts_at, duration_minutes, timezone)
	select $1, gen_random_uuid(), e.id, now() + n * interval '1 hour', 60, 'UTC'
	from events e cross join generate_series(24, 23 + $2::integer) n where e.company_id = $1`

func TestSummaryPlans(t *testing.T) {
	t.Parallel()
	w, owner := newPlanWorld(t)
	var events []id.Event
	for range 20 {
		events = append(events, idOf[id.Event](t, w.event(w.ctx, nil).GetId()))
	}
	const dates = 500
	if _, err := owner.Exec(t.Context(), fillDatesSQL, w.company, dates); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for _, analyzed := range []bool{false, true} {
		if analyzed {
			if _, err := owner.Exec(t.Context(), `vacuum analyze`); err != nil {
				t.Fatal(err)
			}
		}
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			for _, c := range []struct {
				name, sql string
				args      []any
				most      float64 // rows of an event's dates
			}{
				{"a summary reads each date of the page's events once", store.SummariesSQL, []any{w.company, events, now}, dates + 3},
				{"a page with 3 dates of each event reads no others", store.ShownDatesSQL, []any{w.company, events, now, int32(3)}, 4},
			} {
				t.Run(fmt.Sprintf("%s, with a %s, analyzed %t", c.name, mode, analyzed), func(t *testing.T) {
					p := explain(t, w.db, w.company, mode, c.sql, c.args...)
					read := 0.0
					p.walk(func(n plan) {
						if n.Table == "event_dates" {
							read += n.Rows * n.Loops
						}
					})
					if most := c.most * float64(len(events)); read > most {
						t.Errorf("reads %.0f dates, more than %.0f\n%s", read, most, p)
					}
				})
			}
		}
	}
}
