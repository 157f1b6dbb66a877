-- +goose NO TRANSACTION
-- +goose Up

-- Exclusion constraints over a uuid and a range need it. The owner of a database can create it, because
-- it is a trusted extension.
create extension if not exists btree_gist;

create table if not exists staff (
    company_id uuid not null,
    id         uuid not null,
    name       text not null,
    email      text not null,
    photo_url  text not null,
    bio        text not null,
    color      text not null constraint staff_color check (color ~ '^#[0-9a-f]{6}$'),
    active     boolean not null,
    reference  text,
    version    bigint not null default 1,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    primary key (company_id, id)
);

create unique index if not exists staff_reference on staff (company_id, reference) where reference is not null;
create index if not exists staff_by_creation on staff (company_id, created_at, id);
create index if not exists staff_by_change on staff (company_id, updated_at, id);

-- Shifts. A weekly shift has a weekday; a shift of a calendar day has a date, and a day without shifts
-- has one row without times.
create table if not exists working_hours (
    company_id uuid not null,
    staff_id   uuid not null,
    position   integer not null,
    weekday    smallint constraint working_hours_weekday check (weekday between 1 and 7), -- ISO 8601
    date       date,
    starts     smallint constraint working_hours_starts check (starts between 0 and 1439), -- minutes after midnight
    ends       smallint constraint working_hours_ends check (ends between 1 and 2879), -- from 1440 on, of the next day
    location   text not null,
    timezone   text not null,
    primary key (company_id, staff_id, position),
    constraint working_hours_day check ((weekday is null) <> (date is null)),
    constraint working_hours_length check ((starts is null) = (ends is null) and (ends > starts and ends - starts <= 1440 or date is not null and starts is null))
);

create table if not exists rooms (
    company_id uuid not null,
    id         uuid not null,
    name       text not null,
    kind       text not null constraint rooms_kind check (kind in ('room', 'equipment')),
    capacity   integer not null constraint rooms_capacity check (capacity between 1 and 100),
    location   text not null,
    active     boolean not null,
    reference  text,
    version    bigint not null default 1,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    primary key (company_id, id)
);

create unique index if not exists rooms_reference on rooms (company_id, reference) where reference is not null;
create index if not exists rooms_by_creation on rooms (company_id, created_at, id);
create index if not exists rooms_by_change on rooms (company_id, updated_at, id);

-- Of a person or a room.
create table if not exists time_off (
    company_id  uuid not null,
    id          uuid not null,
    resource_id uuid not null,
    kind        text not null constraint time_off_kind check (kind in ('staff', 'room')),
    starts_at   timestamptz not null,
    ends_at     timestamptz not null,
    reason      text not null,
    created_at  timestamptz not null,
    primary key (company_id, id),
    constraint time_off_length check (ends_at > starts_at)
);

create index if not exists time_off_by_resource on time_off (company_id, resource_id, ends_at) include (starts_at);
create index if not exists time_off_by_start on time_off (company_id, starts_at, id);

create table if not exists holidays (
    company_id uuid not null,
    id         uuid not null,
    date       date not null,
    name       text not null,
    location   text not null, -- '': all
    created_at timestamptz not null,
    primary key (company_id, id),
    constraint holidays_once unique (company_id, date, location)
);

-- An appointment type has the UUID of its event, which has its title, description, location, zone, rules,
-- policy and prices.
create table if not exists appointment_types (
    company_id            uuid not null,
    id                    uuid not null,
    lengths               integer[] not null, -- minutes, ascending
    buffer_before_minutes integer not null constraint appointment_types_before check (buffer_before_minutes between 0 and 480),
    buffer_after_minutes  integer not null constraint appointment_types_after check (buffer_after_minutes between 0 and 480),
    slot_minutes          integer not null constraint appointment_types_slot check (slot_minutes between 5 and 1440),
    -- The rules of the event stay empty, because callers can waive these.
    minimum_notice_minutes integer not null default 0 constraint appointment_types_notice check (minimum_notice_minutes between 0 and 525600),
    maximum_advance_days  integer not null default 0 constraint appointment_types_advance check (maximum_advance_days between 0 and 3650), -- 0: no limit
    active                boolean not null,
    reference             text,
    created_at            timestamptz not null,
    updated_at            timestamptz not null,
    primary key (company_id, id),
    constraint appointment_types_event foreign key (company_id, id) references events (company_id, id)
);

create unique index if not exists appointment_types_reference on appointment_types (company_id, reference)
    where reference is not null;
create index if not exists appointment_types_by_creation on appointment_types (company_id, created_at, id);
create index if not exists appointment_types_by_change on appointment_types (company_id, updated_at, id);

create table if not exists appointment_type_staff (
    company_id          uuid not null,
    appointment_type_id uuid not null,
    staff_id            uuid not null,
    primary key (company_id, appointment_type_id, staff_id)
);

create index if not exists appointment_type_staff_by_staff on appointment_type_staff (company_id, staff_id, appointment_type_id);

create table if not exists appointment_type_rooms (
    company_id          uuid not null,
    appointment_type_id uuid not null,
    requirement         smallint not null,
    position            smallint not null, -- the order of preference
    room_id             uuid not null,
    primary key (company_id, appointment_type_id, room_id)
);

-- Calendars to which programs subscribe. The secret of the address is stored as its SHA-256.
create table if not exists calendars (
    company_id   uuid not null,
    id           uuid not null,
    kind         text not null constraint calendars_kind check (kind in ('staff', 'customer', 'company')),
    subject_id   uuid,
    secret_hash  bytea not null,
    secret_start text not null,
    created_at   timestamptz not null,
    last_read_at timestamptz,
    primary key (company_id, id),
    constraint calendars_secret unique (secret_hash),
    constraint calendars_subject check ((subject_id is null) = (kind = 'company'))
);

create index if not exists calendars_by_subject on calendars (company_id, subject_id, id);

-- What takes the time of a person, or of a unit of a room: a date with its buffers. An assignment that is
-- not active is kept to show who had the date, and takes no time.
create table if not exists assignments (
    company_id      uuid not null,
    event_date_id   uuid not null,
    booking_id      uuid, -- of an appointment: the booking for which the assignment was made
    resource_id     uuid not null,
    kind            text not null constraint assignments_kind check (kind in ('staff', 'room')),
    unit            smallint not null constraint assignments_unit check (unit = 0 and kind = 'staff' or unit between 1 and 100 and kind = 'room'),
    position        smallint not null, -- in the lists of a date; -1 if a class no longer has the person or room
    buffer_before   integer not null default 0, -- minutes
    buffer_after    integer not null default 0,
    taken_from      timestamptz not null, -- the start of the date less the buffer
    taken_until     timestamptz not null,
    active          boolean not null default true,
    -- The person whom this one replaces on this date.
    substitutes_for uuid,
    -- The start of the date, along which lists walk.
    starts_at       timestamptz not null generated always as
        ((taken_from at time zone 'UTC' + make_interval(mins => buffer_before)) at time zone 'UTC') stored,
    primary key (company_id, event_date_id, resource_id),
    constraint assignments_time check (taken_until > taken_from)
);

-- The database itself keeps a person and a unit from being taken twice at a time. The check is made when
-- the statement "set constraints … immediate" runs, or at the commit, so that a commit can move several
-- dates past each other.
alter table assignments drop constraint if exists assignments_overlap, add constraint assignments_overlap
    exclude using gist (company_id with =, resource_id with =, unit with =, tstzrange(taken_from, taken_until) with &&)
    where (active) deferrable initially deferred;

-- Under row level security, ranges are not searched with an index, but times are.
create index if not exists assignments_by_time on assignments (company_id, resource_id, taken_until) include (taken_from, unit, event_date_id)
    where active;
-- An assignment of at most two days that overlaps a span is found by its start. These are the longer ones.
create index if not exists assignments_long on assignments (company_id, resource_id, taken_until)
    where active and taken_until - taken_from > interval '2 days';
-- What takes the units of a room next.
create index if not exists assignments_by_unit on assignments (company_id, resource_id, unit, taken_until) include (taken_from, event_date_id)
    where active and unit > 0;
-- Lists of the dates of a person or a room.
create index if not exists assignments_by_resource on assignments (company_id, resource_id, taken_from, event_date_id);
-- Lists of the appointments of a person or in a room, by start.
create index if not exists assignments_by_start on assignments (company_id, resource_id, starts_at, event_date_id);

alter table events
    -- Who teaches new dates, and where.
    add column if not exists staff_ids uuid[] not null default '{}',
    add column if not exists room_ids uuid[] not null default '{}',
    -- Whether the event has the appointments of an appointment type. It is listed from its first date on.
    add column if not exists of_appointments boolean not null default false,
    add column if not exists listed boolean not null default true;

alter table event_dates
    -- The date's own id if it is an appointment, so that an event can have several of them at a time; else null.
    add column if not exists appointment_id uuid,
    -- Increases with every change of the time, status, staff or rooms: the SEQUENCE of calendars.
    add column if not exists sequence integer not null default 0,
    -- Since when the date of an appointment has no booking any more, because its hold ended or its appointment was
    -- moved. Such a date is removed later; else null.
    add column if not exists vacated_at timestamptz;

alter table event_dates drop constraint if exists event_dates_appointment, add constraint event_dates_appointment check (appointment_id = id) not valid;
alter table event_dates validate constraint event_dates_appointment;

-- Appointments by start, and the appointments of a span.
drop index concurrently if exists event_dates_of_appointments;
create index concurrently if not exists event_dates_of_appointments on event_dates (company_id, starts_at, id)
    where appointment_id is not null;
drop index concurrently if exists event_dates_vacated;
create index concurrently if not exists event_dates_vacated on event_dates (vacated_at) where vacated_at is not null;

-- Totals of events subtract those that are not listed, or that the caller cannot see.
drop index concurrently if exists events_of_appointments;
create index concurrently if not exists events_of_appointments on events (company_id, id) where of_appointments;

-- Calendars of a company show it; '' until the company is read or changed.
alter table companies add column if not exists name text not null default '';

alter table pricing_options add column if not exists length_minutes integer; -- null: all lengths

-- Assignments follow their date, whoever changes it.
-- +goose StatementBegin
create or replace function event_date_changed() returns trigger
    language plpgsql as $$
begin
    if new.starts_at >= '10000-01-01' then -- a statement that moves dates past each other clears their starts first
        return new;
    end if;
    new.sequence := old.sequence + 1;
    update assignments a set
            taken_from = new.starts_at - make_interval(mins => a.buffer_before),
            taken_until = new.starts_at + make_interval(mins => new.duration_minutes + a.buffer_after),
            active = a.active and new.status = 'scheduled'
        where a.company_id = new.company_id and a.event_date_id = new.id and (a.active
            or a.taken_from <> new.starts_at - make_interval(mins => a.buffer_before)
            or a.taken_until <> new.starts_at + make_interval(mins => new.duration_minutes + a.buffer_after));
    return new;
end
$$;
-- +goose StatementEnd

-- allow trigger: it sets columns that the previous release does not read
create or replace trigger event_date_changed before update of starts_at, duration_minutes, status on event_dates
    for each row when (new.starts_at <> old.starts_at or new.duration_minutes <> old.duration_minutes or new.status <> old.status)
    execute function event_date_changed();

-- +goose StatementBegin
create or replace function event_deleted() returns trigger
    language plpgsql as $$
begin
    update assignments a set active = false from event_dates d
        where d.company_id = new.company_id and d.event_id = new.id
            and a.company_id = d.company_id and a.event_date_id = d.id and a.active;
    return null;
end
$$;
-- +goose StatementEnd

-- allow trigger: it writes a table that the previous release does not know
create or replace trigger event_deleted after update of deleted_at on events
    for each row when (old.deleted_at is null and new.deleted_at is not null)
    execute function event_deleted();

select tenant_table(t::regclass) from unnest(array[
    'staff', 'working_hours', 'rooms', 'time_off', 'holidays', 'appointment_types', 'appointment_type_staff',
    'appointment_type_rooms', 'calendars', 'assignments'
]) t where not exists (select from pg_policies where tablename = t);

-- An event can have several appointments at a time, and only one date of another kind. The name stays, so
-- that the previous release recognizes a violation.
-- An interrupted build leaves an index that is not used.
drop index concurrently if exists event_dates_once;
create unique index concurrently if not exists event_dates_once on event_dates (company_id, event_id, starts_at, appointment_id)
    nulls not distinct;
-- allow repeatable: nothing follows that can fail
-- +goose StatementBegin
do $$
begin
    alter table event_dates drop constraint event_dates_start;
    alter index event_dates_once rename to event_dates_start;
end
$$;
-- +goose StatementEnd
