-- +goose Up

-- A copy of what the auth service knows of a company, kept by its events.
create table companies (
    company_id uuid primary key,
    timezone   text not null,
    currency   text not null,
    version    bigint not null
);

-- A copy of the customer service's customers, kept by its events. It has no
-- rules of its own: what that service allowed is stored here.
create table customers (
    company_id uuid not null,
    id         uuid not null,
    reference  text,
    first_name text not null,
    last_name  text not null,
    email      text not null,
    version    bigint not null,
    deleted_at timestamptz,
    primary key (company_id, id)
);

-- Imports name customers by their reference.
create index customers_by_reference on customers (company_id, reference) where reference is not null;

create table events (
    company_id  uuid not null,
    id          uuid not null,
    reference   text,
    title       text not null,
    description text not null,
    type        text not null
        constraint events_type check (type in ('class', 'event', 'workshop', 'course', 'appointment')),
    status      text not null
        constraint events_status check (status in ('draft', 'published', 'cancelled')),
    timezone    text not null,
    location    text not null,
    version     bigint not null default 1,
    created_at  timestamptz not null,
    updated_at  timestamptz not null,
    primary key (company_id, id)
);

create unique index events_reference on events (company_id, reference) where reference is not null;

-- How many events each company has, kept in the commits that add them.
create table event_totals (
    company_id uuid primary key,
    events     bigint not null constraint event_totals_events check (events >= 0)
);

-- Every booking of a date updates its row. No column that changes is indexed,
-- and half of each page is kept free, so the update stays within the page.
create table event_dates (
    company_id       uuid not null,
    id               uuid not null,
    event_id         uuid not null,
    starts_at        timestamptz not null,
    duration_minutes integer not null
        constraint event_dates_duration check (duration_minutes between 1 and 525600),
    timezone         text not null,
    capacity         integer, -- null: unlimited
    booked           integer not null default 0
        constraint event_dates_booked check (booked >= 0),
    status           text not null default 'scheduled'
        constraint event_dates_status check (status in ('scheduled', 'cancelled')),
    primary key (company_id, id),
    constraint event_dates_capacity check (capacity is null or booked <= capacity),
    constraint event_dates_start unique (company_id, event_id, starts_at),
    constraint event_dates_event foreign key (company_id, event_id) references events (company_id, id)
) with (fillfactor = 50);

create table pricing_options (
    company_id            uuid not null,
    id                    uuid not null,
    event_id              uuid not null,
    position              integer not null,
    name                  text not null,
    price                 bigint not null
        constraint pricing_options_price check (price >= 0),
    currency              text not null
        constraint pricing_options_currency check (currency in ('GBP', 'EUR', 'USD')),
    credits               integer
        constraint pricing_options_credits check (credits >= 0),
    tax_rate_basis_points integer not null
        constraint pricing_options_tax check (tax_rate_basis_points between 0 and 10000),
    primary key (company_id, id),
    constraint pricing_options_name unique (company_id, event_id, name),
    constraint pricing_options_event foreign key (company_id, event_id) references events (company_id, id)
);

-- Readers see confirmed transactions only. Transactions and bookings have no
-- foreign keys: what they point at is found under the same commit's eyes and is
-- never deleted, and a check per row costs an import a fifth of its speed, or all
-- of it while the checks run on a plan made when the tables were small.
create table transactions (
    company_id   uuid not null,
    id           uuid not null,
    purchaser_id uuid not null,
    purchased_at timestamptz not null
        constraint transactions_whole_second
        check (purchased_at at time zone 'UTC' = date_trunc('second', purchased_at at time zone 'UTC')),
    timezone     text not null,
    source       text not null
        constraint transactions_source check (source in ('live', 'import')),
    reference    text,
    status       text not null
        constraint transactions_status check (status in ('pending', 'confirmed')),
    version      bigint not null default 1,
    primary key (company_id, id)
) with (
    -- A total is an index-only count as long as the visibility map keeps up.
    autovacuum_vacuum_insert_scale_factor = 0.02,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_analyze_scale_factor = 0.02
);

create unique index transactions_reference on transactions (company_id, reference) where reference is not null;

-- A page of one customer's transactions is a walk along this index, newest
-- first, and their number is a count within it.
create index transactions_by_purchaser on transactions (company_id, purchaser_id, purchased_at desc, id desc)
    where status = 'confirmed';

create table bookings (
    company_id        uuid not null,
    id                uuid not null,
    transaction_id    uuid not null,
    position          integer not null,
    event_id          uuid not null,
    event_date_id     uuid not null,
    pricing_option_id uuid not null,
    bought_for        uuid, -- null: the purchaser
    spaces            integer not null
        constraint bookings_spaces check (spaces > 0),
    is_cancelled      boolean not null default false,
    cancelled_at      timestamptz, -- null where an import did not say
    is_refunded       boolean not null default false,
    refunded_at       timestamptz,
    method            text not null,
    currency          text,
    gross             bigint,
    net               bigint,
    payment_reference text,
    credits_used      integer,
    customer_pass_id  uuid,
    primary key (company_id, id),
    constraint bookings_position unique (company_id, transaction_id, position),
    constraint bookings_cancelled check (is_cancelled or cancelled_at is null),
    constraint bookings_refunded check (is_refunded or refunded_at is null),
    -- coalesce, because a check that is null passes.
    constraint bookings_payment check (coalesce(case method
        when 'CARD' then currency in ('GBP', 'EUR', 'USD') and net >= 0 and net <= gross
            and credits_used is null and customer_pass_id is null
        when 'PASS' then credits_used >= 0
            and currency is null and gross is null and net is null and payment_reference is null
    end, false))
);

select tenant_table(t::regclass) from unnest(array[
    'companies', 'customers', 'events', 'event_totals', 'event_dates', 'pricing_options', 'transactions', 'bookings'
]) t;
