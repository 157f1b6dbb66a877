-- +goose Up

-- The sums of ledger entries, checked once per statement instead of once per entry. An entry must
-- follow from the one before, and the newest balance must be the pass's, so the pass is changed
-- before its entries are added.
-- +goose StatementBegin
create function ledger_entries_add_up() returns trigger language plpgsql as $$
declare
    wrong bigint;
begin
    select e.sequence into wrong
        from added e
            left join ledger_entries before on before.company_id = e.company_id
                and before.customer_pass_id = e.customer_pass_id and before.sequence = e.sequence - 1
            left join customer_passes p on p.company_id = e.company_id and p.id = e.customer_pass_id
        where coalesce(before.balance, 0) + e.credits <> e.balance
            or (before.sequence is null) <> (e.sequence = 1)
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
