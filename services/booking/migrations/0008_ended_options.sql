-- +goose Up

-- A pricing option that has ended is sold no more. Bookings keep it, and so does who
-- waits for a place at its price; its name is free for another of the event.
alter table pricing_options add column ended_at timestamptz;
-- allow drop-constraint: the index below has its name and does its work
alter table pricing_options drop constraint pricing_options_name;
-- allow index: an event has a handful of options, and they are seldom written
create unique index pricing_options_name on pricing_options (company_id, event_id, name) where ended_at is null;
