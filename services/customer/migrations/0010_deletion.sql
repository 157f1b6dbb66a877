-- +goose Up

-- A deletion that the services which act on behalf of customers have not confirmed yet:
-- the caller has no response, and may repeat the request.
alter table customers add column deletion_unconfirmed boolean not null default false;
