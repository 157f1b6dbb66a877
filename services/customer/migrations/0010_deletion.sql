-- +goose Up

-- A deletion that the services which act in customers' names have not confirmed
-- yet: the caller has no answer, and may repeat the request.
alter table customers add column deletion_unconfirmed boolean not null default false;
