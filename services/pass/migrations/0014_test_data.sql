-- +goose Up

-- The ledger stays append-only, with one more exception: the entries of a company in test mode, whose
-- identifier is a UUID of version 8, can be deleted.
-- +goose StatementBegin
create or replace function ledger_is_append_only() returns trigger language plpgsql as $$
begin
    if tg_op = 'UPDATE' then
        if new.reason is null and to_jsonb(new) - 'reason' = to_jsonb(old) - 'reason' then
            return new;
        end if;
    end if;
    if tg_op = 'DELETE' then
        if substr(old.company_id::text, 15, 1) = '8' then
            return old;
        end if;
    end if;
    raise exception 'the ledger is append-only' using errcode = 'restrict_violation', constraint = 'ledger_append_only';
end
$$;
-- +goose StatementEnd
