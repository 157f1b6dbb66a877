insert into customers (company_id, id, reference, first_name, last_name, email, mobile, archived, created_at, updated_at)
    select pg_temp.company(), pg_temp.customer(n), 'volume-' || n, pg_temp.first_name(n), pg_temp.last_name(n), pg_temp.email(n),
        '+44 7700 ' || lpad((900000 + n)::text, 6, '0'), n % 50 = 49, pg_temp.joined(n), pg_temp.joined(n)
    from generate_series(1, pg_temp.customers()) n;

insert into customer_counts as c (company_id, slot, live) values (pg_temp.company(), 0, pg_temp.customers())
    on conflict (company_id, slot) do update set live = c.live + excluded.live;

-- The busiest customer has 200 notes, and every tenth of them is long.
insert into notes (company_id, id, customer_id, body, kind, author, pinned, created_at, updated_at)
    select pg_temp.company(), pg_temp.identifier(at, 3, n), pg_temp.customer(1),
        repeat('Prefers a mat near the door, and tells us about the left knee. ', case when n % 10 = 0 then 40 else 2 end),
        (array['general', 'health', 'payment', 'preference'])[1 + n % 4], 'owner@riverside.example', n % 50 = 0, at, at
    from generate_series(1, 200) n, lateral (select now() - n * interval '7 days' as at) made;

insert into notes (company_id, id, customer_id, body, kind, author, pinned, created_at, updated_at)
    select pg_temp.company(), pg_temp.identifier(at, 4, n), pg_temp.customer(n), 'Paid the deposit in cash.', 'payment', 'owner@riverside.example', false, at, at
    from generate_series(2, pg_temp.customers(), 2) n, lateral (select pg_temp.joined(n) as at) made;
