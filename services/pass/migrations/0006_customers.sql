-- +goose Up

-- Customers for whom the service has acted, and customers that it knows to be
-- deleted. A commit that acts for a customer locks the customer's row.
create table customers (
    company_id uuid not null,
    id         uuid not null,
    deleted_at timestamptz,
    primary key (company_id, id)
);

select tenant_table('customers');
