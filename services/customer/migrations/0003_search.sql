-- +goose Up

-- Customers are found by how their names and addresses begin, whatever the case.
-- The keys are columns, because row-level security keeps an index of an expression
-- from being used, and are compared byte by byte, so that a beginning is a range.
alter table customers
    add column first_key text collate "C" generated always as (lower(first_name)) stored,
    add column last_key text collate "C" generated always as (lower(last_name)) stored;

-- The second condition, which only a search implies, keeps lists off these indexes.
create index customers_first_key on customers (company_id, first_key) where deleted_at is null and first_key is not null;
create index customers_last_key on customers (company_id, last_key) where deleted_at is null and last_key is not null;
create index customers_email_key on customers (company_id, email_key collate "C") where deleted_at is null and email_key is not null;
