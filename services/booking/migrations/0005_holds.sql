-- +goose NO TRANSACTION
-- +goose Up

-- What a hold was before somebody began to pay it by pass, so that a refusal leaves
-- it as it was. Null once a second attempt has joined the first: then nobody knows
-- any more which of them takes the credits.
alter table transactions
    add column if not exists held_until timestamptz,
    add column if not exists held_prices jsonb;

-- What is due is looked for every second; what was released is kept for a day.
create index concurrently if not exists transactions_due on transactions (expires_at) where status in ('held', 'pending', 'undoing');

create index concurrently if not exists transactions_released on transactions (expires_at) where status = 'released';

drop index concurrently if exists transactions_expiring;
