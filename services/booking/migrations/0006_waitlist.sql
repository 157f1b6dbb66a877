-- +goose Up

-- Who waits for places of a date. An entry that waits is changed under the lock of
-- its date; one that has a transaction, under the lock of that.
create table waitlist_entries (
    company_id         uuid not null,
    id                 uuid not null,
    seq                bigint generated always as identity, -- the order, given under the lock of the date
    event_id           uuid not null,
    event_date_id      uuid not null,
    customer_id        uuid not null,
    spaces             integer not null constraint waitlist_entries_spaces check (spaces between 1 and 1000),
    mode               text not null constraint waitlist_entries_mode check (mode in ('offer', 'book')),
    pricing_option_id  uuid not null,
    method             text not null constraint waitlist_entries_method check (method in ('CARD', 'PASS')),
    customer_pass_id   uuid,
    offer_minutes      integer constraint waitlist_entries_offer_minutes check (offer_minutes between 1 and 10080),
    timezone           text not null, -- the company's at the joining
    -- booking: its purchase by pass is pending.
    state              text not null default 'waiting' constraint waitlist_entries_state
        check (state in ('waiting', 'offered', 'booking', 'booked', 'expired', 'left', 'closed')),
    transaction_id     uuid,
    offer_expires_at   timestamptz,
    passed_over_reason text,
    passed_over_at     timestamptz,
    joined_at          timestamptz not null,
    primary key (company_id, id),
    constraint waitlist_entries_transaction check ((transaction_id is not null) = (state in ('offered', 'booking', 'booked'))),
    constraint waitlist_entries_offer check ((offer_minutes is not null) = (mode = 'offer'))
);

create index waitlist_entries_in_order on waitlist_entries (company_id, event_date_id, seq);
create index waitlist_entries_waiting on waitlist_entries (company_id, event_date_id, seq) where state = 'waiting';
create unique index waitlist_entries_once on waitlist_entries (company_id, event_date_id, customer_id)
    where state in ('waiting', 'offered', 'booking');
create index waitlist_entries_by_customer on waitlist_entries (company_id, customer_id) where state = 'waiting';
create index waitlist_entries_by_transaction on waitlist_entries (company_id, transaction_id) where transaction_id is not null;
create index waitlist_entries_to_retry on waitlist_entries (passed_over_at)
    where state = 'waiting' and passed_over_reason = 'PASS_UNAVAILABLE';

-- Dates with more people to serve than one commit does.
alter table event_dates add column promoting boolean not null default false;
create index event_dates_promoting on event_dates (company_id, id) where promoting;

select tenant_table('waitlist_entries');
