-- +goose Up

-- The ledger stays append-only, with one exception: erasing a customer removes the
-- reasons for which the customer's credits were changed.
-- +goose StatementBegin
create or replace function ledger_is_append_only() returns trigger language plpgsql as $$
begin
    if tg_op = 'UPDATE' then
        if new.reason is null and to_jsonb(new) - 'reason' = to_jsonb(old) - 'reason' then
            return new;
        end if;
    end if;
    raise exception 'the ledger is append-only' using errcode = 'restrict_violation', constraint = 'ledger_append_only';
end
$$;
-- +goose StatementEnd
