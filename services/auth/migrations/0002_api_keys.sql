-- +goose Up

alter table companies add column unique_customer_emails boolean not null default false;

-- API keys are credentials too. Their scopes are permissions: '*' is all.
alter table credentials add column rate_limit integer
    constraint credentials_rate_limit check (rate_limit between 1 and 10000);
alter table credentials drop constraint credentials_kind;
alter table credentials add constraint credentials_kind check (kind in ('client', 'key', 'service'));
alter table credentials add constraint credentials_key_company
    check (kind <> 'key' or company_id <> '00000000-0000-0000-0000-000000000000');
