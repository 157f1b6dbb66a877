-- +goose Up

-- From where a password was right: the audit log tells of it where no code came.
alter table pending_sign_ins add column address text not null default '';
