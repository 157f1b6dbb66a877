-- +goose Up

-- When the click was made that a delivery was last replayed by, so that one that is
-- repeated, or goes on after an interruption, takes no delivery twice.
alter table deliveries add column replayed_at timestamptz;
