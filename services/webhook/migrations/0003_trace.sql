-- +goose Up

-- The request and the trace of the domain event. Deliveries belong to them, no matter
-- when and by which process they are created.
alter table messages add column trace jsonb;
