-- +goose NO TRANSACTION
-- +goose Up

-- More currencies, each with two decimals. The previous release writes the first three, and reads all.
alter table pricing_options
    drop constraint if exists pricing_options_currency,
    add constraint pricing_options_currency
        check (currency in ('GBP', 'EUR', 'USD', 'AUD', 'CAD', 'CHF', 'CZK', 'DKK', 'HKD', 'NOK', 'NZD', 'PLN', 'SEK', 'SGD', 'ZAR')) not valid;
-- coalesce, because a check that is null passes.
alter table bookings
    drop constraint if exists bookings_payment,
    add constraint bookings_payment check (coalesce(case method
        when 'CARD' then currency in ('GBP', 'EUR', 'USD', 'AUD', 'CAD', 'CHF', 'CZK', 'DKK', 'HKD', 'NOK', 'NZD', 'PLN', 'SEK', 'SGD', 'ZAR')
            and net >= 0 and net <= gross and credits_used is null and customer_pass_id is null
        when 'PASS' then credits_used >= 0
            and currency is null and gross is null and net is null and payment_reference is null
    end, false)) not valid;
alter table pricing_options validate constraint pricing_options_currency;
alter table bookings validate constraint bookings_payment;
