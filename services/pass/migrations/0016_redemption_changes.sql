-- +goose NO TRANSACTION
-- Each statement is a transaction of its own, so that none waits for a lock while it holds another, and each can
-- be repeated after a failure.
-- +goose Up

-- Changes of what a booking costs, each decided once. A change that was cancelled before it came has no
-- credits.
create table if not exists redemption_changes (
    company_id     uuid not null,
    id             uuid not null,
    redemption_id  uuid not null,
    item_id        uuid not null,
    credits_before integer constraint redemption_changes_before check (credits_before >= 0),
    credits_after  integer constraint redemption_changes_after check (credits_after >= 0),
    remaining_uses integer, -- of the pass, after the change
    cancelled_at   timestamptz,
    undone         integer, -- what the cancellation added to the credits of the booking; null: not cancelled
    created_at     timestamptz not null,
    primary key (company_id, id),
    constraint redemption_changes_cancelled check (cancelled_at is not null or credits_before is not null),
    constraint redemption_changes_credits check ((credits_before is null) = (credits_after is null)
        and (credits_before is null) = (remaining_uses is null)),
    constraint redemption_changes_undone check ((cancelled_at is null) = (undone is null))
);

-- When the credits of the booking were returned, also if there were none. Null if the previous release returned
-- them: then returned says so.
alter table redemption_items add column if not exists returned_at timestamptz;

-- The credits that the booking of a redeemed or returned entry got, negative as in credits, also if the pass
-- has unlimited uses and credits is 0. Null: another kind of entry, or one of the previous release.
alter table ledger_entries add column if not exists item_credits integer;

select tenant_table('redemption_changes') where not exists (select from pg_policies where tablename = 'redemption_changes');
