package reports

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// verification compares a table of sums with the sums that a query computes from facts. The query has the
// columns of the table after company_id and generation. It is not derived from the rules of contributions, so
// that a fault in them is found too.
type verification struct {
	table   string
	what    string // of the differences
	keys    string
	columns string
	sql     string
}

const (
	ofGeneration = ` where company_id = $1 and generation = $2`

	moneySQL = `select m.day, m.currency, m.method, m.tax_rate, 1 as kind, b.event_id as product_id, m.gross, m.net
			from movements m join bookings b on b.company_id = $1 and b.generation = $2 and b.id = m.booking_id
			where m.company_id = $1 and m.generation = $2
		union all select created_on, currency, method, 0, 2, pass_type_id, paid, paid from customer_passes` + ofGeneration + `
			and paid <> 0 and method not in ('', 'FREE') and not of_subscription
		union all select day, currency, method, 0, 3, plan_id, amount, amount from subscription_movements` + ofGeneration

	moneySums = `coalesce(sum(gross) filter (where gross > 0), 0), -coalesce(sum(gross) filter (where gross < 0), 0), sum(net),
		count(*) filter (where gross > 0), count(*) filter (where gross < 0)`

	verifyTakingsSQL  = `select day, currency, method, tax_rate, ` + moneySums + ` from (` + moneySQL + `) m group by day, currency, method, tax_rate`
	verifyProductsSQL = `select day, currency, kind, product_id, ` + moneySums + ` from (` + moneySQL + `) m group by day, currency, kind, product_id`

	verifyAttendanceSQL = `select date_id, coalesce(sum(spaces) filter (where status <> 'cancelled'), 0), coalesce(sum(spaces) filter (where status = 'attended'), 0),
			coalesce(sum(spaces) filter (where status = 'no_show'), 0), coalesce(sum(spaces) filter (where status = 'cancelled'), 0),
			coalesce(sum(spaces) filter (where status = 'cancelled' and late), 0)
		from bookings` + ofGeneration + ` and day is null group by date_id`

	eventAttendanceSQL = `with dates_and_appointments as (
			select d.day, d.event_id, false as is_appointment, 1::bigint as dates, coalesce(b.booked, 0) as booked, coalesce(b.attended, 0) as attended,
				coalesce(b.no_shows, 0) as no_shows, coalesce(b.cancelled, 0) as cancelled, coalesce(b.cancelled_late, 0) as cancelled_late,
				coalesce(d.capacity, 0) as capacity, case when d.capacity is null then 0 else coalesce(b.booked, 0) end as booked_of_capacity
			from dates d left join (` + verifyAttendanceSQL + `) b (date_id, booked, attended, no_shows, cancelled, cancelled_late) on b.date_id = d.id
			where d.company_id = $1 and d.generation = $2 and d.day is not null and not d.is_cancelled
			union all
			select day, event_id, true, 1, spaces, case status when 'attended' then spaces else 0 end, case status when 'no_show' then spaces else 0 end,
				0, 0, spaces, spaces
			from bookings` + ofGeneration + ` and day is not null and status <> 'cancelled')`

	sumsOfEvents = `event_id, is_appointment, sum(dates), sum(booked), sum(attended), sum(no_shows), sum(cancelled), sum(cancelled_late),
			sum(capacity), sum(booked_of_capacity)
		from dates_and_appointments group by 1, event_id, is_appointment`

	verifyEventsSQL        = eventAttendanceSQL + ` select day, ` + sumsOfEvents
	verifyMonthlyEventsSQL = eventAttendanceSQL + ` select date_trunc('month', day)::date, ` + sumsOfEvents

	verifyCreditsSQL = `with passes as (select id, pass_type_id, currency, expires, case when of_subscription then 0 else paid end as paid, assigned
				from customer_passes` + ofGeneration + ` and not is_cancelled and not is_unlimited),
		daily as (select p.id, p.pass_type_id, p.currency, p.expires, p.paid, p.assigned, e.day,
				coalesce(sum(e.credits) filter (where e.kind in ('assigned', 'granted')), 0) as added,
				-coalesce(sum(e.credits) filter (where e.kind in ('redeemed', 'returned')), 0) as used,
				-coalesce(sum(e.credits) filter (where e.kind = 'expired'), 0) as expired,
				coalesce(sum(e.credits) filter (where e.kind not in ('assigned', 'granted', 'redeemed', 'returned', 'expired')), 0) as adjusted,
				sum(e.credits) as credits
			from passes p join ledger_entries e on e.company_id = $1 and e.generation = $2 and e.pass_id = p.id
			group by p.id, p.pass_type_id, p.currency, p.expires, p.paid, p.assigned, e.day),
		balances as (select *, sum(credits) over w as balance, coalesce(sum(credits) over (w rows between unbounded preceding and 1 preceding), 0) as earlier
			from daily window w as (partition by id order by day)),
		valued as (select *, case when assigned > 0 then div(paid * least(greatest(balance, 0), assigned), assigned) else 0 end as worth,
				case when assigned > 0 then div(paid * least(greatest(earlier, 0), assigned), assigned) else 0 end as earlier_worth
			from balances),
		changes as (select day, pass_type_id, currency, added, used, expired, adjusted, worth - earlier_worth as worth from valued where day <= expires
			union all select day, pass_type_id, currency, added, used, expired + credits, adjusted, 0 from valued where day > expires
			union all select expires + 1, pass_type_id, currency, 0, 0, balance, 0, -worth from (
				select distinct on (id) * from valued where day <= expires and expires < '9999-12-31' order by id, day desc) last)`

	verifyDailyCreditsSQL = verifyCreditsSQL + ` select day, pass_type_id, currency, sum(added), sum(used), sum(expired), sum(adjusted), sum(worth)
		from changes group by day, pass_type_id, currency`

	verifyMonthlyCreditsSQL = verifyCreditsSQL + ` select date_trunc('month', day)::date, pass_type_id, currency, sum(added), sum(used), sum(expired), sum(adjusted), sum(worth)
		from changes group by 1, pass_type_id, currency`

	verifyCreatedSQL = `select created_on, count(*) from customers` + ofGeneration + ` and not is_deleted group by created_on`

	activeSQL = `select b.customer_id, coalesce(b.day, d.day) as day, count(*) as bookings
		from bookings b left join dates d on b.day is null and d.company_id = $1 and d.generation = $2 and d.id = b.date_id and not d.is_cancelled
		where b.company_id = $1 and b.generation = $2 and b.status in ('confirmed', 'attended') and coalesce(b.day, d.day) is not null group by 1, 2`

	verifyActivitySQL = `with days as (select a.customer_id, a.day from (` + activeSQL + `) a
			join customers c on c.company_id = $1 and c.generation = $2 and c.id = a.customer_id and not c.is_deleted)
		select day, next_day, count(*) from (
			select day, coalesce(lead(day) over (partition by customer_id order by day), '9999-12-31') as next_day from days
			union all select '0001-01-01', min(day) from days group by customer_id) pairs
		group by day, next_day`
)

// The keys and columns of the attendance of events.
const (
	eventRow   = "day event_id is_appointment"
	countedRow = "dates booked attended no_shows cancelled cancelled_late capacity booked_of_capacity"
)

// verifications are the comparisons of all sums.
var verifications = []verification{
	{"takings", "takings", "day currency method tax_rate", "paid refunded net payments refunds", verifyTakingsSQL},
	{"product_takings", "products", "day currency kind product_id", "paid refunded net payments refunds", verifyProductsSQL},
	{"attendance", "attendance", "date_id", "booked attended no_shows cancelled cancelled_late", verifyAttendanceSQL},
	{"event_attendance", "event_attendance", eventRow, countedRow, verifyEventsSQL},
	{"monthly_attendance", "monthly_attendance", eventRow, countedRow, verifyMonthlyEventsSQL},
	{"credits", "credits", "day pass_type_id currency", "added used expired adjusted worth", verifyDailyCreditsSQL},
	{"monthly_credits", "monthly_credits", "day pass_type_id currency", "added used expired adjusted worth", verifyMonthlyCreditsSQL},
	{"created_customers", "customers", "day", "customers", verifyCreatedSQL},
	{"active_days", "active_days", "customer_id day", "bookings", activeSQL},
	{"activity", "activity", "day next_day", "customers", verifyActivitySQL},
}

// statement returns the text of the comparison. Its last row has no name, and the number of rows compared.
func (v verification) statement() string {
	keys, cols := strings.Fields(v.keys), strings.Fields(v.columns)
	all := strings.Join(append(keys, cols...), ", ")
	var key, values []string
	for _, k := range strings.Fields(v.keys) {
		key = append(key, k+"::text")
	}
	for _, c := range cols {
		values = append(values, "('"+v.what+"."+c+"', coalesce(s."+c+", 0)::bigint, coalesce(c."+c+", 0)::bigint)")
	}
	return "with computed (" + all + ") as (" + v.sql + "), stored as (select " + all + " from " + v.table + ofGeneration + ")" +
		" select d.what, concat_ws(' ', " + strings.Join(key, ", ") + "), d.stored, d.computed from stored s full join computed c using (" +
		strings.Join(strings.Fields(v.keys), ", ") + ") cross join lateral (values " + strings.Join(values, ", ") + ") as d (what, stored, computed)" +
		" where d.stored <> d.computed union all select '', '', count(*), 0 from stored"
}

// difference is a stored number that differs from the one computed from the facts.
type difference struct {
	what, id         string
	stored, computed int64
}

// verify calls each for the differences that a verification finds, and returns the number of rows compared.
func (s *store) verify(ctx context.Context, company id.Company, generation int64, v verification, each func(difference) error) (checked int64, err error) {
	err = s.Stream(ctx, pg.For(company), v.statement(), []any{company, generation}, func(rows pgx.Rows) error {
		var d difference
		if err := rows.Scan(&d.what, &d.id, &d.stored, &d.computed); err != nil {
			return err
		}
		if d.what == "" {
			checked = d.stored
			return nil
		}
		return each(d)
	})
	return checked, s.Fault(err)
}
