-- +goose Up

-- The people who sign in to the dashboard. The e-mail address is the name that
-- they sign in with, so it is unique in the whole installation; email_key is the
-- address in lower case.
create table administrators (
    company_id          uuid not null,
    id                  uuid not null,
    name                text not null constraint administrators_name check (name <> ''),
    email               text not null,
    email_key           text not null constraint administrators_email_key check (email_key <> ''),
    role                text not null constraint administrators_role check (role in ('owner', 'staff')),
    -- Argon2id, with its parameters and salt.
    password_hash       text not null constraint administrators_password_hash check (password_hash like '$argon2id$%'),
    password_changed_at timestamptz not null,
    -- Encrypted; asked for once it is confirmed.
    totp_secret         bytea,
    totp_confirmed_at   timestamptz,
    -- The 30 seconds of the last code: none of them or before counts again.
    totp_step           bigint not null default 0,
    -- SHA-256 of those that were not used.
    recovery_codes      bytea[] not null default '{}',
    -- Access tokens of an earlier generation are dead.
    generation          bigint not null default 1,
    revoked_at          timestamptz,
    disabled_at         timestamptz,
    last_signed_in_at   timestamptz,
    version             bigint not null default 1,
    created_at          timestamptz not null,
    updated_at          timestamptz not null,
    primary key (company_id, id),
    constraint administrators_company check (company_id <> '00000000-0000-0000-0000-000000000000'),
    constraint administrators_totp check (totp_confirmed_at is null or totp_secret is not null)
);

-- Who signs in names no company.
create unique index administrators_email on administrators (email_key);

-- The identifier alone names whose tokens were revoked.
create unique index administrators_id on administrators (id);

create index administrators_revoked on administrators (revoked_at) where revoked_at is not null;

-- Browsers that are signed in. Those that end are deleted. Of the token only the
-- SHA-256 is kept: it has 256 random bits.
create table sessions (
    company_id       uuid not null,
    id               uuid not null,
    administrator_id uuid not null,
    token_hash       bytea not null constraint sessions_token_hash check (octet_length(token_hash) = 32),
    address          text not null,
    user_agent       text not null,
    created_at       timestamptz not null,
    last_used_at     timestamptz not null,
    expires_at       timestamptz not null,
    primary key (company_id, id),
    foreign key (company_id, administrator_id) references administrators (company_id, id)
);

create unique index sessions_token on sessions (token_hash);
create index sessions_administrator on sessions (company_id, administrator_id);
create index sessions_last_used on sessions (last_used_at);

create table invitations (
    company_id  uuid not null,
    id          uuid not null,
    email       text not null,
    email_key   text not null,
    role        text not null constraint invitations_role check (role in ('owner', 'staff')),
    token_hash  bytea not null constraint invitations_token_hash check (octet_length(token_hash) = 32),
    invited_by  text not null,
    created_at  timestamptz not null,
    expires_at  timestamptz not null,
    accepted_at timestamptz,
    revoked_at  timestamptz,
    primary key (company_id, id),
    constraint invitations_ended_once check (accepted_at is null or revoked_at is null)
);

create unique index invitations_token on invitations (token_hash);
create unique index invitations_open on invitations (company_id, email_key) where accepted_at is null and revoked_at is null;

-- Failed attempts to sign in, by the SHA-256 of what they were counted for. They
-- concern no company: the e-mail address may be nobody's.
create table sign_in_failures (
    subject  bytea primary key,
    failures integer not null,
    last_at  timestamptz not null
);

create index sign_in_failures_last on sign_in_failures (last_at);

-- The facts of a change: a list of {"field", "before", "after"}.
alter table audit_log add column details jsonb not null default '[]';

create index audit_log_at on audit_log (company_id, at, id);
create index audit_log_actor on audit_log (company_id, actor, at, id);
create index audit_log_target on audit_log (company_id, target, at, id);

-- +goose StatementBegin
create function audit_log_append_only() returns trigger
    language plpgsql as $$
begin
    raise exception 'the audit log is only added to' using errcode = 'integrity_constraint_violation', constraint = 'audit_log_append_only';
end
$$;
-- +goose StatementEnd

create trigger audit_log_append_only before update or delete or truncate on audit_log
    for each statement execute function audit_log_append_only();

select tenant_table('administrators');
select tenant_table('sessions');
select tenant_table('invitations');
