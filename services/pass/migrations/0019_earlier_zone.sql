-- +goose NO TRANSACTION
-- +goose Up

-- The time zone that the company had when this migration ran, or when the copy was made if that was later. Rows
-- without a day have their day in it, so that a change of the zone does not move them to another day.
alter table companies add column if not exists earlier_zone text;

-- +goose StatementBegin
create or replace function companies_earlier_zone() returns trigger
    language plpgsql as $$
begin
    new.earlier_zone := new.timezone;
    return new;
end
$$;
-- +goose StatementEnd

-- allow trigger: it only fills a column that the previous release does not have
create or replace trigger companies_earlier_zone before insert on companies for each row execute function companies_earlier_zone();

-- allow backfill: there is one row for each company, and those that have the zone are skipped
update companies set earlier_zone = timezone where earlier_zone is null;

-- earlier_zone returns the earlier zone of a company; '': there is no copy of the company.
-- +goose StatementBegin
create or replace function earlier_zone(company uuid) returns text
    language sql stable as $$
    select coalesce((select c.earlier_zone from companies c where c.company_id = company), '')
$$;
-- +goose StatementEnd
