-- +goose Up

-- keep_partitions drops no partition while a company is copied to another installation, or from one. Replication does
-- not repeat the drop, so the two sides would differ. The publication of the copy exists at the source, and the mark at
-- the target. Later calls drop the partitions.
-- +goose StatementBegin
create or replace function keep_partitions() returns integer language plpgsql security definer set search_path = public, pg_temp set timezone = 'UTC' as $$
declare
    day date;
    name text;
    changed integer := 0;
begin
    perform pg_advisory_xact_lock(hashtext('keep_partitions'));
    for day in select d::date from generate_series(current_date - 8, current_date + 14, interval '1 day') d loop
        name := 'messages_' || to_char(day, 'YYYYMMDD');
        if to_regclass(name) is null then
            begin
                execute format('create table %I partition of messages for values from (%L) to (%L)',
                    name, first_uuid_at(day::timestamptz), first_uuid_at((day + 1)::timestamptz));
                perform tenant_table(name::regclass);
                changed := changed + 1;
            exception when check_violation then null; -- its rows are in messages_other
            end;
        end if;
        name := 'attempts_' || to_char(day, 'YYYYMMDD');
        if to_regclass(name) is null then
            begin
                execute format('create table %I partition of attempts for values from (%L) to (%L)',
                    name, day::timestamptz, (day + 1)::timestamptz);
                perform tenant_table(name::regclass);
                changed := changed + 1;
            exception when check_violation then null;
            end;
        end if;
    end loop;
    if exists (select from company_moves where state <> 'left') or exists (select from pg_publication where pubname like 'move\_%') then
        return changed;
    end if;
    for name in select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent in ('messages'::regclass, 'attempts'::regclass) and c.relname ~ '_\d{8}$'
            and to_date(right(c.relname, 8), 'YYYYMMDD') < current_date - 30 loop
        execute format('drop table %I', name);
        changed := changed + 1;
    end loop;
    return changed;
end
$$;
-- +goose StatementEnd
