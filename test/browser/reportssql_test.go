package browser

// The tables with the data of the owners, and functions that print figures as pages do. Days are local ones.
const tablesSQL = `
	create temporary table months (first date, last date, next date); -- the first days of three months
	create temporary table money (kind text, product text, method text, rate integer, day date, gross bigint, net bigint);
	create temporary table dates (id uuid, event text, day date, capacity integer);
	create temporary table visits (date_id uuid, event text, day date, customer uuid, spaces integer, state text);
	create temporary table people (id uuid, name text, created date);
	create temporary table passes (id uuid, customer uuid, title text, expires date, paid bigint, assigned integer,
		remaining integer, plan uuid, is_cancelled boolean);
	create temporary table entries (pass uuid, day date, credits integer);
	create temporary table plans (id uuid, price bigint, credits integer);
	create function pg_temp.pounds(n numeric) returns text immutable as $$
		select case when n < 0 then '−' else '' end || '£' || to_char(abs(n) / 100, 'FM999,990.00') $$ language sql;
	create function pg_temp.percent(n numeric, whole numeric) returns text immutable as $$
		select round(100 * n / whole) || '%' $$ language sql;
	create view pg_temp.last_money as select m.* from money m, months where day >= last and day < next;
	create view pg_temp.balances as select p.*, c.credits as closing, case
			when p.plan is not null then n.price * c.credits / n.credits
			else coalesce(p.paid, 0) * c.credits / p.assigned end as worth
		from passes p cross join months
			cross join lateral (select sum(e.credits)::bigint as credits from entries e where e.pass = p.id and e.day < next) c
			left join plans n on n.id = p.plan
		where not p.is_cancelled and p.expires >= next - 1;`

// The statements that read a service's database, with the company as $1.
const (
	bookingMoneySQL = `select 'class' as kind, e.title as product, coalesce(b.money_method, 'CARD') as method, o.tax_rate_basis_points as rate,
			(t.purchased_at at time zone 'Europe/London')::date as day, b.gross, b.net
		from bookings b
			join transactions t on t.company_id = b.company_id and t.id = b.transaction_id
			join events e on e.company_id = b.company_id and e.id = b.event_id
			join pricing_options o on o.company_id = b.company_id and o.id = b.pricing_option_id
		where b.company_id = $1 and b.gross > 0`

	bookingRefundsSQL = `select 'class' as kind, e.title as product, coalesce(h.money_method, b.money_method, 'CARD') as method,
			o.tax_rate_basis_points as rate, (h.at at time zone 'Europe/London')::date as day, -h.amount as gross, -h.net as net
		from booking_history h
			join bookings b on b.company_id = h.company_id and b.id = h.booking_id
			join events e on e.company_id = b.company_id and e.id = b.event_id
			join pricing_options o on o.company_id = b.company_id and o.id = b.pricing_option_id
		where h.company_id = $1 and h.action = 'refunded' and h.amount > 0`

	passMoneySQL = `select 'pass' as kind, t.title as product, p.paid_method as method, 0 as rate,
			(p.created_at at time zone 'Europe/London')::date as day, p.paid_gross as gross, p.paid_gross as net
		from customer_passes p join pass_types t on t.company_id = p.company_id and t.id = p.pass_type_id
		where p.company_id = $1 and p.paid_gross > 0 and p.subscription_version is null`

	periodMoneySQL = `select 'plan' as kind, n.title as product, p.payment_method as method, 0 as rate,
			(p.paid_at at time zone 'Europe/London')::date as day, p.paid_amount as gross, p.paid_amount as net
		from periods p join plans n on n.company_id = p.company_id and n.id = p.plan_id
		where p.company_id = $1 and p.paid_amount > 0`

	datesSQL = `select d.id, e.title as event, (d.starts_at at time zone d.timezone)::date as day, d.capacity
		from event_dates d join events e on e.company_id = d.company_id and e.id = d.event_id
		where d.company_id = $1 and d.status = 'scheduled'`

	visitsSQL = `select d.id as date_id, e.title as event, (d.starts_at at time zone d.timezone)::date as day,
			coalesce(b.bought_for, t.purchaser_id) as customer, b.spaces,
			case when b.is_cancelled then 'cancelled' else coalesce(b.attendance, 'not recorded') end as state
		from bookings b
			join transactions t on t.company_id = b.company_id and t.id = b.transaction_id
			join event_dates d on d.company_id = b.company_id and d.id = b.event_date_id
			join events e on e.company_id = b.company_id and e.id = b.event_id
		where b.company_id = $1`

	peopleSQL = `select id, first_name || ' ' || last_name as name, (created_at at time zone 'Europe/London')::date as created
		from customers where company_id = $1 and deleted_at is null`

	passesSQL = `select p.id, p.customer_id as customer, t.title, p.expiry_date as expires, p.paid_gross as paid, t.total_uses as assigned,
			p.remaining_uses as remaining, case when p.subscription_version is not null then p.pass_type_id end as plan,
			p.status = 'cancelled' as is_cancelled
		from customer_passes p join pass_types t on t.company_id = p.company_id and t.id = p.pass_type_id
		where p.company_id = $1`

	entriesSQL = `select customer_pass_id as pass, (created_at at time zone 'Europe/London')::date as day, credits
		from ledger_entries where company_id = $1`

	plansSQL = `select id, price, credits from plans where company_id = $1`
)

// The statements that answer the questions: one text for each row, as the pages print it.
const (
	takenSQL = `select unnest(array[pg_temp.pounds(now), pg_temp.pounds(before), case
				when now > before then round(100 * (now - before) / before) || '% more'
				when now < before then round(100 * (before - now) / before) || '% less'
				else 'the same' end])
		from (select sum(gross) filter (where day >= last and day < next) as now, sum(gross) filter (where day >= first and day < last) as before
			from money, months) s`

	methodsSQL = `select pg_temp.pounds(sum(gross)) from pg_temp.last_money where method in ('CARD', 'CASH') group by method order by method`

	taxSQL = `select rate / 100 || '%: ' || pg_temp.pounds(sum(gross - net)) from pg_temp.last_money group by rate order by rate`

	bestClassSQL = `select unnest(array[product, pg_temp.pounds(gross)])
		from (select product, sum(gross) as gross from pg_temp.last_money where kind = 'class' group by product order by 2 desc limit 1) s`

	refundedSQL = `select pg_temp.pounds(-sum(gross)) from pg_temp.last_money cross join generate_series(1, 2) as tile_and_table
		where gross < 0 group by tile_and_table`

	attendedSQL = `select coalesce(sum(spaces) filter (where state = s), 0)::text
		from unnest(array['checked_in', 'no_show']) with ordinality as w (s, place), visits, months
		where day >= last and day < next group by s, place order by place`

	fullestSQL = `with occupancy as (select d.event, trim(to_char(d.day, 'Day')) as weekday, d.capacity,
				(select coalesce(sum(spaces), 0) from visits v where v.date_id = d.id and v.state <> 'cancelled') as booked
			from dates d, months where d.capacity is not null and d.day >= last and d.day < next)
		(select event || ' ' || pg_temp.percent(sum(booked), sum(capacity)) from occupancy group by event order by sum(booked) / sum(capacity) desc limit 1)
		union all
		(select weekday || ' ' || pg_temp.percent(sum(booked), sum(capacity)) from occupancy group by weekday order by sum(booked) / sum(capacity) desc limit 1)`

	creditsSQL = `select unnest(array[sum(closing)::text, pg_temp.pounds(sum(worth))]) from pg_temp.balances`

	customersSQL = `with active as (select distinct customer, day >= last as is_last from visits, months
			where state not in ('cancelled', 'no_show') and day >= first and day < next)
		select count(*)::text from people, months where created >= last and created < next
		union all
		select count(*)::text from active a where not is_last and not exists (select from active l where l.is_last and l.customer = a.customer)`

	expiringSQL = `select concat_ws(', ', c.name, p.title, p.remaining || ' credits',
				pg_temp.pounds(case when p.plan is not null then n.price * p.remaining / n.credits else coalesce(p.paid, 0) * p.remaining / p.assigned end))
		from passes p join people c on c.id = p.customer cross join months left join plans n on n.id = p.plan
		where not p.is_cancelled and p.remaining > 0 and p.expires between next and next + 30 order by 1`
)
