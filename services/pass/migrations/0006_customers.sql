-- +goose Up

-- The customers in whose name the service has acted, so that a commit which acts
-- for a customer has a row to lock, and those that it knows to be deleted. A
-- customer who is not here is nobody's concern yet.
create table customers (
    company_id uuid not null,
    id         uuid not null,
    deleted_at timestamptz,
    primary key (company_id, id)
);

select tenant_table('customers');
