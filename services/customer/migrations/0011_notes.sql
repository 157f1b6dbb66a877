-- +goose Up

-- What the company has written about its customers. A customer is never removed from customers.
create table notes (
    company_id  uuid not null,
    id          uuid not null,
    customer_id uuid not null,
    body        text not null constraint notes_body check (char_length(body) between 1 and 5000),
    kind        text not null constraint notes_kind check (kind in ('general', 'health', 'payment', 'preference')),
    author      text not null constraint notes_author check (char_length(author) between 1 and 200),
    pinned      boolean not null,
    version     bigint not null default 1 constraint notes_version check (version >= 1),
    created_at  timestamptz not null,
    updated_at  timestamptz not null,
    primary key (company_id, id),
    constraint notes_customer foreign key (company_id, customer_id) references customers (company_id, id)
);

-- Lists walk along this backwards.
create index notes_of_customer on notes (company_id, customer_id, pinned, created_at, id);

select tenant_table('notes');

-- +goose StatementBegin
create function remove_notes_of_erased() returns trigger
    language plpgsql as $$
begin
    delete from notes where company_id = new.company_id and customer_id = new.customer_id;
    return null;
end
$$;
-- +goose StatementEnd

-- Each round of an erasure removes the notes of the customer in its own commit, whichever release
-- begins the round.
-- allow trigger: it removes what the previous release does not know
create trigger customer_erasures_remove_notes after insert or update of round on customer_erasures
    for each row execute function remove_notes_of_erased();
