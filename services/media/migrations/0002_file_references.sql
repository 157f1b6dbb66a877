-- +goose NO TRANSACTION
-- +goose Up

-- Deleting a file looks for media items that name it.
-- An interrupted build leaves an invalid index, which must be built again.
drop index concurrently if exists media_items_of_file;
create index concurrently if not exists media_items_of_file on media_items (company_id, file_id) where file_id is not null;
drop index concurrently if exists media_items_of_cover;
create index concurrently if not exists media_items_of_cover on media_items (company_id, cover_id) where cover_id is not null;
