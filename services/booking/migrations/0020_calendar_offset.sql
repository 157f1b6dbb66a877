-- +goose Up

-- What the sequence of a booking's entry in calendars has in addition to that of its date, so that it increases
-- when the booking moves to a date with a lower one; null: nothing.
alter table bookings add column if not exists calendar_offset integer;
