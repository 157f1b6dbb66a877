-- +goose NO TRANSACTION
-- +goose Up

-- Entries about what API keys, API clients and service credentials changed in the other services.
-- There can be many, so they are kept for a shorter time. The previous release adds none.
alter table audit_log add column if not exists by_credential boolean not null default false;

-- An interrupted build leaves an invalid index, which must be built again.
drop index concurrently if exists audit_log_credentials;
drop index concurrently if exists audit_log_others;
create index concurrently if not exists audit_log_credentials on audit_log (company_id, at, id) where by_credential;
create index concurrently if not exists audit_log_others on audit_log (company_id, at, id) where not by_credential;

-- The kind of thing that an action is about: "booking" of "booking.cancel". It is a column, because a
-- function in the condition of a query cannot use an index under row-level security. A trigger sets it,
-- so that the entries of the previous release have it too.
alter table audit_log add column if not exists thing text;

-- +goose StatementBegin
create or replace function audit_log_thing() returns trigger
    language plpgsql as $$
begin
    new.thing := split_part(new.action, '.', 1);
    return new;
end
$$;
-- +goose StatementEnd

-- allow trigger: it only fills a column that the previous release does not have
create or replace trigger audit_log_thing before insert on audit_log for each row execute function audit_log_thing();

-- Fills in the kind of the entries of the previous release, in batches: each is a commit.
-- allow repeatable: entries that have the kind are skipped
-- +goose StatementBegin
do $$
declare
    company uuid := '00000000-0000-0000-0000-000000000000';
    last    uuid := company;
    n       integer;
    to_company uuid;
    to_last    uuid;
begin
    loop
        select count(*), (array_agg(l.company_id order by l.company_id desc, l.id desc))[1], (array_agg(l.id order by l.company_id desc, l.id desc))[1]
            into n, to_company, to_last
            from (select company_id, id from audit_log where (company_id, id) > (company, last) order by company_id, id limit 5000) l;
        exit when n = 0;
        perform set_config('app.audit_log', 'cut', true);
        update audit_log set thing = split_part(action, '.', 1)
            where (company_id, id) > (company, last) and (company_id, id) <= (to_company, to_last) and thing is null;
        commit; -- it also ends the setting
        company := to_company;
        last := to_last;
    end loop;
end
$$;
-- +goose StatementEnd

drop index concurrently if exists audit_log_thing;
create index concurrently if not exists audit_log_thing on audit_log (company_id, thing, at, id);

-- cut_credential_changes is cut_audit_log for the entries about changes by credentials.
-- +goose StatementBegin
create or replace function cut_credential_changes(company uuid, before timestamptz, most integer) returns bigint
    language plpgsql security definer set search_path = public, pg_temp as $$
declare
    gone bigint;
begin
    perform set_config('app.audit_log', 'cut', true);
    delete from audit_log where company_id = company and id in (
        select id from audit_log where company_id = company and by_credential and at < before order by at, id limit most);
    get diagnostics gone = row_count;
    perform set_config('app.audit_log', '', true);
    return gone;
end
$$;
-- +goose StatementEnd
