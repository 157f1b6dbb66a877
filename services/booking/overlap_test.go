package booking

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/store"
)

// fillRandomSQL adds assignments of random lengths to one unit of a resource, with random gaps between them.
const fillRandomSQL = `insert into assignments (company_id, event_date_id, resource_id, kind, unit, position, taken_from, taken_until)
	select $1, gen_random_uuid(), $2, case when $3 = 0 then 'staff' else 'room' end, $3::integer, 0, $4::timestamptz + ends - length, $4::timestamptz + ends
	from (select length, sum(gap + length) over (order by n) as ends from (
		select n, (random() * random() * 12)::integer * interval '15 minutes' as gap,
			(1 + (random() ^ 6 * 300)::integer) * interval '15 minutes' as length
		from generate_series(1, 60) n) n) n`

// TestOverlaps compares the statements that find what takes a time with plain comparisons of ranges.
func TestOverlaps(t *testing.T) { // invariant 32
	t.Parallel()
	w := newWorld(t)
	ann, hall := w.teacher("Ann").UUID(), w.studio("Hall", 3).UUID()
	w.exec(fillRandomSQL, w.company, ann, 0, noon())
	for unit := 1; unit <= 3; unit++ {
		w.exec(fillRandomSQL, w.company, hall, unit, noon())
	}
	without := one[[]id.EventDate](w, `select array_agg(event_date_id) from (select event_date_id from assignments order by random() limit 20) a`)
	var resources []id.UUID
	var starts, ends []time.Time
	for i := range 300 {
		at := noon().Add(time.Duration(i*20-60) * time.Minute)
		resources = append(resources, []id.UUID{ann, hall}[i%2])
		starts, ends = append(starts, at), append(ends, at.Add(time.Duration(1+i%7*i%50)*15*time.Minute))
	}
	const naive = `select n.i, array_agg(distinct a.unit::integer), (array_agg(a.event_date_id order by a.taken_from, a.event_date_id))[1]
		from unnest($2::uuid[], $3::timestamptz[], $4::timestamptz[]) with ordinality n(resource_id, taken_from, taken_until, i)
		join assignments a on a.company_id = $1 and a.active and a.resource_id = n.resource_id and a.event_date_id <> all($5)
			and tstzrange(a.taken_from, a.taken_until) && tstzrange(n.taken_from, n.taken_until) group by 1 order by 1`
	found := w.occupied(store.OccupiedSQL+" order by 1", w.company, resources, starts, ends, without)
	want := w.occupied(naive, w.company, resources, starts, ends, without)
	if diff := cmp.Diff(want, found); diff != "" || len(want) < 100 {
		t.Errorf("%d times are taken:\n%s", len(want), diff)
	}
	for i, resource := range resources {
		var first, wantFirst id.EventDate
		var count, wantCount int64
		err := w.db.InTx(t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
			return tx.Pipeline(ctx,
				pg.Query{SQL: store.TimeOffConflictsSQL, Args: []any{w.company, resource, starts[i], ends[i]}, Scan: pg.First(&first, &count)},
				pg.Query{SQL: `select event_date_id, count(*) over () from assignments where company_id = $1 and resource_id = $2 and active
					and tstzrange(taken_from, taken_until) && tstzrange($3, $4) order by taken_from, event_date_id limit 1`,
					Args: []any{w.company, resource, starts[i], ends[i]}, Scan: pg.First(&wantFirst, &wantCount)})
		})
		if err != nil || first != wantFirst || count != wantCount {
			t.Errorf("time off %d has %d conflicts, want %d; %v", i, count, wantCount, err)
		}
	}
}

// occupied returns the rows of a statement like OccupiedSQL, as text.
func (w *world) occupied(sql string, args ...any) (rows []string) {
	w.t.Helper()
	err := w.db.InTx(w.t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
		return tx.Pipeline(ctx, pg.Query{SQL: sql, Args: args, Scan: pg.Each(func(r pgx.Rows) error {
			var at int64
			var units []int32
			var first id.EventDate
			err := r.Scan(&at, &units, &first)
			rows = append(rows, fmt.Sprint(at, units, first))
			return err
		})})
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return rows
}
