-- +goose Up

-- The processes that send deliveries. Each creates the leases from first_lease to last_lease, and
-- keeps updating seen_at. If it stops doing so, another process deletes its row and ends its leases,
-- in one commit.
create table workers (
    first_lease uuid not null primary key,
    last_lease  uuid not null,
    seen_at     timestamptz not null
) with (fillfactor = 50);
