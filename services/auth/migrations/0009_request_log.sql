-- +goose Up

-- What credentials sent to the public interfaces. The identifier begins with the time at which the
-- request arrived, so it orders the log, and limits of time are limits of the identifier.
create table requests (
    company_id      uuid not null,
    id              uuid not null,
    credential_id   uuid not null,
    -- 1: API client, 2: API key, 3: publishable key.
    kind            smallint not null,
    -- 1: Interface A, 2: Interface B.
    interface       smallint not null,
    status          smallint not null,
    idempotency_key boolean not null,
    replayed        boolean not null,
    method          text not null,
    path            text not null,
    -- Empty if the path does not exist.
    route           text not null,
    -- Empty if the request succeeded.
    error_code      text not null,
    -- Null if it is the identifier without its prefix.
    request_id      text,
    client_address  text not null,
    duration_us     bigint not null,
    request_bytes   bigint not null,
    response_bytes  bigint not null,
    primary key (company_id, id)
);

create index requests_credential on requests (company_id, credential_id, id);
create index requests_errors on requests (company_id, id) where status >= 400;
create index requests_credential_errors on requests (company_id, credential_id, id) where status >= 400;
create index requests_interface on requests (company_id, interface, id);
-- Most requests read.
create index requests_writes on requests (company_id, id) where method <> 'GET';
create index requests_request_id on requests (company_id, request_id, id) where request_id is not null;

select tenant_table('requests');
