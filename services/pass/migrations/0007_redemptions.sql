-- +goose Up

-- The sums of ledger entries, checked once per statement instead of once per entry. An entry must
-- follow from the one before, and the newest balance must be the pass's, so the pass is changed
-- before its entries are added. Rows are looked up one by one, so that no plan joins whole tables.
-- +goose StatementBegin
create function ledger_entries_add_up() returns trigger language plpgsql as $$
declare
    wrong bigint;
begin
    select e.sequence into wrong
        from added e
            left join lateral (select l.balance from ledger_entries l where l.company_id = e.company_id
                and l.customer_pass_id = e.customer_pass_id and l.sequence = e.sequence - 1 offset 0) before on true
            left join lateral (select p.remaining_uses from customer_passes p
                where p.company_id = e.company_id and p.id = e.customer_pass_id offset 0) p on true
        where coalesce(before.balance, 0) + e.credits <> e.balance
            or (before.balance is null) <> (e.sequence = 1)
            or p.remaining_uses is distinct from e.balance and not exists (select from ledger_entries later
                where later.company_id = e.company_id and later.customer_pass_id = e.customer_pass_id and later.sequence > e.sequence)
        limit 1;
    if found then
        raise exception 'ledger entry % does not follow from the one before, or its balance is not the pass''s', wrong
            using errcode = 'check_violation', constraint = 'ledger_adds_up';
    end if;
    return null;
end
$$;
-- +goose StatementEnd

-- allow trigger: it checks what the trigger that it replaces checked
create trigger ledger_entries_add_up after insert on ledger_entries referencing new table as added
    for each statement execute function ledger_entries_add_up();

drop trigger ledger_adds_up on ledger_entries;

-- allow drop: only the trigger above called it
drop function ledger_adds_up();
