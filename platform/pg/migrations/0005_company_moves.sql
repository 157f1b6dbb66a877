-- +goose NO TRANSACTION
-- +goose Up

-- Companies that move to another installation, or come from one. The services only read it.
--
--   arriving: its rows are being copied to this database. Nothing sees them.
--   leaving:  its requests are refused and jobs skip it; events about it are still published and handled
--   left:     another installation has it. Nothing sees its rows, which are to be deleted.
--
-- The column is not named company_id, because the table is not a company's.
--
-- A state counts for transactions that begin at effective_at or later, so no transaction sees a
-- company in one statement and not in the next.
create table if not exists company_moves (
    company      uuid primary key,
    state        text not null check (state in ('arriving', 'leaving', 'left')),
    effective_at timestamptz not null,
    other_cell   text not null
);

-- The companies that a transaction of all companies does not see. app.origin says what it is for:
-- event: it handles events. lookup: it finds out whose an identifier is.
-- +goose StatementBegin
create or replace function app_withheld_companies() returns uuid[]
    language plpgsql stable parallel safe security definer set search_path = public, pg_temp as $$
begin
    return (select coalesce(array_agg(m.company), '{}') from company_moves m
        where effective_at <= now() and case coalesce(current_setting('app.origin', true), '')
            when 'event' then state <> 'leaving'
            when 'lookup' then state = 'arriving'
            else true
        end);
end
$$;
-- +goose StatementEnd

-- The companies whose events are not published.
-- +goose StatementBegin
create or replace function app_silent_companies() returns uuid[]
    language plpgsql stable parallel safe security definer set search_path = public, pg_temp as $$
begin
    return (select coalesce(array_agg(m.company), '{}') from company_moves m where effective_at <= now() and state <> 'leaving');
end
$$;
-- +goose StatementEnd

-- The companies about which nothing is written any more that no event is about.
-- +goose StatementBegin
create or replace function app_moving_companies() returns uuid[]
    language plpgsql stable parallel safe security definer set search_path = public, pg_temp as $$
begin
    return (select coalesce(array_agg(m.company), '{}') from company_moves m where effective_at <= now());
end
$$;
-- +goose StatementEnd

-- Fails if the transaction may not be of a company, because the company moves.
-- +goose StatementBegin
create or replace function app_refuse_moving(wanted uuid) returns void
    language plpgsql stable parallel safe security definer set search_path = public, pg_temp as $$
begin
    if exists (select from company_moves where company = wanted and effective_at <= now()
        and (state <> 'leaving' or coalesce(current_setting('app.origin', true), '') <> 'event')) then
        raise exception 'company % is being moved to another installation', wanted using errcode = 'RS001';
    end if;
end
$$;
-- +goose StatementEnd

-- app_set_move_check chooses between two versions of the functions that every transaction of a
-- company calls: while company_moves has rows, they check it. Otherwise they are inlined and cost
-- nothing. Replacing a function locks no table, and invalidates the plans that contain it.
-- +goose StatementBegin
create or replace function app_set_move_check() returns void
    language plpgsql set search_path = public, pg_temp as $$
begin
    perform pg_advisory_xact_lock(hashtext('company_moves'));
    if exists (select from company_moves) then
        create or replace function app_enter(company text) returns text
            language plpgsql volatile as $f$
        begin
            perform set_config('app.company_id', company, true);
            perform public.app_refuse_moving(nullif(company, '')::uuid);
            return company;
        end
        $f$;
        create or replace function app_company() returns uuid
            language plpgsql stable parallel safe as $f$
        declare
            company uuid := nullif(nullif(current_setting('app.company_id', true), ''), '*')::uuid;
        begin
            if company is not null then
                perform public.app_refuse_moving(company);
            end if;
            return company;
        end
        $f$;
    else
        create or replace function app_enter(company text) returns text
            language sql volatile
            return set_config('app.company_id', company, true);
        create or replace function app_company() returns uuid
            language sql stable parallel safe
            return nullif(nullif(current_setting('app.company_id', true), ''), '*')::uuid;
    end if;
end
$$;
-- +goose StatementEnd

-- allow repeatable: it takes what is already taken
revoke execute on function app_set_move_check() from public;

-- allow repeatable: it sets what is already set
select app_set_move_check();

-- From now on, jobs do not see the rows of a company that moves. The new part counts for
-- transactions of all companies alone. PostgreSQL evaluates it once per query.
-- +goose StatementBegin
create or replace function tenant_table(name regclass) returns void
    language plpgsql as $$
begin
    execute format('alter table %s enable row level security', name);
    execute format('create policy tenant on %s using (company_id = (select app_company()) '
        'or ((select app_all_companies()) and company_id <> all ((select app_withheld_companies())::uuid[])))', name);
end
$$;
-- +goose StatementEnd

-- Each table is locked for a moment: a commit follows each. What waits longer than half a second
-- for the lock lets the queries behind it pass and tries again.
-- allow repeatable: it skips the policies that are changed
-- +goose StatementBegin
do $$
declare
    name text;
    withheld text;
    changed boolean;
begin
    perform set_config('lock_timeout', '500', false);
    for name, withheld in
        select format('%I', tablename), case tablename when 'outbox_events' then 'app_silent_companies' else 'app_withheld_companies' end
        from pg_policies
        where schemaname = 'public' and policyname = 'tenant'
            and qual not like '%app_silent_companies%' and qual not like '%app_withheld_companies%'
        order by 1
    loop
        for attempt in 1..20 loop
            begin
                execute format('alter policy tenant on %s using (company_id = (select app_company()) '
                    'or ((select app_all_companies()) and company_id <> all ((select %s())::uuid[])))', name, withheld);
                changed := true;
            exception when lock_not_available then
                if attempt = 20 then
                    raise;
                end if;
                changed := false;
            end;
            commit;
            exit when changed;
            perform pg_sleep(0.1);
        end loop;
    end loop;
    perform set_config('lock_timeout', '5000', false);
end
$$;
-- +goose StatementEnd
