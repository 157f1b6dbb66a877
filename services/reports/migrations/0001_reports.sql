-- +goose Up

-- A copy of the auth service's companies, kept up to date by its events.
create table companies (
    company_id           uuid primary key,
    timezone             text not null,
    currency             text not null,
    clock_offset_seconds bigint not null default 0,
    version              bigint not null
);

select tenant_table('companies');
