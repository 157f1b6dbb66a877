-- +goose Up

-- When the request was made that last replayed the delivery. A repeated or continued
-- request therefore replays no delivery twice.
alter table deliveries add column replayed_at timestamptz;
