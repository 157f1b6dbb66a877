-- +goose Up

-- Credentials without a secret, for web pages. The identifier is the key.
create table publishable_keys (
    company_id  uuid not null,
    id          uuid not null,
    name        text not null constraint publishable_keys_name check (name <> ''),
    origins     text[] not null,
    -- Tokens of an earlier generation are revoked.
    generation  bigint not null default 1,
    revoked_at  timestamptz,
    disabled_at timestamptz,
    -- A deleted key stays as long as its revocation may have to be published again.
    deleted_at  timestamptz,
    version     bigint not null default 1,
    created_at  timestamptz not null,
    updated_at  timestamptz not null,
    primary key (company_id, id)
);

-- A token is requested with the identifier alone.
create unique index publishable_keys_id on publishable_keys (id);

create index publishable_keys_revoked on publishable_keys (revoked_at) where revoked_at is not null;

select tenant_table('publishable_keys');
