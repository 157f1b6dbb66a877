-- +goose Up

-- Codes that lower the price of a transaction.
create table discount_codes (
    company_id   uuid not null,
    id           uuid not null,
    code         text not null constraint discount_codes_code check (code ~ '^[A-Za-z0-9_-]{1,64}$'),
    basis_points integer constraint discount_codes_basis_points check (basis_points between 1 and 10000),
    amount       bigint constraint discount_codes_amount check (amount > 0),
    currency     text,
    valid_from   timestamptz,
    valid_until  timestamptz,
    max_uses     integer constraint discount_codes_max_uses check (max_uses > 0), -- null: any number
    uses         integer not null default 0 constraint discount_codes_uses check (uses >= 0),
    disabled     boolean not null default false,
    event_ids    uuid[] not null default '{}', -- none: all
    version      bigint not null default 1,
    created_at   timestamptz not null,
    updated_at   timestamptz not null,
    primary key (company_id, id),
    constraint discount_codes_reduction check ((basis_points is null) <> (amount is null) and (amount is null) = (currency is null)),
    constraint discount_codes_not_overused check (max_uses is null or uses <= max_uses)
);

create unique index discount_codes_by_code on discount_codes (company_id, lower(code));

-- A transaction that is not confirmed has places and is seen by nobody: held until
-- somebody pays, pending while credits are taken, undoing while they are given
-- back. A released one has no places any more and waits to be removed.
alter table transactions
    drop constraint transactions_status,
    add constraint transactions_status check (status in ('held', 'pending', 'undoing', 'confirmed', 'released')) not valid,
    add column expires_at timestamptz,
    add column discount_code_id uuid,
    add constraint transactions_expiry check ((status = 'confirmed') = (expires_at is null)) not valid;

create index transactions_expiring on transactions (expires_at) where status <> 'confirmed';

alter table bookings
    add column discount bigint constraint bookings_discount check (discount >= 0),
    add column discount_code text;

-- Which transaction a purchase by pass has under an idempotency key, from its
-- first step to its last, so that a repetition goes on with it.
create table purchase_keys (
    company_id     uuid not null,
    caller         text not null,
    key            text not null,
    request_hash   bytea not null,
    transaction_id uuid not null,
    created_at     timestamptz not null,
    primary key (company_id, caller, key)
);

create index purchase_keys_by_transaction on purchase_keys (company_id, transaction_id);
create index purchase_keys_by_age on purchase_keys (created_at);

-- Credits that are owed to the pass service since the commit that says so, until
-- it has them.
create table credit_returns (
    company_id       uuid not null,
    booking_id       uuid not null,
    transaction_id   uuid not null,
    customer_pass_id uuid not null,
    credits          integer not null constraint credit_returns_credits check (credits > 0),
    due_at           timestamptz not null,
    primary key (company_id, booking_id)
);

create index credit_returns_due on credit_returns (due_at);

select tenant_table('discount_codes');
select tenant_table('purchase_keys');
select tenant_table('credit_returns');
