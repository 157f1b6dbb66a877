-- +goose NO TRANSACTION
-- +goose Up

-- When a hold expires, also after it became a purchase; null: the transaction never was a hold, or an
-- earlier release made it one.
alter table transactions add column if not exists hold_expires_at timestamptz;

-- Holds that ended without a purchase, for as long as they can be read. Their transactions and bookings
-- are removed after a day, so that they do not slow down the lists and counts of bookings. hold is the
-- message Hold as JSON, without names.
create table if not exists ended_holds (
    company_id   uuid not null,
    id           uuid not null,
    purchaser_id uuid not null,
    recipients   uuid[] not null, -- the customer of each booking; null: the purchaser
    ended_at     timestamptz not null,
    hold         jsonb not null,
    primary key (company_id, id)
);

create index if not exists ended_holds_by_purchaser on ended_holds (company_id, purchaser_id);
create index if not exists ended_holds_by_age on ended_holds (ended_at);

select tenant_table('ended_holds') where not exists (select from pg_policies where tablename = 'ended_holds');

-- closes_at is the start of the date. An earlier value is corrected by the job that closes entries.
-- allow rewrite: now() is stable, so existing rows get one value without a rewrite
alter table waitlist_entries
    add column if not exists version bigint not null default 1,
    add column if not exists updated_at timestamptz not null default now(),
    add column if not exists closes_at timestamptz not null default '-infinity';

-- Validated apart from being added, so that it keeps nobody from waiting.
alter table waitlist_entries
    drop constraint if exists waitlist_entries_method,
    add constraint waitlist_entries_method
        check (method in ('CARD', 'PASS', 'CASH', 'BANK_TRANSFER', 'ONLINE', 'OTHER', 'FREE')) not valid;

alter table waitlist_entries validate constraint waitlist_entries_method;

-- An interrupted build leaves an index that is not used.
drop index concurrently if exists waitlist_entries_to_close;
create index concurrently if not exists waitlist_entries_to_close on waitlist_entries (closes_at) where state = 'waiting';

-- Lists of the entries of all dates.
drop index concurrently if exists waitlist_entries_open;
create index concurrently if not exists waitlist_entries_open on waitlist_entries (company_id, id)
    where state in ('waiting', 'booking', 'offered');
drop index concurrently if exists waitlist_entries_by_state;
create index concurrently if not exists waitlist_entries_by_state on waitlist_entries (company_id, state, id);
drop index concurrently if exists waitlist_entries_lapsed;
create index concurrently if not exists waitlist_entries_lapsed on waitlist_entries (company_id, id)
    where state in ('expired', 'closed');
drop index concurrently if exists waitlist_entries_of_customer;
create index concurrently if not exists waitlist_entries_of_customer on waitlist_entries (company_id, customer_id, id);
drop index concurrently if exists waitlist_entries_by_change;
create index concurrently if not exists waitlist_entries_by_change on waitlist_entries (company_id, updated_at, id);

drop index concurrently if exists discount_codes_by_change;
create index concurrently if not exists discount_codes_by_change on discount_codes (company_id, updated_at, id);
