-- +goose Up

-- Events that wait to be published are under the tenants' policy, as all that is a
-- company's. The table has another name from now on, because the previous release
-- writes to the former one with COPY, which PostgreSQL refuses where a policy counts.
-- allow rename: the previous release goes on with the view of that name, below
alter table outbox rename to outbox_events;

select tenant_table('outbox_events');

-- What concerns the whole installation, such as a revoked credential, may come from a
-- company's transaction. Nobody but the relay reads it.
create policy installation on outbox_events for insert with check (company_id = '00000000-0000-0000-0000-000000000000');

-- Only for the previous release, whose relay names no company: it publishes for all of
-- them, with synchronous_commit off. The next release drops this, the view and its trigger.
create policy relay_of_previous_release on outbox_events using (
    (select coalesce(current_setting('app.company_id', true), '') = '' and current_setting('synchronous_commit') = 'off'));

create view outbox with (security_invoker = true) as
    select id, company_id, subject, payload, trace, occurred_at, created_at, lease_until, lease, attempt from outbox_events;
alter view outbox alter column created_at set default now();
alter view outbox alter column attempt set default 0;

-- COPY writes to a view only through a trigger.
-- +goose StatementBegin
create function outbox_append() returns trigger
    language plpgsql as $$
begin
    insert into public.outbox_events (id, company_id, subject, payload, trace, occurred_at, created_at, lease_until, lease, attempt)
    values (new.id, new.company_id, new.subject, new.payload, new.trace, new.occurred_at, new.created_at, new.lease_until, new.lease, new.attempt);
    return new;
end
$$;
-- +goose StatementEnd

-- allow trigger: it does what the table did
create trigger outbox_append instead of insert on outbox for each row execute function outbox_append();

-- Whoever could use the table can use the view, from the first moment on.
-- +goose StatementBegin
do $$
declare
    role name;
begin
    for role in
        select distinct pg_get_userbyid(a.grantee) from pg_class c, aclexplode(c.relacl) a
        where c.oid = 'outbox_events'::regclass and a.privilege_type = 'INSERT' and a.grantee <> c.relowner and a.grantee <> 0
    loop
        execute format('grant select, insert, update, delete on outbox to %I', role);
    end loop;
end
$$;
-- +goose StatementEnd
