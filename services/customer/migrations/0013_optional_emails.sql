-- +goose NO TRANSACTION
-- Existing rows are checked while the service runs, so each statement is a transaction of its own, and each can be
-- repeated after a failure.
-- +goose Up

-- Whether customers of the company may have no e-mail address.
alter table companies add column if not exists optional_emails boolean not null default false;

-- An empty address means that the customer has none. The service decides whether the company allows it.
alter table customers
    drop constraint if exists customers_email,
    add constraint customers_email check (octet_length(email) <= 254) not valid;
alter table customers validate constraint customers_email;
