-- +goose Up

-- A company that comes back keeps what its mark said before: the cell that it had left for. If the move back is
-- aborted, the mark says it again, so that tokens and requests of the earlier stay are still refused.
alter table company_moves add column if not exists left_for text;
