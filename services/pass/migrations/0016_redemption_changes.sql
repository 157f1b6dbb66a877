-- +goose Up

-- Changes of what a booking costs, each decided once. A change that was cancelled before it came has no
-- credits.
create table redemption_changes (
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

-- An item of no credits can be returned too. If the previous release returns an item, only returned says so.
alter table redemption_items add column returned_at timestamptz;

-- allow backfill: nothing changes an item that was returned, so nobody waits for these rows
update redemption_items set returned_at = now() where returned > 0;

-- The credits that the booking of a redeemed or returned entry got, negative as in credits, also if the pass
-- has unlimited uses and credits is 0. Null: another kind of entry, or one of the previous release.
alter table ledger_entries add column item_credits integer;

select tenant_table('redemption_changes');
