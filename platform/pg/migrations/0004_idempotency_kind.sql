-- +goose Up

-- The kind of resource that a request with an idempotency key was about. It is null in rows
-- of the previous release, whose keys apply to every kind.
alter table idempotency_keys add column kind text;
