-- +goose Up

-- Passwords that were right and wait for a code. Of the token only the SHA-256 is
-- kept. A row is deleted when it is used, or has failed too often.
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

-- Who shows a token names no company.
create unique index pending_sign_ins_token on pending_sign_ins (token_hash);
create index pending_sign_ins_administrator on pending_sign_ins (company_id, administrator_id, created_at);
create index pending_sign_ins_expires on pending_sign_ins (expires_at);

-- Links with which an administrator chooses a new password. The row stays for a
-- while after its use, so that the link can say that it was used.
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

-- What the administrator has to be told: a list of {"at", "action", "by"}.
alter table administrators add column notices jsonb not null default '[]';

-- Browsers that were known before are not known any more; null: all are.
alter table administrators add column devices_since timestamptz;

select tenant_table('pending_sign_ins');
select tenant_table('password_resets');
