-- +goose NO TRANSACTION
-- +goose Up

-- The request of a pending purchase by pass that has an Idempotency-Key, from the purchase's first
-- step to its last, so that a retry continues the purchase. Both are hashes.
alter table transactions
    add column if not exists request_key bytea,
    add column if not exists request_hash bytea;

-- An interrupted build leaves an index that is not used.
drop index concurrently if exists transactions_by_request;
create unique index concurrently if not exists transactions_by_request on transactions (company_id, request_key)
    where status in ('pending', 'undoing') and request_key is not null;

-- The confirmation of a purchase by pass, a cancellation and a check-in update bookings. Space in
-- their pages keeps these updates out of the indexes.
-- allow repeatable: the second time changes nothing
alter table bookings set (fillfactor = 80);
