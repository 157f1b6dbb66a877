-- +goose Up

-- The number of archived customers that are not deleted, so that lists of archived or
-- other customers have their total without counting. Triggers update it, so writers that
-- do not know the column keep it right too.
alter table customer_counts add column archived bigint not null default 0;

-- Every connection has its own slot for archived customers, separate from the other
-- counts: two transactions never wait for each other crosswise.

-- The rows that a statement adds are counted together, because an import can be long.
-- +goose StatementBegin
create function count_archived_added() returns trigger
    language plpgsql as $$
begin
    insert into customer_counts as c (company_id, slot, live, archived)
        select company_id, 16 + pg_backend_pid() % 16, 0, count(*) from added
            where archived and deleted_at is null group by company_id
        on conflict (company_id, slot) do update set archived = c.archived + excluded.archived;
    return null;
end
$$;
-- +goose StatementEnd

-- +goose StatementBegin
create function count_archived_changed() returns trigger
    language plpgsql as $$
begin
    insert into customer_counts as c (company_id, slot, live, archived)
        values (new.company_id, 16 + pg_backend_pid() % 16, 0, case when old.archived and old.deleted_at is null then -1 else 1 end)
        on conflict (company_id, slot) do update set archived = c.archived + excluded.archived;
    return null;
end
$$;
-- +goose StatementEnd

-- No customer can be written from here until the count below is committed.
-- allow trigger: it counts in rows of its own
create trigger count_archived_added after insert on customers
    referencing new table as added for each statement execute function count_archived_added();

-- allow trigger: it counts in rows of its own
create trigger count_archived_changed after update of archived, deleted_at on customers
    for each row when ((old.archived and old.deleted_at is null) is distinct from (new.archived and new.deleted_at is null))
    execute function count_archived_changed();

insert into customer_counts as c (company_id, slot, live, archived)
    select company_id, 16, 0, count(*) from customers where archived and deleted_at is null group by company_id
    on conflict (company_id, slot) do update set archived = c.archived + excluded.archived;
