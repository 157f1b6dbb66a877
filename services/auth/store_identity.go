package auth

const (
	// The identifiers of credentials and administrators never meet.
	generationSQL = `select coalesce(max(generation), 0) from (
		select generation from credentials where id = $1 union all select generation from administrators where id = $1) g`

	adoptCredentialsSQL = `update credentials c set generation = w.generation, revoked_at = $3
		from unnest($1::uuid[], $2::bigint[]) w(id, generation)
		where c.id = w.id and c.generation < w.generation returning c.company_id, c.id, w.generation`

	adoptAdministratorsSQL = `update administrators a set generation = w.generation, revoked_at = $3
		from unnest($1::uuid[], $2::bigint[]) w(id, generation)
		where a.id = w.id and a.generation < w.generation returning a.company_id, a.id, w.generation`
)
