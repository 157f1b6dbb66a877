-- +goose NO TRANSACTION
-- +goose Up

-- The key of an imported pass in the system that it comes from; null: the pass was not imported. A repeated import
-- finds the pass by it. The previous release leaves it null.
alter table customer_passes add column if not exists reference text;

-- An interrupted build leaves an invalid index, which must be built again.
drop index concurrently if exists customer_passes_reference;
create unique index concurrently if not exists customer_passes_reference on customer_passes (company_id, reference)
    where reference is not null;
