-- +goose Up

-- The address from which the right password came. The audit log names it if no code
-- arrives.
alter table pending_sign_ins add column address text not null default '';
