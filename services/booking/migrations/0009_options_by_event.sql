-- +goose NO TRANSACTION
-- +goose Up

-- What a build that was interrupted left behind is of no use.
drop index concurrently if exists pricing_options_by_event;
-- Every purchase reads the options of its events, ended ones too.
create index concurrently if not exists pricing_options_by_event on pricing_options (company_id, event_id);
