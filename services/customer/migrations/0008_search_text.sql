-- +goose Up

-- Both extensions are trusted: the owner of a database may create them.
create extension if not exists unaccent schema public;
create extension if not exists pg_trgm schema public;
create extension if not exists btree_gin schema public;

-- fold returns a text as a search compares it: without accents, apostrophes and
-- case, with single letters written out (ß is ss, ø is o, æ is ae), and with one
-- space for every run of spaces, hyphens and commas. A full stop at the end of a word
-- goes too. Stored texts and queries are folded by this function alone. The letters
-- that translate lists are Greek and Cyrillic capitals, which lower leaves as they
-- are in a database with the character type C.
-- +goose StatementBegin
create function fold(input text) returns text
    language sql immutable strict parallel safe
    return btrim(regexp_replace(regexp_replace(translate(lower(translate(
        public.unaccent('public.unaccent'::regdictionary, normalize(regexp_replace(
            normalize(translate(input, '''’‘‛ʼʻʽʹ`´′＇', ''), NFKD),
            '[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]', '', 'g'), NFKC)),
        'ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩАБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯЄІЇЈЉЊЋЂЏЅҐ',
        'αβγδεζηθικλμνξοπρστυφχψωабвгдежзийклмнопрстуфхцчшщъыьэюяєіїјљњћђџѕґ') collate "C"),
        'ς''’`', 'σ'), '[\s\u00a0,‐‑‒–—―−-]+', ' ', 'g'), '[.]+( |$)', '\1', 'g'));
-- +goose StatementEnd

-- search_text is all that a search for a customer looks in, between spaces: the
-- displayed name, the address, and the digits of the telephone number as it is
-- written and within its country.
create function search_text(first_name text, last_name text, email text, mobile text) returns text
    language sql immutable parallel safe
    return ' ' || fold(first_name || ' ' || last_name) || ' ' || fold(email)
        || coalesce(' ' || written_number(mobile), '') || coalesce(' ' || national_number(mobile), '') || ' ';

alter table customers add column search text collate "C";

-- +goose StatementBegin
create function keep_search_text() returns trigger
    language plpgsql as $$
begin
    new.search := search_text(new.first_name, new.last_name, new.email, new.mobile);
    return new;
end
$$;
-- +goose StatementEnd

-- A trigger keeps it, so that the previous release keeps it too. The next migration
-- fills in customers who exist already.
-- allow trigger: it writes only the new column
create trigger customers_search_text before insert or update of first_name, last_name, email, mobile on customers
    for each row execute function keep_search_text();

-- Row-level security keeps the service's role from using a trigram index: PostgreSQL
-- checks the policy before it calls a function that could reveal a row, and the
-- operators of pg_trgm are such functions. These two functions run as the owner, to
-- whom the policy does not apply, and confine themselves to the transaction's
-- company. They return identifiers alone; the service reads the customers under the
-- policy.

-- find_customers returns up to most customers whose search text has all patterns, but
-- not all of those in excluded, if there are any.
-- +goose StatementBegin
create function find_customers(patterns text[], excluded text[], most integer) returns setof uuid
    language plpgsql stable security definer parallel safe rows 1000
    set search_path = public, pg_temp
    set plan_cache_mode = force_custom_plan set enable_seqscan = off as $$
begin
    return query select c.id from customers c
        where c.company_id = app_company() and c.deleted_at is null and c.search is not null
            and c.search like patterns[1] and c.search like coalesce(patterns[2], '%') and c.search like coalesce(patterns[3], '%')
            and c.search like all (patterns)
            and (cardinality(excluded) = 0 or not c.search like all (excluded))
        limit most;
end
$$;
-- +goose StatementEnd

-- find_customers_with_any returns up to most customers whose search text has one of
-- the alternatives and all other patterns.
-- +goose StatementBegin
create function find_customers_with_any(alternatives text[], patterns text[], most integer) returns setof uuid
    language plpgsql stable security definer parallel safe rows 1000
    set search_path = public, pg_temp
    set plan_cache_mode = force_custom_plan set enable_seqscan = off as $$
begin
    return query select distinct found.id from unnest(alternatives) as a(pattern),
        lateral (select c.id from customers c
            where c.company_id = app_company() and c.deleted_at is null and c.search is not null
                and c.search like a.pattern and c.search like all (patterns) limit most) found
        limit most;
end
$$;
-- +goose StatementEnd
