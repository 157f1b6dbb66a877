-- +goose Up

-- A copy of the auth service's companies, kept up to date by its events.
create table companies (
    company_id           uuid primary key,
    timezone             text not null,
    currency             text not null,
    clock_offset_seconds bigint not null default 0,
    version              bigint not null
);

select tenant_table('companies');

-- One row for each company whose events arrived. Whoever changes the read models of a company locks its row.
create table progress (
    company_id      uuid primary key,
    -- The number of the newest generation. It stays when test data are deleted, so that no number is used twice.
    last_generation bigint not null default 0,
    -- When the newest event occurred that is in the read models.
    applied_at      timestamptz
) with (fillfactor = 50);

select tenant_table('progress');

-- The generations of the read models of a company: at most one that reports show and one that is built.
create table generations (
    company_id  uuid not null,
    generation  bigint not null,
    state       text not null check (state in ('building', 'current', 'retired')),
    -- The company's zone when the generation began: it determines on which days customers were created.
    timezone    text not null,
    -- The progress of the build: it continues with the step after the row after_id.
    step        text not null,
    after_id    text not null default '',
    rows        bigint not null default 0,
    failure     text not null default '',
    attempt     integer not null default 0,
    started_at  timestamptz not null,
    built_at    timestamptz,
    -- Until then, a process works on the build, or waits before it tries again.
    lease       uuid,
    lease_until timestamptz not null,
    primary key (company_id, generation)
);

create unique index generations_building on generations (company_id) where state = 'building';
create unique index generations_current on generations (company_id) where state = 'current';
create index generations_due on generations (state, lease_until) where state <> 'current';

select tenant_table('generations');

-- Facts.

create table events (
    company_id uuid not null,
    generation bigint not null,
    id         uuid not null,
    -- 0 if only a booking has named the event.
    version    bigint not null,
    title      text not null,
    status     text not null,
    primary key (company_id, generation, id)
);

select tenant_table('events');

-- The dates of events, without those of appointments.
create table dates (
    company_id   uuid not null,
    generation   bigint not null,
    id           uuid not null,
    version      bigint not null,
    event_id     uuid not null,
    -- The local day of the start; null if only the cancellation has arrived.
    day          date,
    capacity     integer,
    is_cancelled boolean not null,
    primary key (company_id, generation, id)
);

create index dates_day on dates (company_id, generation, day);

select tenant_table('dates');

create table bookings (
    company_id  uuid not null,
    generation  bigint not null,
    id          uuid not null,
    version     bigint not null,
    event_id    uuid not null,
    date_id     uuid not null,
    -- The customer who attends.
    customer_id uuid not null,
    spaces      integer not null,
    status      text not null check (status in ('confirmed', 'attended', 'no_show', 'cancelled')),
    late        boolean not null,
    -- The local day of an appointment; null for other bookings, whose day is that of the date.
    day         date,
    primary key (company_id, generation, id)
) with (fillfactor = 90);

create index bookings_date on bookings (company_id, generation, date_id);

select tenant_table('bookings');

create table movements (
    company_id uuid not null,
    generation bigint not null,
    booking_id uuid not null,
    sequence   integer not null,
    day        date not null,
    gross      bigint not null,
    net        bigint not null,
    currency   text not null,
    method     text not null,
    tax_rate   integer not null,
    primary key (company_id, generation, booking_id, sequence)
);

select tenant_table('movements');

create table customer_passes (
    company_id      uuid not null,
    generation      bigint not null,
    id              uuid not null,
    version         bigint not null,
    pass_type_id    uuid not null,
    customer_id     uuid not null,
    -- The last day; 9999-12-31: none.
    expires         date not null,
    remaining       integer not null,
    assigned        integer not null,
    is_unlimited    boolean not null,
    is_cancelled    boolean not null,
    of_subscription boolean not null,
    -- What was paid for the pass, on which day.
    paid            bigint not null,
    currency        text not null,
    method          text not null,
    created_on      date not null,
    primary key (company_id, generation, id)
) with (fillfactor = 90);

create index customer_passes_expires on customer_passes (company_id, generation, expires, id) where remaining > 0 and not is_cancelled;

select tenant_table('customer_passes');

create table ledger_entries (
    company_id uuid not null,
    generation bigint not null,
    pass_id    uuid not null,
    sequence   bigint not null,
    kind       text not null,
    credits    integer not null,
    day        date not null,
    primary key (company_id, generation, pass_id, sequence)
);

select tenant_table('ledger_entries');

create table pass_types (
    company_id uuid not null,
    generation bigint not null,
    id         uuid not null,
    version    bigint not null,
    title      text not null,
    primary key (company_id, generation, id)
);

select tenant_table('pass_types');

-- The pass type of a plan has the UUID of the plan.
create table plans (
    company_id uuid not null,
    generation bigint not null,
    id         uuid not null,
    version    bigint not null,
    title      text not null,
    price      bigint not null,
    currency   text not null,
    credits    integer not null,
    primary key (company_id, generation, id)
);

select tenant_table('plans');

create table subscription_movements (
    company_id      uuid not null,
    generation      bigint not null,
    subscription_id uuid not null,
    period          integer not null,
    account_entry   bigint not null,
    day             date not null,
    amount          bigint not null,
    currency        text not null,
    method          text not null,
    plan_id         uuid not null,
    primary key (company_id, generation, subscription_id, period, account_entry)
);

select tenant_table('subscription_movements');

create table customers (
    company_id uuid not null,
    generation bigint not null,
    id         uuid not null,
    version    bigint not null,
    created_on date not null,
    is_deleted boolean not null,
    primary key (company_id, generation, id)
);

select tenant_table('customers');

-- Sums.

create table takings (
    company_id uuid not null,
    generation bigint not null,
    day        date not null,
    currency   text not null,
    method     text not null,
    tax_rate   integer not null,
    paid       bigint not null,
    refunded   bigint not null,
    net        bigint not null,
    payments   bigint not null,
    refunds    bigint not null,
    primary key (company_id, generation, day, currency, method, tax_rate)
) with (fillfactor = 80);

select tenant_table('takings');

-- The same money by product: an event, a pass type or a plan.
create table product_takings (
    company_id uuid not null,
    generation bigint not null,
    day        date not null,
    currency   text not null,
    kind       smallint not null,
    product_id uuid not null,
    paid       bigint not null,
    refunded   bigint not null,
    net        bigint not null,
    payments   bigint not null,
    refunds    bigint not null,
    primary key (company_id, generation, day, currency, kind, product_id)
) with (fillfactor = 80);

select tenant_table('product_takings');

-- The spaces of the bookings of a date.
create table attendance (
    company_id     uuid not null,
    generation     bigint not null,
    date_id        uuid not null,
    booked         bigint not null,
    attended       bigint not null,
    no_shows       bigint not null,
    cancelled      bigint not null,
    cancelled_late bigint not null,
    primary key (company_id, generation, date_id)
) with (fillfactor = 80);

select tenant_table('attendance');

-- The appointments of a day that are not cancelled, and their spaces.
create table appointments (
    company_id uuid not null,
    generation bigint not null,
    day        date not null,
    event_id   uuid not null,
    dates      bigint not null,
    booked     bigint not null,
    attended   bigint not null,
    no_shows   bigint not null,
    primary key (company_id, generation, day, event_id)
) with (fillfactor = 80);

select tenant_table('appointments');

-- Changes of credits by day, and the same by month, so that a balance of long ago is the sum of few rows.
create table credits (
    company_id   uuid not null,
    generation   bigint not null,
    day          date not null,
    pass_type_id uuid not null,
    currency     text not null,
    added        bigint not null,
    used         bigint not null,
    expired      bigint not null,
    adjusted     bigint not null,
    worth        bigint not null,
    primary key (company_id, generation, day, pass_type_id, currency)
) with (fillfactor = 80);

select tenant_table('credits');

create table monthly_credits (
    company_id   uuid not null,
    generation   bigint not null,
    day          date not null,
    pass_type_id uuid not null,
    currency     text not null,
    added        bigint not null,
    used         bigint not null,
    expired      bigint not null,
    adjusted     bigint not null,
    worth        bigint not null,
    primary key (company_id, generation, day, pass_type_id, currency)
) with (fillfactor = 80);

select tenant_table('monthly_credits');

create table created_customers (
    company_id uuid not null,
    generation bigint not null,
    day        date not null,
    customers  bigint not null,
    primary key (company_id, generation, day)
) with (fillfactor = 80);

select tenant_table('created_customers');

-- The bookings that make a customer active on a day.
create table active_days (
    company_id  uuid not null,
    generation  bigint not null,
    customer_id uuid not null,
    day         date not null,
    bookings    integer not null check (bookings > 0),
    primary key (company_id, generation, customer_id, day)
);

select tenant_table('active_days');

-- The number of customers who are active on a day and then again on next_day, and not in between. The first
-- active day of a customer follows 0001-01-01, and the last one precedes 9999-12-31.
create table activity (
    company_id uuid not null,
    generation bigint not null,
    day        date not null,
    next_day   date not null,
    customers  bigint not null,
    primary key (company_id, generation, day, next_day)
) with (fillfactor = 80);

create index activity_next_day on activity (company_id, generation, next_day, day) include (customers);

select tenant_table('activity');
