-- +goose NO TRANSACTION
-- +goose Up

-- When and how often an event can be booked, and prices of whole courses.
alter table events
    add column if not exists opens_at timestamptz, -- null: no limit
    add column if not exists closes_at timestamptz, -- null: no limit
    add column if not exists minimum_notice_minutes integer not null default 0,
    add column if not exists maximum_advance_days integer not null default 0, -- 0: no limit
    add column if not exists once_per_customer boolean not null default false;

alter table events
    drop constraint if exists events_booking_rules,
    add constraint events_booking_rules check ((closes_at > opens_at or opens_at is null or closes_at is null)
        and minimum_notice_minutes between 0 and 525600 and maximum_advance_days between 0 and 3650) not valid;

alter table events validate constraint events_booking_rules;

alter table pricing_options add column if not exists whole_course boolean not null default false;

-- An interrupted build leaves an invalid index.
drop index concurrently if exists transactions_open_by_purchaser;
-- An event with one booking per customer looks up what a customer holds or is paying for.
create index concurrently if not exists transactions_open_by_purchaser on transactions (company_id, purchaser_id)
    where status in ('held', 'pending');
