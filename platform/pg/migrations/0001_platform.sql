-- +goose Up

-- The company that this transaction may see; null when it is none or all.
-- SQL functions without settings of their own are inlined into the policies.
create function app_company() returns uuid
    language sql stable parallel safe
    return nullif(nullif(current_setting('app.company_id', true), ''), '*')::uuid;

-- Whether this transaction may see every company: background jobs only.
create function app_all_companies() returns boolean
    language sql stable parallel safe
    return coalesce(current_setting('app.company_id', true) = '*', false);

-- tenant_table confines a table with a column company_id to the company of the
-- transaction. The sub-selects make each function run once per query.
-- +goose StatementBegin
create function tenant_table(name regclass) returns void
    language plpgsql as $$
begin
    execute format('alter table %s enable row level security', name);
    execute format(
        'create policy tenant on %s using (company_id = (select app_company()) or (select app_all_companies()))',
        name);
end
$$;
-- +goose StatementEnd

revoke execute on function tenant_table(regclass) from public;

-- Events that were committed and are to be published. Only the relay reads it,
-- for all companies at once, so it has no policy.
create table outbox (
    id          uuid primary key,
    company_id  uuid not null,
    subject     text not null,
    payload     bytea not null,
    trace       jsonb,
    occurred_at timestamptz not null,
    created_at  timestamptz not null default now(),
    lease_until timestamptz,
    lease       uuid,
    attempt     integer not null default 0
) with (
    -- A lease changes no indexed column, so with room in its page it is cheap.
    fillfactor = 70,
    -- Rows live for milliseconds; the dead ones must not pile up before the live.
    autovacuum_vacuum_scale_factor = 0.0,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0
);

-- Claims go through the events in the order they were written.
create index outbox_claim on outbox (created_at, id);

-- Events that a consumer has processed, recorded in the commit of their effect.
create table inbox (
    consumer     text not null,
    event_id     uuid not null,
    processed_at timestamptz not null default now(),
    primary key (consumer, event_id)
);

create index inbox_processed_at on inbox (processed_at);

-- Answers given under an idempotency key, recorded in the commit of the write.
create table idempotency_keys (
    company_id   uuid not null,
    caller       text not null,
    key          text not null,
    request_hash bytea not null,
    response     bytea not null,
    created_at   timestamptz not null default now(),
    expires_at   timestamptz not null,
    primary key (company_id, caller, key)
);

create index idempotency_keys_expires_at on idempotency_keys (expires_at);

select tenant_table('idempotency_keys');
