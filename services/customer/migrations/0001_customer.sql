-- +goose Up

create table customers (
    company_id uuid not null,
    id         uuid not null,
    -- The key in an earlier system, of imported customers.
    reference  text constraint customers_reference_length check (char_length(reference) between 1 and 200),
    first_name text not null constraint customers_first_name check (char_length(first_name) between 1 and 100),
    last_name  text not null constraint customers_last_name check (char_length(last_name) between 1 and 100),
    email      text not null constraint customers_email check (octet_length(email) between 1 and 254),
    mobile     text not null constraint customers_mobile check (char_length(mobile) <= 40),
    archived   boolean not null,
    version    bigint not null default 1 constraint customers_version check (version >= 1),
    created_at timestamptz not null,
    updated_at timestamptz not null,
    deleted_at timestamptz,
    primary key (company_id, id)
) with (
    -- Counts and deep pages read an index alone, as long as the visibility map
    -- keeps up.
    autovacuum_vacuum_insert_scale_factor = 0.02,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_analyze_scale_factor = 0.02
);

-- A reference names one customer for ever, a deleted one too.
create unique index customers_reference on customers (company_id, reference) where reference is not null;

-- Lists and exports walk along this index. It serves them also before the table
-- has statistics, when the planner would rather sort a whole company.
create index customers_live on customers (company_id, id) where deleted_at is null;

-- Lists of what changed since an instant.
create index customers_updated on customers (company_id, updated_at, id) where deleted_at is null;

-- How many customers of a company are not deleted, kept in the commits that
-- change it. The count is spread over slots, so that concurrent writers do not
-- wait for each other; a single slot may be negative.
create table customer_counts (
    company_id uuid not null,
    slot       smallint not null,
    live       bigint not null,
    primary key (company_id, slot)
) with (fillfactor = 50);

select tenant_table('customers');
select tenant_table('customer_counts');
