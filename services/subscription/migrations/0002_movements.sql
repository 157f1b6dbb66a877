-- +goose Up

-- The day of paid_at in the time zone that the company had then; null: not paid, or an earlier release recorded it.
alter table periods add column paid_on date;

alter table account_entries
    -- The day of created_at in the time zone that the company had then; null: an earlier release added the entry.
    add column day date,
    -- Of a refund: the method of the last payment, and the plan at that time.
    add column payment_method text,
    add column plan_id uuid;
