-- +goose Up

-- Sign-ins with a right password that wait for a code. Only the SHA-256 of the token is
-- stored. A row is deleted when it is used or has failed too often.
create table pending_sign_ins (
    company_id       uuid not null,
    token_hash       bytea not null constraint pending_sign_ins_token_hash check (octet_length(token_hash) = 32),
    administrator_id uuid not null,
    failures         integer not null default 0 constraint pending_sign_ins_failures check (failures between 0 and 4),
    created_at       timestamptz not null,
    expires_at       timestamptz not null,
    primary key (company_id, token_hash),
    foreign key (company_id, administrator_id) references administrators (company_id, id)
);

-- The company is not known from the token.
create unique index pending_sign_ins_token on pending_sign_ins (token_hash);
create index pending_sign_ins_administrator on pending_sign_ins (company_id, administrator_id, created_at);
create index pending_sign_ins_expires on pending_sign_ins (expires_at);

-- Links with which an administrator chooses a new password. The row is kept for some time
-- after its use, so that a visitor learns that the link was used.
create table password_resets (
    company_id       uuid not null,
    token_hash       bytea not null constraint password_resets_token_hash check (octet_length(token_hash) = 32),
    administrator_id uuid not null,
    made_by          text not null,
    created_at       timestamptz not null,
    expires_at       timestamptz not null,
    used_at          timestamptz,
    primary key (company_id, token_hash),
    foreign key (company_id, administrator_id) references administrators (company_id, id)
);

create unique index password_resets_token on password_resets (token_hash);
create unique index password_resets_open on password_resets (company_id, administrator_id) where used_at is null;
create index password_resets_expires on password_resets (expires_at);

-- Notices for the administrator: a list of {"at", "action", "by"}.
alter table administrators add column notices jsonb not null default '[]';

-- Browsers that signed in before this instant are no longer known; null: all are.
alter table administrators add column devices_since timestamptz;

select tenant_table('pending_sign_ins');
select tenant_table('password_resets');
