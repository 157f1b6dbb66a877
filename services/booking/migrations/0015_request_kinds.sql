-- +goose NO TRANSACTION
-- +goose Up

-- The kind of resource of the request with which a pending purchase began; null: an earlier release
-- began it.
alter table transactions add column if not exists request_kind text;
