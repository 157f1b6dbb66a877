-- +goose NO TRANSACTION
-- +goose Up

-- Fills in the numbers of existing customers, in batches.
-- +goose StatementBegin
-- allow repeatable: what is filled in is passed over
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
        ), filled as (
            update customers c set mobile = c.mobile from batch b
                where c.company_id = b.company_id and c.id = b.id and c.mobile_digits is null and c.mobile <> ''
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
drop index concurrently if exists customers_mobile_digits;
create index concurrently if not exists customers_mobile_digits on customers (company_id, mobile_digits) where deleted_at is null and mobile_digits is not null;
drop index concurrently if exists customers_mobile_key;
create index concurrently if not exists customers_mobile_key on customers (company_id, mobile_key) where deleted_at is null and mobile_key is not null;
drop index concurrently if exists customers_mobile_end;
create index concurrently if not exists customers_mobile_end on customers (company_id, mobile_end) where deleted_at is null and mobile_end is not null;
