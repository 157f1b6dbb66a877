-- +goose Up

-- The catalogue of the service says which events there are. A further event needs no
-- migration.
-- allow drop-constraint: nothing names it, and the previous release stores no other event
alter table messages drop constraint messages_event;
