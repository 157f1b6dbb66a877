-- +goose Up

create table pass_types (
    company_id           uuid not null,
    id                   uuid not null,
    title                text not null,
    description          text not null,
    total_uses           integer not null constraint pass_types_total_uses check (total_uses > 0),
    validity_count       integer not null constraint pass_types_validity_count check (validity_count > 0),
    validity_unit        text not null
        constraint pass_types_validity_unit check (validity_unit in ('day', 'week', 'month', 'year')),
    price                bigint not null constraint pass_types_price check (price >= 0),
    currency             text not null,
    eligible_event_types text[] not null,
    status               text not null constraint pass_types_status check (status in ('active', 'archived')),
    version              bigint not null default 1,
    created_at           timestamptz not null,
    updated_at           timestamptz not null,
    primary key (company_id, id)
);

create table customer_passes (
    company_id     uuid not null,
    id             uuid not null,
    customer_id    uuid not null,
    pass_type_id   uuid not null,
    remaining_uses integer not null constraint customer_passes_remaining_uses check (remaining_uses >= 0),
    start_date     date not null,
    expiry_date    date not null constraint customer_passes_expiry_date check (expiry_date >= start_date),
    -- What a reader is told also depends on the dates, the uses and the moment.
    status         text not null
        constraint customer_passes_status check (status in ('active', 'paused', 'cancelled')),
    version        bigint not null default 1,
    created_at     timestamptz not null,
    updated_at     timestamptz not null,
    primary key (company_id, id),
    constraint customer_passes_pass_type foreign key (company_id, pass_type_id) references pass_types (company_id, id)
);

create index customer_passes_by_customer on customer_passes (company_id, customer_id, id);

-- How many rows each company has, kept in the commits that add them.
create table pass_totals (
    company_id      uuid primary key,
    pass_types      bigint not null default 0 constraint pass_totals_pass_types check (pass_types >= 0),
    customer_passes bigint not null default 0 constraint pass_totals_customer_passes check (customer_passes >= 0)
);

-- Every change of a pass's credits. The balance of the last entry is the pass's
-- remaining_uses, and the sum of credits is that balance.
create table ledger_entries (
    company_id       uuid not null,
    customer_pass_id uuid not null,
    sequence         bigint not null constraint ledger_entries_sequence check (sequence > 0),
    kind             text not null constraint ledger_entries_kind check (kind in ('assigned')),
    credits          integer not null constraint ledger_entries_credits check (credits <> 0),
    balance          integer not null constraint ledger_entries_balance check (balance >= 0),
    actor            text not null,
    created_at       timestamptz not null,
    primary key (company_id, customer_pass_id, sequence),
    constraint ledger_entries_pass foreign key (company_id, customer_pass_id) references customer_passes (company_id, id)
);

-- +goose StatementBegin
create function ledger_is_append_only() returns trigger language plpgsql as $$
begin
    raise exception 'the ledger is append-only' using errcode = 'restrict_violation', constraint = 'ledger_append_only';
end
$$;
-- +goose StatementEnd

create trigger ledger_append_only before update or delete on ledger_entries
    for each row execute function ledger_is_append_only();
create trigger ledger_no_truncate before truncate on ledger_entries
    for each statement execute function ledger_is_append_only();

-- At the commit of an entry its sums must be right: the balance is that of the
-- entry before plus its credits, and the newest balance is the pass's.
-- +goose StatementBegin
create function ledger_adds_up() returns trigger language plpgsql as $$
declare
    before integer;
    remaining integer;
    newest bigint;
begin
    select balance into before from ledger_entries
        where company_id = new.company_id and customer_pass_id = new.customer_pass_id and sequence = new.sequence - 1;
    if coalesce(before, 0) + new.credits <> new.balance or (before is null) <> (new.sequence = 1) then
        raise exception 'ledger entry % does not follow from the one before', new.sequence
            using errcode = 'check_violation', constraint = 'ledger_adds_up';
    end if;
    select max(sequence) into newest from ledger_entries
        where company_id = new.company_id and customer_pass_id = new.customer_pass_id;
    select remaining_uses into remaining from customer_passes
        where company_id = new.company_id and id = new.customer_pass_id;
    if newest = new.sequence and remaining <> new.balance then
        raise exception 'the ledger''s balance % is not the pass''s %', new.balance, remaining
            using errcode = 'check_violation', constraint = 'ledger_adds_up';
    end if;
    return null;
end
$$;
-- +goose StatementEnd

create constraint trigger ledger_adds_up after insert on ledger_entries
    deferrable initially deferred for each row execute function ledger_adds_up();

select tenant_table('pass_types');
select tenant_table('customer_passes');
select tenant_table('pass_totals');
select tenant_table('ledger_entries');
