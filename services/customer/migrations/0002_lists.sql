-- +goose Up

-- The address in lower case, for searches that ignore case. It is a column, because
-- row-level security prevents the use of an index of the expression.
alter table customers add column email_key text generated always as (lower(email)) stored;

-- Not unique: a company may have duplicate addresses from before it required unique ones.
create index customers_email on customers (company_id, email_key, id) where deleted_at is null;

-- Lists walk along an index in each order, with and without a filter for archived
-- customers. customers_live and customers_updated serve the other orders.
create index customers_created on customers (company_id, created_at, id) where deleted_at is null;
create index customers_archived on customers (company_id, archived, id) where deleted_at is null;
create index customers_archived_created on customers (company_id, archived, created_at, id) where deleted_at is null;
create index customers_archived_updated on customers (company_id, archived, updated_at, id) where deleted_at is null;

-- A copy of the companies of the auth service, updated by its events.
create table companies (
    company_id    uuid primary key,
    unique_emails boolean not null,
    version       bigint not null
);

select tenant_table('companies');
