-- +goose Up

-- A copy of what the auth service knows of a company, kept by its events.
create table companies (
    company_id uuid primary key,
    timezone   text not null,
    currency   text not null,
    version    bigint not null
);

select tenant_table('companies');
