insert into customers (company_id, id, reference, first_name, last_name, email, version)
    select pg_temp.company(), pg_temp.customer(n), 'volume-' || n, pg_temp.first_name(n), pg_temp.last_name(n), pg_temp.email(n), 1
    from generate_series(1, pg_temp.customers()) n;

-- 100 events have 500 dates each, 25 dates a day: 475 dates of each are past. One event is for the whole day.
create function pg_temp.event(e bigint) returns uuid language sql immutable
    return pg_temp.identifier(timestamptz '2021-01-01 09:00:00+00' + e * interval '1 hour', 5, e);

create function pg_temp.option(e bigint, p bigint) returns uuid language sql immutable
    return pg_temp.identifier(timestamptz '2021-01-01 09:00:00+00' + e * interval '1 hour', 6, 10 * e + p);

create function pg_temp.date(e bigint, k bigint) returns uuid language sql immutable
    return pg_temp.identifier(timestamptz '2021-01-01 09:00:00+00' + e * interval '1 hour', 7, 1000 * e + k);

create function pg_temp.starts(e bigint, k bigint) returns timestamptz language sql stable
    return date_trunc('day', now()) + ((k - 475) * 4 + e % 4) * interval '1 day' + (6 + (e / 4) % 14) * interval '1 hour';

insert into events (company_id, id, title, description, type, status, timezone, location, created_at, updated_at, free_cancellation_minutes)
    select pg_temp.company(), pg_temp.event(e), (array['Morning Vinyasa', 'Reformer Pilates', 'Yin & Sound', 'Ashtanga, led', 'Prenatal Yoga'])[1 + e % 5] || ' ' || e,
        repeat('Bring a mat and a bottle of water. ', 5), case when e % 10 = 0 then 'workshop' else 'class' end, 'published', 'Europe/London',
        'Studio ' || e % 6, at, at, 1440
    from generate_series(1, 100) e, lateral (select timestamptz '2021-01-01 09:00:00+00' + e * interval '1 hour' as at) made;

update event_totals set events = events + 100 where company_id = pg_temp.company();

insert into pricing_options (company_id, id, event_id, position, name, price, currency, credits, tax_rate_basis_points)
    select pg_temp.company(), pg_temp.option(e, p), pg_temp.event(e), p, (array['Drop-in', 'Concession', 'Member'])[1 + p], 1400 - 200 * p, 'GBP', 1, 2000
    from generate_series(1, 100) e, generate_series(0, 2) p;

-- The numbers of bookings: a date of event 100 today has 60, one of event 96 today has 500, and dates that are
-- more than 40 days ahead have none.
create temp table booked as
    select e, k, case when (e, k) = (100, 475) then 60 when (e, k) = (96, 475) then 500 when k < 485 then 21 else 0 end as bookings
    from generate_series(1, 100) e, generate_series(0, 499) k;

insert into event_dates (company_id, id, event_id, starts_at, duration_minutes, timezone, capacity)
    select pg_temp.company(), pg_temp.date(e, k), pg_temp.event(e), pg_temp.starts(e, k), 60, 'Europe/London', greatest(21, bookings)
    from booked;

-- The busiest customer, the first one, made about 2,000 of the purchases, and others bought about 200 bookings
-- for them.
create temp table made as
    select e, k, i, 1000 * (1000 * e + k) + i as n, pg_temp.starts(e, k) as starts_at, least(date_trunc('second', now()) - i * interval '1 minute',
            pg_temp.starts(e, k) - (1 + (7 * i + e) % 20) * interval '1 day' - (1000 * e + k) % 997 * interval '1 minute') as at,
        case when i = 1 and (500 * e + k) % 24 = 0 then 1 else 2 + (7919 * e + 104729 * k + 1299709 * i) % (pg_temp.customers() - 1) end as purchaser,
        case when i = 3 and (500 * e + k) % 240 = 0 then 1 when i = 2 and k % 10 = 0 then 2 + (e + 7 * k) % (pg_temp.customers() - 1) end as recipient,
        k < 475 as past, i = 21 and bookings = 21 and k % 5 = 0 as cancelled, i % 5 = 0 as by_pass
    from booked, generate_series(1, bookings) i;

insert into transactions (company_id, id, purchaser_id, purchased_at, timezone, source, status, updated_at)
    select pg_temp.company(), pg_temp.identifier(at, 8, n), pg_temp.customer(purchaser), at, 'Europe/London', 'live', 'confirmed', at from made;

insert into bookings (company_id, id, transaction_id, position, event_id, event_date_id, pricing_option_id, bought_for, spaces, is_cancelled, cancelled_at,
        refund_due, method, money_method, currency, gross, net, credits_used, customer_pass_id, attendance, attendance_at)
    select pg_temp.company(), pg_temp.identifier(at, 9, n), pg_temp.identifier(at, 8, n), 0, pg_temp.event(e), pg_temp.date(e, k), pg_temp.option(e, i % 3),
        pg_temp.customer(recipient), 1, cancelled, case when cancelled then at + interval '1 hour' end,
        case when cancelled and k % 25 = 0 and not by_pass then 1000 else 0 end,
        case when by_pass then 'PASS' else 'CARD' end, case when i % 7 = 0 and not by_pass then 'CASH' end,
        case when not by_pass then 'GBP' end, case when not by_pass then 1400 - 200 * (i % 3) end, case when not by_pass then 1000 end,
        case when by_pass then 1 end, case when by_pass then pg_temp.pass(purchaser) end,
        case when past and not cancelled then case when i % 6 = 0 then 'no_show' else 'checked_in' end end, case when past and not cancelled then starts_at end
    from made;

update event_dates d set booked = m.spaces
    from (select e, k, count(*) filter (where not cancelled) as spaces from made group by e, k) m
    where d.company_id = pg_temp.company() and d.id = pg_temp.date(m.e, m.k);

-- A booking of the busiest date was moved 100 times. Of the others, those that came lately have an entry.
create function pg_temp.state(e bigint, k bigint, customer uuid) returns jsonb language sql stable
    return jsonb_build_object('price', 1400, 'spaces', 1, 'event_id', pg_temp.event(e), 'event_title', 'Morning Vinyasa', 'timezone', 'Europe/London',
        'starts_at', to_char(pg_temp.starts(e, k) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'event_date_id', pg_temp.date(e, k),
        'customer_id', customer, 'managed_by_id', customer, 'pricing_option_id', pg_temp.option(e, 0));

insert into booking_history (company_id, booking_id, sequence, action, at, actor, details, reason)
    select pg_temp.company(), pg_temp.identifier(at, 9, n), s, 'moved', at + s * interval '1 second', 'owner@riverside.example',
        jsonb_build_object('before', pg_temp.state(e, k + s % 2, pg_temp.customer(purchaser)), 'after', pg_temp.state(e, k + (s + 1) % 2, pg_temp.customer(purchaser))),
        'The customer asked for another day.'
    from made, generate_series(1, 100) s where (e, k, i) = (100, 475, 1);

insert into booking_history (company_id, booking_id, sequence, action, at, actor, details)
    select pg_temp.company(), pg_temp.identifier(at, 9, n), 1, 'transferred', at, 'owner@riverside.example',
        jsonb_build_object('before', pg_temp.state(e, k, pg_temp.customer(purchaser)), 'after', pg_temp.state(e, k, pg_temp.customer(recipient)))
    from made where recipient is not null;

-- 100 customers wait for the busiest date, and the busiest customer waits for 30 dates.
insert into waitlist_entries (company_id, id, event_id, event_date_id, customer_id, spaces, mode, pricing_option_id, method, offer_minutes, timezone, state,
        joined_at, updated_at, closes_at)
    select pg_temp.company(), pg_temp.identifier(at, 10, n), pg_temp.event(e), pg_temp.date(e, k), pg_temp.customer(c), 1, 'offer', pg_temp.option(e, 0), 'CARD', 60,
        'Europe/London', case when k < 475 then 'closed' else 'waiting' end, at, at, pg_temp.starts(e, k)
    from (select row_number() over () as n, e, k, c, least(now(), pg_temp.starts(e, k)) - interval '2 days' - c * interval '1 second' as at
        from (select 100 as e, 475 as k, c from generate_series(5001, 5100) c
            union all select e, 476, 1 from generate_series(61, 90) e
            union all select e, k, 2 + (7 * e + k) % 900 from generate_series(1, 100) e, generate_series(0, 474) k) wishes) w;
