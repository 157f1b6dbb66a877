-- +goose Up

-- Customers are found by the beginning of their telephone number, as it is written
-- or within its country, and by its end, however its digits are grouped. As with
-- names, the keys are columns and are compared byte by byte.

-- The digits of a number, without the 00 that stands for + and without a (0).
create function written_number(number text) returns text
    language sql immutable parallel safe
    return nullif(regexp_replace(translate(replace(number, '(0)', ''), translate(number, '0123456789', ''), ''), '^00', ''), '');

-- The number without what stands before it in one country and not in another: a
-- country's code after + or 00, and a leading 0. "+44 (0)7700 900123" and
-- "07700 900123" are both 7700900123. The alternatives exclude each other, and
-- are the codes of the world by their length.
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

-- A trigger keeps them, and they are not generated, because those would rewrite the
-- table while nobody can read it. Who was there before is filled in next.
-- allow trigger: what it writes is in columns of its own
create trigger customers_mobile_keys before insert or update of mobile on customers
    for each row execute function keep_mobile_keys();
