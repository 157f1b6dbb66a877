-- +goose Up

-- The day of created_at in the time zone that the company had then; null: an earlier release added the row.
alter table customer_passes add column created_on date;
alter table ledger_entries add column day date;
