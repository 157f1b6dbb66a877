-- +goose Up

-- The address by which customers are found, whatever its case. It is a column,
-- because row-level security keeps an index of the expression from being used.
alter table customers add column email_key text generated always as (lower(email)) stored;

-- Not unique: a company may have had the same address twice before it asked for
-- unique ones.
create index customers_email on customers (company_id, email_key, id) where deleted_at is null;

-- Lists walk along an index in each order, without and with a choice between
-- archived and other customers; customers_live and customers_updated serve the
-- others.
create index customers_created on customers (company_id, created_at, id) where deleted_at is null;
create index customers_archived on customers (company_id, archived, id) where deleted_at is null;
create index customers_archived_created on customers (company_id, archived, created_at, id) where deleted_at is null;
create index customers_archived_updated on customers (company_id, archived, updated_at, id) where deleted_at is null;

-- A copy of what the auth service says of a company, kept by its events.
create table companies (
    company_id    uuid primary key,
    unique_emails boolean not null,
    version       bigint not null
);

select tenant_table('companies');
