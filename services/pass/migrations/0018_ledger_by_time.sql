-- +goose NO TRANSACTION
-- +goose Up

-- The entries of all passes of a company, in the order of their time: exports of the ledger walk along this index.
-- Without it, each page would read every ledger of the company. An entry adds about 70 bytes to the index. Entries
-- do not change, so nothing else writes to it.
-- An interrupted build leaves an invalid index, which must be built again.
drop index concurrently if exists ledger_entries_by_time;
create index concurrently if not exists ledger_entries_by_time on ledger_entries (company_id, created_at, customer_pass_id, sequence);
