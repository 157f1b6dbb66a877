-- +goose Up

-- The service's catalogue defines the events, so that a new event needs no migration.
-- allow drop-constraint: nothing names it, and the previous release stores no other event
alter table messages drop constraint messages_event;
