-- +goose NO TRANSACTION
-- Indexes are built while the service runs, so each statement is a transaction of its own, and each can be
-- repeated after a failure.
-- +goose Up

alter table transactions
    -- Who made the purchase: the caller's identifier; null if an earlier release or an import made it.
    add column if not exists created_by text,
    -- Why a date was booked after its start; else null.
    add column if not exists after_start_reason text;

alter table bookings
    -- The price of the booking as it is now, minor units; null: gross, the amount that was paid, is the price.
    add column if not exists price bigint,
    -- The customer who manages the booking; null: the purchaser.
    add column if not exists managed_by uuid;

-- Money can also be due because a move lowered the price.
alter table bookings
    drop constraint if exists bookings_cancellation,
    drop constraint if exists bookings_price,
    add constraint bookings_cancellation check (is_cancelled or not late and cancellation_reason is null) not valid,
    add constraint bookings_price check (price is null or price >= 0 and gross is not null) not valid;
alter table bookings validate constraint bookings_cancellation;
alter table bookings validate constraint bookings_price;

-- Every change of a booking after its purchase. details has the members of the booking before and after, with
-- identifiers as UUIDs.
create table if not exists booking_history (
    company_id        uuid not null,
    booking_id        uuid not null,
    sequence          integer not null constraint booking_history_sequence check (sequence > 0),
    action            text not null constraint booking_history_action
        check (action in ('moved', 'transferred', 'cancelled', 'refunded', 'attendance_recorded')),
    at                timestamptz not null, -- by the company's clock
    actor             text not null,
    details           jsonb not null,
    reason            text,
    -- What was paid with a move or refunded, and how.
    amount            bigint constraint booking_history_amount check (amount > 0),
    money_method      text,
    payment_reference text,
    primary key (company_id, booking_id, sequence)
);

-- The bookings that a customer transferred to others, for exports and erasures.
create index if not exists booking_history_given on booking_history (company_id, (details->'before'->>'customer_id'))
    where action = 'transferred';

-- Moves that change how many credits a booking has, at most one for each booking. taking: the credits are
-- being taken, and the move is not committed. undoing: they are being returned, and it will not be. settling:
-- the move is committed, and the pass service still holds more credits than the booking has.
create table if not exists credit_changes (
    company_id uuid not null,
    booking_id uuid not null,
    id         uuid not null, -- by which the pass service knows the change
    state      text not null constraint credit_changes_state check (state in ('taking', 'undoing', 'settling')),
    target     bytea not null, -- digest of the request, so that a repeated one continues the change
    credits    integer not null constraint credit_changes_credits check (credits >= 0), -- of the booking after the change
    -- What the pass service must know to repeat the change.
    transaction_id uuid not null,
    event_type     text not null,
    day            text not null,
    credits_before integer not null constraint credit_changes_before check (credits_before >= 0),
    due_at     timestamptz not null, -- when a job continues it
    primary key (company_id, booking_id)
);

create index if not exists credit_changes_due on credit_changes (due_at);

select tenant_table(t::regclass) from unnest(array['booking_history', 'credit_changes']) t
    where not exists (select from pg_policies where tablename = t);
