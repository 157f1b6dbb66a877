-- +goose NO TRANSACTION
-- +goose Up

-- Lists of the purchases of a period, such as those of a month for the accounts, walk along this index. Without it,
-- each page would read all purchases of the company. A purchase adds one entry, of about 60 bytes, to it, and so
-- does a later change of the transaction, as to its other indexes. The last condition is always true: only statements
-- that have it use the index, and no others, even if there are no statistics yet.
-- An interrupted build leaves an invalid index, which must be built again.
drop index concurrently if exists transactions_by_purchase;
create index concurrently if not exists transactions_by_purchase on transactions (company_id, purchased_at, id)
    where status = 'confirmed' and (case when timezone is null then source else timezone end) is not null;
