-- +goose Up

-- Whether customers of the company may have no e-mail address.
alter table companies add column optional_customer_emails boolean not null default false;
