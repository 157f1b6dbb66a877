-- +goose Up

-- keep_partitions waits at most a second for a lock, because everything else would wait behind it. A backup holds
-- locks for as long as its dump takes. The next call tries again.
alter function keep_partitions() set lock_timeout = '1s';
