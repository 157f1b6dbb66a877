-- +goose Up

-- The request and the trace in which what a message tells of happened, as its event
-- carried them: deliveries belong to them whenever, and by whomever, they are made.
alter table messages add column trace jsonb;
