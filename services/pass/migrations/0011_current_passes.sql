-- +goose NO TRANSACTION
-- +goose Up

-- Lists of active, pending, exhausted and expired passes are counted along this, and the first three are
-- read along it from the oldest: the passes that have not expired are the newest of all.
-- An interrupted build leaves an invalid index, which must be built again.
drop index concurrently if exists customer_passes_current;
create index concurrently if not exists customer_passes_current on customer_passes (company_id, expiry_date)
    include (start_date, remaining_uses, created_at, updated_at, id) where status = 'active';
