-- +goose NO TRANSACTION
-- +goose Up

-- Fills in the search text of the customers who were stored without one, 5,000 at a
-- time. Their rows are locked in the order of their keys, so that two processes which
-- migrate do not deadlock. An interrupted migration can be repeated.
-- +goose StatementBegin
-- allow repeatable: rows that are filled in are passed over
do $$
declare
    last record;
    company uuid := '00000000-0000-0000-0000-000000000000';
    customer uuid := company;
begin
    loop
        with batch as materialized (
            select company_id, id from customers
                where (company_id, id) > (company, customer) order by company_id, id limit 5000
        ), locked as materialized (
            select c.company_id, c.id from customers c join batch b on c.company_id = b.company_id and c.id = b.id
                where c.search is null order by c.company_id, c.id for no key update of c
        ), filled as (
            update customers c set email = c.email from locked l where c.company_id = l.company_id and c.id = l.id
        )
        select b.company_id, b.id into last from batch b order by b.company_id desc, b.id desc limit 1;
        exit when not found;
        company := last.company_id;
        customer := last.id;
        commit;
    end loop;
end
$$;
-- +goose StatementEnd

-- An interrupted build leaves an invalid index, which must be built again.

-- Patterns with at least three letters or digits in a row.
drop index concurrently if exists customers_search;
create index concurrently if not exists customers_search on customers using gin (company_id, search gin_trgm_ops)
    where deleted_at is null and search is not null;

-- Shorter patterns have no trigram. They are searched for in this index alone, without
-- the table.
drop index concurrently if exists customers_search_short;
create index concurrently if not exists customers_search_short on customers (company_id, id) include (search, archived)
    where deleted_at is null and search is not null;
