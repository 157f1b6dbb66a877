-- +goose NO TRANSACTION
-- +goose Up

-- Redemptions and returns do not change the uses of a pass with unlimited uses: its type, the pass
-- and the first entry of its ledger have 999999. The previous release takes and returns uses of such
-- a pass; the pass keeps working and its ledger still adds up. A type that never expires is stored
-- with the longest validity, 1000 years, which the previous release gives its passes. A pass that
-- never expires has the expiry date 9999-12-31.
alter table pass_types
    add column if not exists unlimited_uses boolean not null default false,
    add column if not exists never_expires  boolean not null default false;

alter table customer_passes
    add column if not exists unlimited_uses boolean not null default false,
    -- The uses with which the pass was assigned; null: those of the first entry of its ledger.
    add column if not exists total_uses     integer,
    -- When the pass was paused; null if the previous release paused it. It counts only on the day
    -- in paused_on.
    add column if not exists paused_at      timestamptz;

-- The redemptions and returns of a pass with unlimited uses have entries without credits.
alter table ledger_entries
    drop constraint if exists ledger_entries_credits,
    add constraint ledger_entries_credits check (credits <> 0 or kind in ('redeemed', 'returned')) not valid,
    drop constraint if exists ledger_entries_sign,
    add constraint ledger_entries_sign
        check (kind = 'adjusted' or credits = 0 or (credits > 0) = (kind in ('assigned', 'returned'))) not valid;
-- Each scan lets other transactions write.
alter table ledger_entries validate constraint ledger_entries_credits;
alter table ledger_entries validate constraint ledger_entries_sign;
