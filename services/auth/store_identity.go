package auth

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// generationSQL needs only an identifier, because identifiers are unique across the tables.
const generationSQL = `select coalesce(max(generation), 0) from (
	select generation from credentials where id = $1 union all select generation from administrators where id = $1
	union all select generation from publishable_keys where id = $1) g`

// generation returns the generation of a holder of tokens; 0: there is none.
func (s *store) generation(ctx context.Context, holder id.UUID) (int64, error) {
	return pg.One[int64](ctx, s.DB, pg.Lookup(), generationSQL, holder)
}

const (
	raiseCredentialsSQL = `update credentials c set generation = w.generation, revoked_at = $3
		from unnest($1::uuid[], $2::bigint[]) w(id, generation)
		where c.id = w.id and c.generation < w.generation returning c.company_id, c.id, w.generation`

	raiseAdministratorsSQL = `update administrators a set generation = w.generation, revoked_at = $3
		from unnest($1::uuid[], $2::bigint[]) w(id, generation)
		where a.id = w.id and a.generation < w.generation returning a.company_id, a.id, w.generation`

	raisePublishableKeysSQL = `update publishable_keys k set generation = w.generation, revoked_at = $3
		from unnest($1::uuid[], $2::bigint[]) w(id, generation)
		where k.id = w.id and k.generation < w.generation returning k.company_id, k.id, w.generation`
)

// raisedGeneration is a holder of tokens whose generation was raised.
type raisedGeneration struct {
	Company    id.Company `db:"company_id"`
	ID         id.UUID    `db:"id"`
	Generation int64      `db:"generation"`
}

// raiseGenerations raises the generations of the holders that have a lower one, and returns them.
// They count as revoked at now, so every start publishes them again for as long as earlier tokens
// may live.
func (s *store) raiseGenerations(ctx context.Context, tx *pg.Tx, holders []id.UUID, generations []int64, now time.Time) ([]raisedGeneration, error) {
	var raised []raisedGeneration
	for _, statement := range []string{raiseCredentialsSQL, raiseAdministratorsSQL, raisePublishableKeysSQL} {
		rows, err := tx.Query(ctx, statement, holders, generations, now)
		if err != nil {
			return nil, err
		}
		list, err := pgx.CollectRows(rows, pgx.RowToStructByName[raisedGeneration])
		if err != nil {
			return nil, err
		}
		raised = append(raised, list...)
	}
	return raised, nil
}
