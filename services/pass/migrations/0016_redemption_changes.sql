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
    created_at     timestamptz not null,
    primary key (company_id, id),
    constraint redemption_changes_cancelled check (cancelled_at is not null or credits_before is not null),
    constraint redemption_changes_credits check ((credits_before is null) = (credits_after is null)
        and (credits_before is null) = (remaining_uses is null))
);

-- Returned is more than a number: an item of no credits can be returned too.
alter table redemption_items add column returned_at timestamptz;

select tenant_table('redemption_changes');
