-- +goose NO TRANSACTION
-- +goose Up

-- The ledger of a subscription's pass has the credits that a period grants, the unused credits that
-- expire when a period begins, and those that expire when the subscription ends. The first entry of a
-- pass can have no credits.
alter table ledger_entries
    drop constraint if exists ledger_entries_kind,
    add constraint ledger_entries_kind
        check (kind in ('assigned', 'redeemed', 'returned', 'adjusted', 'granted', 'expired', 'expired_at_end')) not valid,
    drop constraint if exists ledger_entries_credits,
    add constraint ledger_entries_credits check (credits <> 0 or kind in ('assigned', 'redeemed', 'returned')) not valid,
    drop constraint if exists ledger_entries_sign,
    add constraint ledger_entries_sign
        check (kind = 'adjusted' or credits = 0 or (credits > 0) = (kind in ('assigned', 'returned', 'granted'))) not valid,
    drop constraint if exists ledger_entries_period,
    add constraint ledger_entries_period
        check (kind = 'assigned' or (period is not null) = (kind in ('granted', 'expired', 'expired_at_end'))) not valid;
-- Each scan lets other transactions write.
alter table ledger_entries validate constraint ledger_entries_kind;
alter table ledger_entries validate constraint ledger_entries_credits;
alter table ledger_entries validate constraint ledger_entries_sign;
alter table ledger_entries validate constraint ledger_entries_period;
