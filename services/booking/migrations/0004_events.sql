-- +goose NO TRANSACTION
-- Indexes are built while the service runs, so each statement is a transaction of
-- its own, and each can be repeated after a failure.
-- +goose Up

alter table events
    add column if not exists free_cancellation_minutes integer, -- null: cancellation is always free
    add column if not exists recurrence_rule text,
    add column if not exists recurrence_start text,
    add column if not exists recurrence_exceptions text[],
    add column if not exists deleted_at timestamptz;

alter table events
    drop constraint if exists events_free_cancellation,
    drop constraint if exists events_recurrence,
    add constraint events_free_cancellation check (free_cancellation_minutes between 0 and 525600),
    add constraint events_recurrence check ((recurrence_rule is null) = (recurrence_start is null)
        and (recurrence_rule is null) = (recurrence_exceptions is null));

-- draft repeats the event's status where purchases lock: they see it whatever
-- they saw of the event. closing says that bookings are still to be cancelled.
alter table event_dates
    add column if not exists draft boolean not null default false,
    add column if not exists closing boolean not null default false;

update event_dates d set draft = true from events e
    where e.company_id = d.company_id and e.id = d.event_id and e.status = 'draft' and not d.draft;

alter table bookings
    add column if not exists attendance text,
    add column if not exists attendance_at timestamptz;

-- Validated apart from being added, so that it keeps nobody from booking.
alter table bookings
    drop constraint if exists bookings_attendance,
    add constraint bookings_attendance check (attendance in ('checked_in', 'no_show')) not valid;

alter table bookings validate constraint bookings_attendance;

-- Pages of events by creation and by change, and counts of what filters leave.
create index concurrently if not exists events_by_creation on events (company_id, created_at, id)
    include (type, status, updated_at) where deleted_at is null;

create index concurrently if not exists events_by_change on events (company_id, updated_at, id)
    where deleted_at is null;

create index concurrently if not exists event_dates_by_start on event_dates (company_id, starts_at, event_id);

create index concurrently if not exists event_dates_closing on event_dates (company_id, id) where closing;

-- Pages and counts of an event's bookings. An identifier begins with the time at
-- which it was made, so that its order is that of creation.
create index concurrently if not exists bookings_by_event on bookings (company_id, event_id, id) include (is_cancelled);

create index concurrently if not exists bookings_by_date on bookings (company_id, event_date_id, id) include (is_cancelled);

create index concurrently if not exists bookings_by_recipient on bookings (company_id, bought_for, event_id, id)
    where bought_for is not null;

-- What readers do not see: few, and so what they see can be counted.
create index concurrently if not exists transactions_unconfirmed on transactions (company_id, id) where status <> 'confirmed';
