-- +goose Up

-- Entries are only added to the audit log, with two exceptions, for which the service's role
-- has only the owner's functions: facts about an erased customer are removed, and old
-- entries are deleted.
-- +goose StatementBegin
create or replace function audit_log_append_only() returns trigger
    language plpgsql as $$
begin
    if current_setting('app.audit_log', true) = 'cut'
        and current_user = (select pg_get_userbyid(relowner) from pg_class where oid = tg_relid) then
        return null;
    end if;
    raise exception 'the audit log is only added to' using errcode = 'integrity_constraint_violation', constraint = 'audit_log_append_only';
end
$$;
-- +goose StatementEnd

-- forget_in_audit_log removes the facts about a customer (cust_…) from their entries,
-- except that the entry is about the customer.
-- +goose StatementBegin
create function forget_in_audit_log(company uuid, customer text) returns bigint
    language plpgsql security definer set search_path = public, pg_temp as $$
declare
    forgotten bigint;
begin
    perform set_config('app.audit_log', 'cut', true);
    update audit_log a set details = f.left_over
    from (
        select id, coalesce((select jsonb_agg(d) from jsonb_array_elements(details) d where d ->> 'after' = customer), '[]') as left_over
        from audit_log
        where company_id = company and (target = customer or details @> jsonb_build_array(jsonb_build_object('after', customer)))
    ) f
    where a.company_id = company and a.id = f.id and a.details <> f.left_over;
    get diagnostics forgotten = row_count;
    perform set_config('app.audit_log', '', true);
    return forgotten;
end
$$;
-- +goose StatementEnd

-- cut_audit_log deletes at most so many entries from before an instant, and returns their
-- number. The identifiers begin with the time.
-- +goose StatementBegin
create function cut_audit_log(company uuid, before timestamptz, most integer) returns bigint
    language plpgsql security definer set search_path = public, pg_temp as $$
declare
    gone bigint;
begin
    perform set_config('app.audit_log', 'cut', true);
    delete from audit_log where company_id = company and id in (
        select id from audit_log where company_id = company and at < before order by at, id limit most);
    get diagnostics gone = row_count;
    perform set_config('app.audit_log', '', true);
    return gone;
end
$$;
-- +goose StatementEnd
