-- +goose Up

-- Requested erasures, with time and requester. The rows are kept as proof, and to repeat
-- the erasures after a restore from a backup.
create table customer_erasures (
    company_id        uuid not null,
    customer_id       uuid not null,
    requested_by      text not null,
    requested_at      timestamptz not null,
    -- SHA-256 of the reference in an earlier system, so that a repeated import does not
    -- restore the customer.
    reference_digest  bytea constraint customer_erasures_reference_digest check (octet_length(reference_digest) = 32),
    -- The latest announced round, the round that ends the erasure, and when the latest
    -- round was announced.
    round             integer not null constraint customer_erasures_round check (round > 0),
    last_round        integer not null constraint customer_erasures_last_round check (last_round >= round),
    announced_at      timestamptz not null,
    events_removed_at timestamptz,
    completed_at      timestamptz,
    primary key (company_id, customer_id),
    constraint customer_erasures_completed check (completed_at is null or events_removed_at is not null)
);

create index customer_erasures_reference on customer_erasures (company_id, reference_digest) where reference_digest is not null;
create index customer_erasures_open on customer_erasures (announced_at) where completed_at is null;

-- The answers of the other services.
create table customer_erasure_answers (
    company_id  uuid not null,
    customer_id uuid not null,
    service     text not null,
    round       integer not null,
    erased_at   timestamptz not null,
    primary key (company_id, customer_id, service, round)
);

select tenant_table('customer_erasures');
select tenant_table('customer_erasure_answers');
