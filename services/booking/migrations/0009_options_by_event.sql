-- +goose NO TRANSACTION
-- +goose Up

-- Every purchase reads the options of its events, ended ones too.
create index concurrently if not exists pricing_options_by_event on pricing_options (company_id, event_id);
