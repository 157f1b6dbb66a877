-- +goose Up

-- A company in test mode has the identifier of the one in live mode, as a UUID of version 8.
-- live_version is the version of the company in live mode whose settings it has; 0 for a company in
-- live mode.
alter table companies
    add column live_version bigint not null default 0,
    add column clock_offset_seconds bigint not null default 0;

alter table companies add constraint companies_clock
    check (clock_offset_seconds >= 0 and (clock_offset_seconds = 0 or live_version > 0)) not valid;
