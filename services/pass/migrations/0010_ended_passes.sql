-- +goose NO TRANSACTION
-- +goose Up

-- Lists of paused and of cancelled passes walk along this. Redemptions do not write to it, because
-- they change active passes only.
-- An interrupted build leaves an invalid index, which must be built again.
drop index concurrently if exists customer_passes_ended;
create index concurrently if not exists customer_passes_ended on customer_passes (company_id, status, created_at, id) where status <> 'active';
