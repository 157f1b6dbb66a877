-- +goose Up

-- The version of the plan that owns the pass type; null: it is sold on its own. The pass type has the
-- UUID of the plan.
alter table pass_types add column plan_version bigint;

-- The pass of a subscription has the UUID of the subscription.
alter table customer_passes
    -- The version of the subscription's state, and an identifier of its content; null: no subscription.
    add column subscription_version bigint,
    add column subscription_state   text,
    -- The number of the last period whose credits were granted.
    add column last_period          integer,
    -- The last day of the current period.
    add column period_last_day      date,
    -- Between these times the pass cannot pay.
    add column unusable_from        timestamptz,
    add column usable_again_from    timestamptz;

-- The number of the period of a subscription that an entry belongs to.
alter table ledger_entries add column period integer;

-- The credits with which each period of a subscription began. Grants are only added.
create table pass_grants (
    company_id       uuid not null,
    customer_pass_id uuid not null,
    period           integer not null constraint pass_grants_period check (period > 0),
    granted          integer not null constraint pass_grants_granted check (granted >= 0),
    carried_over     integer not null constraint pass_grants_carried_over check (carried_over >= 0),
    expired          integer not null constraint pass_grants_expired check (expired >= 0),
    -- The period has unlimited uses; then granted is 0, and the ledger has 999999.
    unlimited_uses   boolean not null,
    first_day        date not null,
    primary key (company_id, customer_pass_id, period),
    constraint pass_grants_pass foreign key (company_id, customer_pass_id) references customer_passes (company_id, id)
);

select tenant_table('pass_grants');
