-- +goose NO TRANSACTION
-- +goose Up

-- More currencies, each with two decimals. The previous release creates companies with the first three.
alter table companies
    drop constraint if exists companies_currency,
    add constraint companies_currency
        check (currency in ('GBP', 'EUR', 'USD', 'AUD', 'CAD', 'CHF', 'CZK', 'DKK', 'HKD', 'NOK', 'NZD', 'PLN', 'SEK', 'SGD', 'ZAR')) not valid;
alter table companies validate constraint companies_currency;
