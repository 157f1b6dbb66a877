-- +goose NO TRANSACTION
-- +goose Up

-- customer_passes_of_customer begins with the same columns. Each redemption wrote to both.
drop index concurrently if exists customer_passes_by_customer;
