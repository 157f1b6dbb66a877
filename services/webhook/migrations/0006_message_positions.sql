-- +goose NO TRANSACTION
-- +goose Up

-- The order in which messages become visible. Every position is higher than those of all messages that
-- were visible before, and is not below the time when it was assigned, in microseconds since 1970. So
-- the order continues after a restore too. Null: a test message, or one of an earlier release.
create sequence if not exists message_positions;

alter table messages add column if not exists position bigint;

-- allow repeatable: it sets what is already set
alter table messages alter column position set default nextval('message_positions');

-- order_messages lets transactions that store messages commit one after the other, so that none with
-- lower positions becomes visible later. A process that is stopped before its commit delays the others
-- for at most 5 s.
-- +goose StatementBegin
create or replace function order_messages() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
    perform pg_advisory_xact_lock(hashtext('message_positions'));
    perform set_config('idle_in_transaction_session_timeout', '5000', true);
    perform setval('message_positions', greatest((extract(epoch from clock_timestamp()) * 1000000)::bigint, last_value))
        from message_positions;
    return null;
end
$$;
-- +goose StatementEnd

-- allow trigger: what the previous release stores is in the same order
create or replace trigger messages_order before insert on messages for each statement execute function order_messages();

-- allow index: the parent has no rows
create index if not exists messages_position on only messages (company_id, position) where position is not null;
-- allow index: the parent has no rows
create index if not exists messages_position_of_event on only messages (company_id, event, position) where position is not null;

-- Each partition is locked for the moment in which its index is built: a commit follows each.
-- allow repeatable: it skips the indexes that exist
-- +goose StatementBegin
do $$
declare
    part text;
    parent text;
    columns text;
begin
    for part in select inhrelid::regclass::text from pg_inherits where inhparent = 'messages'::regclass order by 1 loop
        for parent, columns in values
            ('messages_position', 'company_id, position'),
            ('messages_position_of_event', 'company_id, event, position')
        loop
            if not exists (select from pg_inherits i join pg_index x on x.indexrelid = i.inhrelid
                where i.inhparent = parent::regclass and x.indrelid = part::regclass) then
                execute format('create index if not exists %I on %s (%s) where position is not null',
                    replace(parent, 'messages', part), part, columns);
                execute format('alter index %I attach partition %I', parent, replace(parent, 'messages', part));
                commit;
            end if;
        end loop;
    end loop;
end
$$;
-- +goose StatementEnd
