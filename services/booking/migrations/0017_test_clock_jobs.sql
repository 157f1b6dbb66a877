-- +goose NO TRANSACTION
-- +goose Up

-- An interrupted build leaves an index that is not used, so each is dropped first.

-- The companies whose test clock is ahead: the jobs look at each of them.
drop index concurrently if exists companies_with_test_clock;
create index concurrently if not exists companies_with_test_clock on companies (company_id) where clock_offset_seconds > 0;

-- What becomes due by a test clock. The identifier of a company in test mode is a UUID of version 8, so
-- these indexes have no rows of companies in live mode.
drop index concurrently if exists transactions_due_by_test_clock;
create index concurrently if not exists transactions_due_by_test_clock on transactions (company_id, expires_at)
    where status = 'held' and substr(company_id::text, 15, 1) = '8';
drop index concurrently if exists waitlist_entries_to_close_by_test_clock;
create index concurrently if not exists waitlist_entries_to_close_by_test_clock on waitlist_entries (company_id, closes_at)
    where state = 'waiting' and substr(company_id::text, 15, 1) = '8';
