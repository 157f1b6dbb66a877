-- +goose Up

-- Whom this database has to forget. What comes late (an event, a request that was
-- under way) finds them here and stores nothing about the person.
create table erased_customers (
    company_id  uuid not null,
    customer_id uuid not null,
    erased_at   timestamptz not null,
    primary key (company_id, customer_id)
);

select tenant_table('erased_customers');
