-- +goose Up

create table endpoints (
    company_id      uuid not null,
    id              uuid not null,
    url             text not null,
    description     text not null,
    events          text[] not null constraint endpoints_events check (cardinality(events) > 0),
    enabled         boolean not null,
    disabled_reason text constraint endpoints_reason check (disabled_reason in ('requested', 'gone', 'failing')),
    disabled_at     timestamptz,
    -- Since when there was nothing but failures; null: the last attempt
    -- succeeded, or there was none.
    failing_since   timestamptz,
    warned_at       timestamptz,
    version         bigint not null default 1,
    created_at      timestamptz not null,
    updated_at      timestamptz not null,
    deleted_at      timestamptz,
    primary key (company_id, id),
    constraint endpoints_disabled check (enabled = (disabled_reason is null) and enabled = (disabled_at is null)),
    constraint endpoints_deleted check (deleted_at is null or not enabled)
);

-- The keys that requests are signed with, encrypted. One that has expired stays
-- as long as the log, which shows the requests as they were sent.
create table endpoint_secrets (
    company_id  uuid not null,
    endpoint_id uuid not null,
    id          uuid not null,
    sealed      bytea not null,
    created_at  timestamptz not null,
    expires_at  timestamptz,
    primary key (company_id, endpoint_id, id),
    constraint endpoint_secrets_endpoint foreign key (company_id, endpoint_id) references endpoints (company_id, id)
);
create unique index endpoint_secrets_current on endpoint_secrets (company_id, endpoint_id) where expires_at is null;

-- The least identifier (UUID version 7) that could be made at an instant.
create function first_uuid_at(at timestamptz) returns uuid language sql immutable parallel safe
    return (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid;

-- The identifier of a message's delivery to an endpoint: the message's time, and
-- a digest of both. So a message that comes twice makes no second delivery.
create function delivery_id(message uuid, endpoint uuid) returns uuid language sql immutable parallel safe
    return overlay(overlay(
        left(replace(message::text, '-', ''), 12) || left(encode(sha256(uuid_send(message) || uuid_send(endpoint)), 'hex'), 20)
        placing '7' from 13) placing '8' from 17)::uuid;

-- What is sent, once for all endpoints. Its identifier begins with its time, by
-- which it is partitioned.
create table messages (
    company_id  uuid not null,
    id          uuid not null,
    event       text not null
        constraint messages_event check (event in ('registration.created', 'pass.purchased', 'event.purchased')),
    occurred_at timestamptz not null,
    body        bytea not null,
    primary key (company_id, id)
) partition by range (id);

-- One row per message and endpoint: the queue and the log. due_at is when it may
-- be claimed: the next attempt's time, or the end of the lease of whoever is
-- sending it; null: nothing is to be sent.
create table deliveries (
    company_id   uuid not null,
    id           uuid not null,
    message_id   uuid not null,
    endpoint_id  uuid not null,
    event        text not null,
    test         boolean not null default false,
    state        text not null constraint deliveries_state check (state in ('pending', 'delivered', 'failed')),
    due_at       timestamptz,
    lease        uuid,
    attempts     integer not null default 0 constraint deliveries_attempts check (attempts >= 0),
    -- Attempts since it was made or replayed, which the retries are counted by.
    tries        integer not null default 0 constraint deliveries_tries check (tries >= 0),
    last_failure text,
    last_status  integer not null default 0,
    created_at   timestamptz not null,
    finished_at  timestamptz,
    primary key (company_id, id),
    constraint deliveries_once unique (company_id, endpoint_id, message_id),
    constraint deliveries_due check ((state = 'pending') = (due_at is not null) and (state = 'pending') = (finished_at is null)),
    constraint deliveries_lease check (lease is null or state = 'pending')
) with (
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_cost_delay = 0
);

-- Claims take the oldest of one endpoint.
create index deliveries_claim on deliveries (endpoint_id, due_at) where due_at is not null;
create index deliveries_failed on deliveries (company_id, finished_at, id) where state = 'failed';

create table attempts (
    company_id   uuid not null,
    delivery_id  uuid not null,
    number       integer not null constraint attempts_number check (number > 0),
    at           timestamptz not null,
    duration_us  bigint not null,
    outcome      text not null constraint attempts_outcome check (outcome in ('delivered', 'retried', 'failed')),
    failure      text,
    status       integer not null,
    message      text not null,
    response     bytea not null,
    reused       boolean not null,
    url          text not null,
    -- Those that signed it, newest first: with its time and the body, all that
    -- the headers are made of.
    secret_ids   uuid[] not null,
    primary key (company_id, delivery_id, number, at),
    constraint attempts_failure check ((outcome = 'delivered') = (failure is null))
) partition by range (at);
create index attempts_at on attempts (company_id, at);

select tenant_table('endpoints');
select tenant_table('endpoint_secrets');
select tenant_table('messages');
select tenant_table('deliveries');
select tenant_table('attempts');

-- What no day's partition takes: a message whose identifier is older than the
-- log, or an attempt where for two weeks nobody made partitions.
create table messages_other partition of messages default;
create table attempts_other partition of attempts default;
select tenant_table('messages_other');
select tenant_table('attempts_other');

-- keep_partitions makes the partitions of the days around today and drops those
-- that ended more than 30 days ago. The service's role owns no table, so that it
-- does this through the owner's function, and no more than this.
-- +goose StatementBegin
create function keep_partitions() returns integer language plpgsql security definer set search_path = public, pg_temp set timezone = 'UTC' as $$
declare
    day date;
    name text;
    changed integer := 0;
begin
    perform pg_advisory_xact_lock(hashtext('keep_partitions'));
    for day in select d::date from generate_series(current_date - 8, current_date + 14, interval '1 day') d loop
        name := 'messages_' || to_char(day, 'YYYYMMDD');
        if to_regclass(name) is null then
            begin
                execute format('create table %I partition of messages for values from (%L) to (%L)',
                    name, first_uuid_at(day::timestamptz), first_uuid_at((day + 1)::timestamptz));
                perform tenant_table(name::regclass);
                changed := changed + 1;
            exception when check_violation then null; -- its rows are in messages_other
            end;
        end if;
        name := 'attempts_' || to_char(day, 'YYYYMMDD');
        if to_regclass(name) is null then
            begin
                execute format('create table %I partition of attempts for values from (%L) to (%L)',
                    name, day::timestamptz, (day + 1)::timestamptz);
                perform tenant_table(name::regclass);
                changed := changed + 1;
            exception when check_violation then null;
            end;
        end if;
    end loop;
    for name in select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent in ('messages'::regclass, 'attempts'::regclass) and c.relname ~ '_\d{8}$'
            and to_date(right(c.relname, 8), 'YYYYMMDD') < current_date - 30 loop
        execute format('drop table %I', name);
        changed := changed + 1;
    end loop;
    return changed;
end
$$;
-- +goose StatementEnd

select keep_partitions();
