-- +goose Up

create table customers (
    company_id uuid not null,
    id         uuid not null,
    -- The key in an earlier system, of imported customers.
    reference  text,
    first_name text not null constraint customers_first_name check (first_name <> ''),
    last_name  text not null constraint customers_last_name check (last_name <> ''),
    email      text not null constraint customers_email check (email <> ''),
    mobile     text not null,
    archived   boolean not null,
    version    bigint not null default 1,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    deleted_at timestamptz,
    primary key (company_id, id)
);

-- A reference names one customer for ever, a deleted one too.
create unique index customers_reference on customers (company_id, reference) where reference is not null;

-- Lists of what changed since an instant.
create index customers_updated on customers (company_id, updated_at, id) where deleted_at is null;

-- How many customers of a company are not deleted, kept in the commits that
-- change it. The count is spread over slots, so that concurrent writers do not
-- wait for each other.
create table customer_counts (
    company_id uuid not null,
    slot       smallint not null,
    live       bigint not null,
    primary key (company_id, slot)
);

select tenant_table('customers');
select tenant_table('customer_counts');
