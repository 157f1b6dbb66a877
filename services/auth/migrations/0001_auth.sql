-- +goose Up

create table companies (
    company_id uuid primary key,
    name       text not null constraint companies_name check (name <> ''),
    timezone   text not null,
    currency   text not null constraint companies_currency check (currency in ('GBP', 'EUR', 'USD')),
    version    bigint not null default 1,
    created_at timestamptz not null,
    updated_at timestamptz not null
);

-- API clients and service credentials. A platform credential belongs to no
-- company: its company_id is the zero UUID. Of a secret only the SHA-256 is
-- kept: it has 256 random bits, so nothing slower is needed.
create table credentials (
    company_id   uuid not null,
    id           uuid not null,
    kind         text not null constraint credentials_kind check (kind in ('client', 'service')),
    name         text not null constraint credentials_name check (name <> ''),
    description  text not null default '',
    scopes       text[] not null constraint credentials_scopes check (cardinality(scopes) > 0),
    secret_hash  bytea not null constraint credentials_secret_hash check (octet_length(secret_hash) = 32),
    -- Tokens of an earlier generation are dead.
    generation   bigint not null default 1,
    revoked_at   timestamptz,
    disabled_at  timestamptz,
    deleted_at   timestamptz,
    expires_at   timestamptz,
    rotated_at   timestamptz not null,
    last_used_at timestamptz,
    version      bigint not null default 1,
    created_at   timestamptz not null,
    primary key (company_id, id),
    constraint credentials_client_company
        check (kind <> 'client' or company_id <> '00000000-0000-0000-0000-000000000000')
);

-- A token is asked for by the identifier alone.
create unique index credentials_id on credentials (id);

-- What was revoked lately is published again at each start.
create index credentials_revoked on credentials (revoked_at) where revoked_at is not null;

-- One row per key pair that signs tokens; the private half is encrypted.
create table signing_keys (
    kid           text primary key,
    public_key    bytea not null,
    private_key   bytea not null,
    created_at    timestamptz not null,
    active_from   timestamptz not null,
    retired_until timestamptz
);

-- The version of the key set, and the lock under which it changes.
create table signing_key_set (
    one     boolean primary key default true constraint signing_key_set_one check (one),
    version bigint not null
);
insert into signing_key_set (version) values (0);

-- Who changed what, in the commit of the change.
create table audit_log (
    company_id uuid not null,
    id         uuid not null,
    at         timestamptz not null,
    actor      text not null,
    action     text not null,
    target     text not null,
    primary key (company_id, id)
);

select tenant_table('companies');
select tenant_table('credentials');
select tenant_table('audit_log');
