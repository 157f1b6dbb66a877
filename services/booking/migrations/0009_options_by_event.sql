-- +goose NO TRANSACTION
-- +goose Up

-- An interrupted build leaves an invalid index.
drop index concurrently if exists pricing_options_by_event;
-- Every purchase reads the options of its events, including ended ones.
create index concurrently if not exists pricing_options_by_event on pricing_options (company_id, event_id);
