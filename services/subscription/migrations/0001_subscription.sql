-- +goose Up

-- A copy of the auth service's companies, kept up to date by its events.
create table companies (
    company_id           uuid primary key,
    timezone             text not null,
    currency             text not null,
    clock_offset_seconds bigint not null default 0,
    version              bigint not null,
    -- The zone in which the next steps of the company's subscriptions are planned.
    planned_zone         text
);

-- Finds companies that have changed their zone.
create index companies_moved on companies (company_id) where planned_zone is distinct from timezone;

-- Customers for whom the service has acted, and customers that it knows to be
-- deleted. A commit that starts a subscription locks the customer's row.
create table customers (
    company_id uuid not null,
    id         uuid not null,
    deleted_at timestamptz,
    primary key (company_id, id)
);

-- The dunning of companies that have changed it.
create table settings (
    company_id          uuid primary key,
    past_due_after_days integer not null constraint settings_past_due_after_days check (past_due_after_days between 0 and 60),
    grace_days          integer not null constraint settings_grace_days check (grace_days between 0 and 60),
    reminder_days       integer[] not null constraint settings_reminder_days check (cardinality(reminder_days) <= 10),
    end_after_days      integer constraint settings_end_after_days check (end_after_days between 1 and 365),
    version             bigint not null
);

-- How many rows each company has, kept in the commits that add them.
create table subscription_totals (
    company_id    uuid primary key,
    plans         bigint not null default 0 constraint subscription_totals_plans check (plans >= 0),
    subscriptions bigint not null default 0 constraint subscription_totals_subscriptions check (subscriptions >= 0)
);

create table plans (
    company_id           uuid not null,
    id                   uuid not null,
    title                text not null,
    description          text not null,
    price                bigint not null constraint plans_price check (price >= 0),
    currency             text not null,
    interval_unit        text not null constraint plans_interval_unit check (interval_unit in ('week', 'month', 'year')),
    interval_count       integer not null constraint plans_interval_count check (interval_count > 0),
    trial_days           integer not null constraint plans_trial_days check (trial_days >= 0),
    minimum_periods      integer not null constraint plans_minimum_periods check (minimum_periods >= 0),
    bookings             text not null constraint plans_bookings check (bookings in ('none', 'credits', 'unlimited')),
    credits              integer not null constraint plans_credits check ((credits > 0) = (bookings = 'credits') and credits >= 0),
    max_rollover         integer not null constraint plans_max_rollover check (max_rollover >= 0),
    eligible_event_types text[] not null,
    media_collection_ids uuid[] not null,
    status               text not null constraint plans_status check (status in ('active', 'archived')),
    version              bigint not null,
    created_at           timestamptz not null,
    updated_at           timestamptz not null,
    -- The pass service has, or will get, a pass type of the plan.
    has_pass_type        boolean not null,
    -- When the pass type is sent again; null: the pass service has confirmed it.
    pass_sync_due        timestamptz,
    pass_sync_since      timestamptz,
    pass_sync_attempts   integer not null default 0,
    primary key (company_id, id),
    constraint plans_pass_sync check ((pass_sync_due is null) = (pass_sync_since is null)),
    constraint plans_pass_type check (has_pass_type or bookings = 'none' and pass_sync_due is null)
);

create index plans_created on plans (company_id, created_at, id);
create index plans_updated on plans (company_id, updated_at, id);
create index plans_by_pass_sync on plans (company_id, pass_sync_due) where pass_sync_due is not null;
create index plans_pass_sync on plans (pass_sync_due) where pass_sync_due is not null;

create table subscriptions (
    company_id           uuid not null,
    id                   uuid not null,
    customer_id          uuid not null,
    plan_id              uuid not null,
    -- The terms.
    price                bigint not null constraint subscriptions_price check (price >= 0),
    currency             text not null,
    interval_unit        text not null constraint subscriptions_interval_unit check (interval_unit in ('week', 'month', 'year')),
    interval_count       integer not null constraint subscriptions_interval_count check (interval_count > 0),
    bookings             text not null constraint subscriptions_bookings check (bookings in ('none', 'credits', 'unlimited')),
    credits              integer not null constraint subscriptions_credits check (credits >= 0),
    max_rollover         integer not null constraint subscriptions_max_rollover check (max_rollover >= 0),
    minimum_periods      integer not null constraint subscriptions_minimum_periods check (minimum_periods >= 0),

    status               text not null
        constraint subscriptions_status check (status in ('trialing', 'active', 'past_due', 'paused', 'ending', 'ended')),
    start_day            date not null,
    periods              integer not null constraint subscriptions_periods check (periods > 0),
    has_pass             boolean not null constraint subscriptions_has_pass check (has_pass or bookings = 'none'),
    imported             boolean not null,
    term_from            integer not null,
    reference            text,
    -- The end.
    last_period          integer not null constraint subscriptions_last_period check (last_period >= 0),
    last_day             date,
    end_reason           text not null
        constraint subscriptions_end_reason check (end_reason in ('', 'cancelled', 'unpaid', 'customer_deleted')),
    ended_at             timestamptz,
    cancelled_at         timestamptz,
    cancel_reason        text not null,
    cancel_at_period_end boolean not null,
    -- The pause.
    paused               boolean not null,
    pause_first_day      date,
    pause_resumes_on     date,
    pause_reason         text not null,
    next_plan_id         uuid,
    -- Money.
    amount_due           bigint not null constraint subscriptions_amount_due check (amount_due >= 0),
    account_credit       bigint not null constraint subscriptions_account_credit check (account_credit >= 0),
    refund_due           bigint not null constraint subscriptions_refund_due check (refund_due >= 0),
    refunded_amount      bigint not null constraint subscriptions_refunded_amount check (refunded_amount >= 0),
    entry_count          bigint not null constraint subscriptions_entry_count check (entry_count >= 0),
    -- Dunning.
    past_due_since       timestamptz,
    suspended_from       timestamptz,
    unpaid_end_at        timestamptz,
    suspended            boolean not null,

    next_at              timestamptz,
    version              bigint not null,
    created_at           timestamptz not null,
    updated_at           timestamptz not null,

    -- When a job makes the next step: next_at, or later if an attempt has failed.
    advance_at           timestamptz,
    advance_attempts     integer not null default 0,
    -- Identifies the content of the version, so that the pass service can tell that this database was
    -- restored to an earlier moment. Each change has a new one.
    state_id             uuid not null,
    -- The pass service has confirmed a state of the subscription.
    pass_exists          boolean not null default false,
    -- When the state is sent to the pass service again; null: it has confirmed the state.
    pass_sync_due        timestamptz,
    pass_sync_since      timestamptz,
    pass_sync_attempts   integer not null default 0,

    primary key (company_id, id),
    constraint subscriptions_plan foreign key (company_id, plan_id) references plans (company_id, id),
    constraint subscriptions_next_plan foreign key (company_id, next_plan_id) references plans (company_id, id),
    constraint subscriptions_ended check ((status = 'ended') = (end_reason <> '') and (status = 'ended') = (ended_at is not null)),
    -- Ended is final: nothing is due, and account credit became a refund due.
    constraint subscriptions_final check (status <> 'ended' or next_at is null and next_plan_id is null and amount_due = 0 and account_credit = 0),
    constraint subscriptions_paused check (not paused or pause_first_day is not null),
    constraint subscriptions_cancelled check (cancelled_at is not null or cancel_reason = '' and not cancel_at_period_end),
    constraint subscriptions_reference_imported check (imported or reference is null),
    constraint subscriptions_advance check (next_at is not null or advance_at is null),
    constraint subscriptions_pass_sync check ((pass_sync_due is null) = (pass_sync_since is null))
);

-- Lists walk along these.
create index subscriptions_created on subscriptions (company_id, created_at, id);
create index subscriptions_updated on subscriptions (company_id, updated_at, id);
create index subscriptions_of_customer on subscriptions (company_id, customer_id, created_at, id);
create index subscriptions_of_plan on subscriptions (company_id, plan_id, created_at, id);
create index subscriptions_of_next_plan on subscriptions (company_id, next_plan_id) where next_plan_id is not null;
create index subscriptions_by_status on subscriptions (company_id, status, created_at, id);
create index subscriptions_payment_due on subscriptions (company_id, created_at, id) where amount_due > 0;

create unique index subscriptions_reference on subscriptions (company_id, reference) where reference is not null;

-- Jobs walk along these: the first of each pair finds out whether there is work, and the second one takes
-- the work of each company, by the real time or by the company's test clock.
create index subscriptions_advance_at on subscriptions (advance_at) where advance_at is not null;
create index subscriptions_advance_by_test_clock on subscriptions (company_id, advance_at) where advance_at is not null;
create index subscriptions_pass_sync_due on subscriptions (pass_sync_due) where pass_sync_due is not null;
create index subscriptions_by_pass_sync on subscriptions (company_id, pass_sync_due) where pass_sync_due is not null;
-- The age of the oldest overdue work.
create index subscriptions_next_at on subscriptions (next_at) where next_at is not null;
create index subscriptions_pass_sync_since on subscriptions (pass_sync_since) where pass_sync_since is not null;

create table periods (
    company_id           uuid not null,
    subscription_id      uuid not null,
    number               integer not null constraint periods_number check (number > 0),
    plan_id              uuid not null,
    first_day            date not null,
    last_day             date not null constraint periods_last_day check (last_day >= first_day - 1),
    trial                boolean not null,
    trial_days           integer not null,
    anchor               date not null,
    anchor_day           integer not null constraint periods_anchor_day check (anchor_day between 0 and 31),
    anchor_index         integer not null constraint periods_anchor_index check (anchor_index >= 0),
    interval_unit        text not null constraint periods_interval_unit check (interval_unit in ('week', 'month', 'year')),
    interval_count       integer not null constraint periods_interval_count check (interval_count > 0),
    paused_days          integer not null constraint periods_paused_days check (paused_days >= 0),
    cut_short            boolean not null,
    -- Money.
    price                bigint not null constraint periods_price check (price >= 0),
    currency             text not null,
    credit_applied       bigint not null constraint periods_credit_applied check (credit_applied between 0 and price),
    amount_due           bigint not null,
    unused_value         bigint not null constraint periods_unused_value check (unused_value between 0 and price),
    payment_status       text not null
        constraint periods_payment_status check (payment_status in ('not_due', 'due', 'failed', 'paid', 'waived', 'cancelled')),
    -- Dunning.
    due_at               timestamptz,
    dunning_from         timestamptz,
    past_due_after_days  integer not null,
    grace_days           integer not null,
    reminder_days        integer[] not null,
    end_after_days       integer,
    reminders_sent       integer not null,
    -- The payment.
    paid_at              timestamptz,
    paid_amount          bigint not null,
    payment_method       text not null,
    payment_reference    text not null,
    waive_reason         text not null,
    failure_reason       text not null,
    failed_attempts      integer not null constraint periods_failed_attempts check (failed_attempts >= 0),
    -- The grant.
    bookings             text not null constraint periods_bookings check (bookings in ('none', 'credits', 'unlimited')),
    credits              integer not null constraint periods_credits check (credits >= 0),
    max_rollover         integer not null constraint periods_max_rollover check (max_rollover >= 0),
    -- The answer of the pass service.
    granted              boolean not null default false,
    credits_granted      integer not null default 0 constraint periods_credits_granted check (credits_granted >= 0),
    credits_carried_over integer not null default 0 constraint periods_credits_carried_over check (credits_carried_over >= 0),
    credits_expired      integer not null default 0 constraint periods_credits_expired check (credits_expired >= 0),
    -- The first day of the period for which the pass service granted the number. It differs from first_day if this
    -- database was restored to an earlier moment and another period got the number.
    granted_first_day    date,
    created_at           timestamptz not null,
    primary key (company_id, subscription_id, number),
    constraint periods_subscription foreign key (company_id, subscription_id) references subscriptions (company_id, id),
    -- The price is the credit applied and one amount, which is due, paid, waived or cancelled.
    constraint periods_amount_due check (amount_due = case when payment_status in ('due', 'failed') then price - credit_applied else 0 end),
    constraint periods_paid_amount check (paid_amount = case when payment_status = 'paid' then price - credit_applied else 0 end),
    constraint periods_not_due check (payment_status <> 'not_due' or price = credit_applied),
    constraint periods_paid check ((payment_status = 'paid') = (paid_at is not null)),
    constraint periods_granted check (granted = (granted_first_day is not null))
);

create index periods_due on periods (company_id, subscription_id, number) where amount_due > 0;
create index periods_not_granted on periods (company_id, subscription_id, number) where not granted;

-- At the commit of a period, its number follows the one before, and it begins after the one before has
-- ended.
-- +goose StatementBegin
create function periods_follow() returns trigger language plpgsql as $$
declare
    before date;
    after date;
begin
    select last_day into before from periods
        where company_id = new.company_id and subscription_id = new.subscription_id and number = new.number - 1;
    select first_day into after from periods
        where company_id = new.company_id and subscription_id = new.subscription_id and number = new.number + 1;
    if (before is null) <> (new.number = 1) or before >= new.first_day or after <= new.last_day then
        raise exception 'period % does not follow the one before', new.number
            using errcode = 'check_violation', constraint = 'periods_follow';
    end if;
    return null;
end
$$;
-- +goose StatementEnd

create constraint trigger periods_follow after insert or update of number, first_day, last_day on periods
    deferrable initially deferred for each row execute function periods_follow();

-- Every change of account credit and of the refund due. The balances of the last entry are those of the
-- subscription.
create table account_entries (
    company_id      uuid not null,
    subscription_id uuid not null,
    sequence        bigint not null constraint account_entries_sequence check (sequence > 0),
    kind            text not null constraint account_entries_kind check (kind in ('unused_period', 'applied', 'refund_due', 'refunded')),
    credit          bigint not null,
    refund          bigint not null,
    credit_balance  bigint not null constraint account_entries_credit_balance check (credit_balance >= 0),
    refund_balance  bigint not null constraint account_entries_refund_balance check (refund_balance >= 0),
    period          integer not null,
    reference       text not null,
    actor           text not null,
    created_at      timestamptz not null,
    primary key (company_id, subscription_id, sequence),
    constraint account_entries_subscription foreign key (company_id, subscription_id) references subscriptions (company_id, id),
    constraint account_entries_sign check (case kind
        when 'unused_period' then credit >= 0 and refund >= 0
        when 'applied' then credit < 0 and refund = 0
        when 'refund_due' then credit <= 0 and refund > 0
        else credit = 0 and refund < 0 end)
);

-- Entries are append-only, except that erasing a customer removes references, and that the data of a company
-- in test mode, whose identifier is a UUID of version 8, can be deleted.
-- +goose StatementBegin
create function account_is_append_only() returns trigger language plpgsql as $$
begin
    if tg_op = 'UPDATE' then
        if new.reference = '' and to_jsonb(new) - 'reference' = to_jsonb(old) - 'reference' then
            return new;
        end if;
    end if;
    if tg_op = 'DELETE' then
        if substr(old.company_id::text, 15, 1) = '8' then
            return old;
        end if;
    end if;
    raise exception 'account entries are append-only' using errcode = 'restrict_violation', constraint = 'account_append_only';
end
$$;
-- +goose StatementEnd

create trigger account_append_only before update or delete on account_entries
    for each row execute function account_is_append_only();
create trigger account_no_truncate before truncate on account_entries
    for each statement execute function account_is_append_only();

-- At the commit of an entry its sums must be right: the balances are those of the entry before plus its
-- changes, and the newest balances are those of the subscription.
-- +goose StatementBegin
create function account_adds_up() returns trigger language plpgsql as $$
declare
    before record;
    own record;
begin
    select credit_balance, refund_balance into before from account_entries
        where company_id = new.company_id and subscription_id = new.subscription_id and sequence = new.sequence - 1;
    if coalesce(before.credit_balance, 0) + new.credit <> new.credit_balance or coalesce(before.refund_balance, 0) + new.refund <> new.refund_balance
        or (before.credit_balance is null) <> (new.sequence = 1) then
        raise exception 'account entry % does not follow from the one before', new.sequence
            using errcode = 'check_violation', constraint = 'account_adds_up';
    end if;
    select entry_count, account_credit, refund_due into own from subscriptions where company_id = new.company_id and id = new.subscription_id;
    if own.entry_count < new.sequence
        or own.entry_count = new.sequence and (own.account_credit <> new.credit_balance or own.refund_due <> new.refund_balance) then
        raise exception 'account entry % does not agree with the subscription', new.sequence
            using errcode = 'check_violation', constraint = 'account_adds_up';
    end if;
    return null;
end
$$;
-- +goose StatementEnd

create constraint trigger account_adds_up after insert on account_entries
    deferrable initially deferred for each row execute function account_adds_up();

select tenant_table('companies');
select tenant_table('customers');
select tenant_table('settings');
select tenant_table('subscription_totals');
select tenant_table('plans');
select tenant_table('subscriptions');
select tenant_table('periods');
select tenant_table('account_entries');
