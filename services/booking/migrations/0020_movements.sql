-- +goose NO TRANSACTION
-- +goose Up

-- The tax rate that an option had when this migration ran; null: the option is newer. Bookings without their own
-- rate were paid at it, so that a later change of the option does not change them.
alter table pricing_options add column if not exists earlier_tax_rate_basis_points integer;

update pricing_options set earlier_tax_rate_basis_points = tax_rate_basis_points where earlier_tax_rate_basis_points is null;

alter table bookings
    -- The tax rate of the purchase; null: the payment was by pass, or an earlier release made the booking.
    add column if not exists tax_rate_basis_points integer,
    -- When the refunds without an entry in the history were recorded; null: at refunded_at, or at the purchase.
    add column if not exists unrecorded_refund_at timestamptz;

alter table booking_history
    -- Of an entry with an amount: the amount without tax, its tax rate, and the day of at in the company's time
    -- zone, as YYYY-MM-DD. Null: an earlier release wrote the entry.
    add column if not exists net bigint,
    add column if not exists tax_rate_basis_points integer,
    add column if not exists day text;

alter table booking_history drop constraint if exists booking_history_net, add constraint booking_history_net
    check (net is null and tax_rate_basis_points is null and day is null
        or coalesce(net between 0 and amount and tax_rate_basis_points is not null and day is not null, false)) not valid;
alter table booking_history validate constraint booking_history_net;
