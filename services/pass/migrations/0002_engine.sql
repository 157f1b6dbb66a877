-- +goose Up

-- What was paid for a pass; null: it was assigned free.
alter table customer_passes
    add column paid_gross     bigint constraint customer_passes_paid_gross check (paid_gross >= 0),
    add column paid_currency  text,
    add column paid_method    text,
    add column paid_reference text,
    -- The day, in the company's zone, on which it was paused.
    add column paused_on      date,
    add constraint customer_passes_paid check ((paid_gross is null) = (paid_currency is null) and (paid_gross is null) = (paid_method is null)),
    add constraint customer_passes_paused check ((status = 'paused') = (paused_on is not null));

-- Lists walk along these, and so does the choice of a pass.
create index customer_passes_created on customer_passes (company_id, created_at, id);
create index customer_passes_updated on customer_passes (company_id, updated_at, id);
create index customer_passes_of_customer on customer_passes (company_id, customer_id, created_at, id);
create index customer_passes_of_type on customer_passes (company_id, pass_type_id, created_at, id);
create index pass_types_created on pass_types (company_id, created_at, id);
create index pass_types_updated on pass_types (company_id, updated_at, id);

alter table ledger_entries
    drop constraint ledger_entries_kind,
    add constraint ledger_entries_kind check (kind in ('assigned', 'redeemed', 'returned', 'adjusted')),
    add column redemption_id uuid,
    add column item_id       uuid,
    add column reason        text,
    add constraint ledger_entries_redemption check ((kind in ('redeemed', 'returned')) = (redemption_id is not null and item_id is not null)),
    add constraint ledger_entries_sign check (kind = 'adjusted' or (credits > 0) = (kind in ('assigned', 'returned')));

-- Credits taken to pay a transaction, whose identifier it has. One that was
-- cancelled stays, so that a request that comes late finds it cancelled.
create table redemptions (
    company_id       uuid not null,
    id               uuid not null,
    customer_pass_id uuid, -- null: cancelled before it came, or of a booking that was imported
    credits          integer not null constraint redemptions_credits check (credits >= 0),
    remaining_uses   integer not null, -- of the pass, after it
    cancelled_at     timestamptz,
    created_at       timestamptz not null,
    primary key (company_id, id)
);

create table redemption_items (
    company_id       uuid not null,
    redemption_id    uuid not null,
    item_id          uuid not null,
    customer_pass_id uuid not null,
    credits          integer not null constraint redemption_items_credits check (credits >= 0),
    returned         integer not null default 0
        constraint redemption_items_returned check (returned = 0 or returned = credits),
    primary key (company_id, redemption_id, item_id),
    constraint redemption_items_redemption foreign key (company_id, redemption_id) references redemptions (company_id, id)
);

select tenant_table('redemptions');
select tenant_table('redemption_items');
