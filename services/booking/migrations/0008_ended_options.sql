-- +goose Up

-- An ended pricing option is no longer sold. Bookings keep it, and so do waitlist
-- entries at its price. Another option of the event can have its name.
alter table pricing_options add column ended_at timestamptz;
-- allow drop-constraint: the index below has its name and does its work
alter table pricing_options drop constraint pricing_options_name;
-- allow index: an event has a handful of options, and they are seldom written
create unique index pricing_options_name on pricing_options (company_id, event_id, name) where ended_at is null;
