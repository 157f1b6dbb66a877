-- +goose Up

-- The secret before the last rotation, while it is still valid beside the current one. It
-- counts only if previous_secret_replaced_at equals rotated_at: the previous release does
-- not know these columns, and its rotations end every earlier secret.
alter table credentials
    add column previous_secret_hash         bytea
        constraint credentials_previous_secret_hash check (octet_length(previous_secret_hash) = 32),
    add column previous_secret_replaced_at  timestamptz,
    add column previous_secret_expires_at   timestamptz,
    add column previous_secret_last_used_at timestamptz;
alter table credentials add constraint credentials_previous_secret
    check (num_nulls(previous_secret_hash, previous_secret_replaced_at, previous_secret_expires_at) in (0, 3)) not valid;
alter table credentials validate constraint credentials_previous_secret;

-- The networks that the credential can be used from; empty: every network.
alter table credentials
    add column allowed_networks cidr[] not null default '{}'
        constraint credentials_allowed_networks check (cardinality(allowed_networks) <= 20);
