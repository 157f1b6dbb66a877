-- +goose Up

-- By how many seconds the test clock of a company in test mode is ahead.
alter table companies add column clock_offset_seconds bigint not null default 0;
