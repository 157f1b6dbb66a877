-- +goose Up

-- The attendance of events by day, so that a report needs no row for each date: their dates that are not cancelled
-- and have a day, with the spaces of their bookings, and the appointments that are not cancelled.
create table event_attendance (
    company_id         uuid not null,
    generation         bigint not null,
    day                date not null,
    event_id           uuid not null,
    is_appointment     boolean not null,
    dates              bigint not null,
    booked             bigint not null,
    attended           bigint not null,
    no_shows           bigint not null,
    cancelled          bigint not null,
    cancelled_late     bigint not null,
    capacity           bigint not null,
    -- The booked spaces of the dates that have a capacity.
    booked_of_capacity bigint not null,
    primary key (company_id, generation, day, event_id, is_appointment)
) with (fillfactor = 80);

select tenant_table('event_attendance');

-- The same by month, by its first day.
create table monthly_attendance (like event_attendance including all) with (fillfactor = 80);

select tenant_table('monthly_attendance');

-- The service is new in the next release, so no other process changes sums while this runs.
insert into event_attendance
    select d.company_id, d.generation, d.day, d.event_id, false, count(*), sum(coalesce(a.booked, 0)), sum(coalesce(a.attended, 0)),
            sum(coalesce(a.no_shows, 0)), sum(coalesce(a.cancelled, 0)), sum(coalesce(a.cancelled_late, 0)), sum(coalesce(d.capacity, 0)),
            sum(case when d.capacity is null then 0 else coalesce(a.booked, 0) end)
        from dates d left join attendance a on a.company_id = d.company_id and a.generation = d.generation and a.date_id = d.id
        where d.day is not null and not d.is_cancelled
        group by d.company_id, d.generation, d.day, d.event_id
    union all
    select company_id, generation, day, event_id, true, dates, booked, attended, no_shows, 0, 0, booked, booked from appointments;

insert into monthly_attendance
    select company_id, generation, date_trunc('month', day)::date, event_id, is_appointment, sum(dates), sum(booked), sum(attended), sum(no_shows),
            sum(cancelled), sum(cancelled_late), sum(capacity), sum(booked_of_capacity)
        from event_attendance group by company_id, generation, date_trunc('month', day)::date, event_id, is_appointment;

-- allow drop: the previous release does not have the service, and event_attendance has the appointments
drop table appointments;
