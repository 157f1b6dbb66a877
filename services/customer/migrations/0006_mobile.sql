-- +goose Up

-- Customers are found by the beginning of their phone number, with or without the country
-- code, and by its end, regardless of the grouping. As for names, the keys are columns
-- and are compared byte by byte.

-- The digits of a number, without the 00 that stands for + and without a (0).
create function written_number(number text) returns text
    language sql immutable parallel safe
    return nullif(regexp_replace(translate(replace(number, '(0)', ''), translate(number, '0123456789', ''), ''), '^00', ''), '');

-- The number without prefixes that depend on the country: a country code after + or 00,
-- and a leading 0. "+44 (0)7700 900123" and "07700 900123" are both 7700900123. The
-- alternatives exclude each other; they are the world's country codes, by length.
create function national_number(number text) returns text
    language sql immutable parallel safe
    return nullif(ltrim(translate(regexp_replace(translate(number, translate(number, '0123456789+', ''), ''),
        '^([+]|00)(1|7|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|(2[1-689]|3[578]|42|5[09]|6[789]|8[035789]|9[679])[0-9])', ''),
        '+', ''), '0'), '');

alter table customers
    add column mobile_digits text collate "C",
    add column mobile_key text collate "C",
    add column mobile_end text collate "C";

-- +goose StatementBegin
create function keep_mobile_keys() returns trigger
    language plpgsql as $$
begin
    new.mobile_digits := written_number(new.mobile);
    new.mobile_key := national_number(new.mobile);
    new.mobile_end := reverse(new.mobile_key);
    return new;
end
$$;
-- +goose StatementEnd

-- A trigger fills these columns. Generated columns would rewrite the table, which nobody could
-- read during that time. The next migration fills in existing customers.
-- allow trigger: what it writes is in columns of its own
create trigger customers_mobile_keys before insert or update of mobile on customers
    for each row execute function keep_mobile_keys();
