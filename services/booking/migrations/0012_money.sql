-- +goose NO TRANSACTION
-- +goose Up

-- Outcomes of cancellations and refunds. refund_due is what is owed and not refunded yet. A refund
-- that the previous release or an import recorded has no amount: it is the whole price. money_method
-- is how an amount was collected; null means by card. It is separate from method, so that the previous
-- release reads every amount as one by card.
alter table bookings
    add column if not exists late boolean not null default false,
    add column if not exists cancellation_reason text,
    add column if not exists refund_due bigint not null default 0,
    add column if not exists refunded_amount bigint,
    add column if not exists money_method text;

-- coalesce, because a check that is null passes.
alter table bookings
    drop constraint if exists bookings_cancellation,
    drop constraint if exists bookings_refund,
    drop constraint if exists bookings_money_method,
    add constraint bookings_cancellation check (is_cancelled or not late and refund_due = 0 and cancellation_reason is null) not valid,
    add constraint bookings_refund check (refund_due >= 0 and refund_due + coalesce(refunded_amount, 0) <= coalesce(gross, 0)
        and (refunded_amount is null or coalesce(is_refunded and gross is not null and refunded_amount >= 0, false))) not valid,
    add constraint bookings_money_method check (money_method is null or coalesce(method = 'CARD'
        and (money_method in ('CASH', 'BANK_TRANSFER', 'ONLINE', 'OTHER') or money_method = 'FREE' and gross = 0), false)) not valid;

alter table bookings validate constraint bookings_cancellation;
alter table bookings validate constraint bookings_refund;
alter table bookings validate constraint bookings_money_method;

-- Why a date was closed, until its bookings are cancelled.
alter table event_dates add column if not exists closing_reason text;

-- When a transaction or one of its bookings last changed. Null means at the purchase. The previous
-- release does not write it, so a default and a trigger do.
alter table transactions add column if not exists updated_at timestamptz;
-- allow repeatable: the second time changes nothing
alter table transactions alter column updated_at set default now();

-- +goose StatementBegin
create or replace function transaction_changed() returns trigger
    language plpgsql as $$
begin
    new.updated_at := clock_timestamp();
    return new;
end
$$;
-- +goose StatementEnd

-- allow trigger: it sets a column that the previous release does not read
create or replace trigger transaction_changed before update on transactions
    for each row when (new.updated_at is not distinct from old.updated_at
        and (new.version <> old.version or new.status = 'confirmed' and old.status <> 'confirmed'))
    execute function transaction_changed();

-- Transactions that changed after the purchase, in batches: each is a commit.
-- allow repeatable: transactions that have the time are skipped
-- +goose StatementBegin
do $$
declare
    company uuid := '00000000-0000-0000-0000-000000000000';
    last    uuid := company;
    n       integer;
    to_company uuid;
    to_last    uuid;
begin
    loop
        select count(*), (array_agg(t.company_id order by t.company_id desc, t.id desc))[1], (array_agg(t.id order by t.company_id desc, t.id desc))[1]
            into n, to_company, to_last
            from (select company_id, id from transactions where (company_id, id) > (company, last) order by company_id, id limit 5000) t;
        exit when n = 0;
        update transactions t set updated_at = c.at
            from (select b.company_id, b.transaction_id, greatest(max(b.cancelled_at), max(b.refunded_at), max(b.attendance_at)) as at
                from bookings b where (b.company_id, b.transaction_id) > (company, last) and (b.company_id, b.transaction_id) <= (to_company, to_last)
                group by b.company_id, b.transaction_id) c
            where t.company_id = c.company_id and t.id = c.transaction_id and t.updated_at is null and c.at > t.purchased_at;
        commit;
        company := to_company;
        last := to_last;
    end loop;
end
$$;
-- +goose StatementEnd

-- An interrupted build leaves an invalid index, so each is dropped first.
drop index concurrently if exists transactions_by_change;
-- Pages of transactions and of bookings by their last change. Under row level security, an index is not
-- searched by an expression with coalesce. The last condition is always true: only statements with a
-- bound on the change use the index, and no others, even if there are no statistics yet.
create index concurrently if not exists transactions_by_change
    on transactions (company_id, (case when updated_at is null then purchased_at else updated_at end), id)
    where status = 'confirmed' and (case when updated_at is null then purchased_at else updated_at end) is not null;

-- The planner does not use the statistics of a partial index.
create statistics if not exists transactions_changed
    on (case when updated_at is null then purchased_at else updated_at end) from transactions;

-- Cancelled bookings, and bookings with an attendance. No purchase writes to these indexes.
drop index concurrently if exists bookings_cancelled_by_id;
create index concurrently if not exists bookings_cancelled_by_id on bookings (company_id, id) where is_cancelled;
drop index concurrently if exists bookings_by_attendance;
create index concurrently if not exists bookings_by_attendance on bookings (company_id, attendance, id) where attendance is not null;
