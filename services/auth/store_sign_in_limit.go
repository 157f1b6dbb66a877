package auth

const (
	// The row is there and locked afterwards, whoever comes first.
	lockFailuresSQL = `insert into sign_in_failures as f (subject, failures, last_at) values ($1, 0, $2)
		on conflict (subject) do update set failures = case when f.last_at < $3 then 0 else f.failures end
		returning failures, last_at`

	countFailureSQL = `update sign_in_failures set failures = failures + 1, last_at = $2 where subject = $1`

	forgetFailuresSQL = `delete from sign_in_failures where subject = $1`

	giveBackSQL = `update sign_in_failures set failures = greatest(failures - 1, 0) where subject = $1`

	pruneFailuresSQL = `delete from sign_in_failures where last_at < $1`
)
