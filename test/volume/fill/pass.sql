insert into customers (company_id, id)
    select pg_temp.company(), pg_temp.customer(n) from generate_series(1, pg_temp.customers()) n;

-- Every customer has a pass, and the busiest customer has 20. Their first one has many entries in its ledger.
insert into customer_passes (company_id, id, customer_id, pass_type_id, remaining_uses, total_uses, start_date, expiry_date, status, created_at, updated_at)
    select pg_temp.company(), pg_temp.pass(n), pg_temp.customer(case when n > pg_temp.customers() then 1 else n end), t.id, 10, 10,
        current_date - n::integer % 700, current_date - n::integer % 700 + 180, 'active', pg_temp.joined(n), pg_temp.joined(n)
    from generate_series(1, pg_temp.customers() + 19) n,
        (select id from pass_types where company_id = pg_temp.company() and plan_version is null order by created_at limit 1) t;

update pass_totals set customer_passes = customer_passes + pg_temp.customers() + 19 where company_id = pg_temp.company();

insert into ledger_entries (company_id, customer_pass_id, sequence, kind, credits, balance, actor, created_at)
    select pg_temp.company(), pg_temp.pass(n), 1, 'assigned', 10, 10, 'import', pg_temp.joined(n)
    from generate_series(2, pg_temp.customers() + 19) n;

insert into ledger_entries (company_id, customer_pass_id, sequence, kind, credits, balance, actor, created_at, reason)
    select pg_temp.company(), pg_temp.pass(1), n, case when n = 1 then 'assigned' else 'adjusted' end,
        case when n = 1 then 10 when n % 2 = 0 then -1 else 1 end, case when n % 2 = 0 then 9 else 10 end,
        'import', pg_temp.joined(1) + n * interval '1 minute', case when n > 1 then 'Counted again.' end
    from generate_series(1, 301) n;
