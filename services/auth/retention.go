package auth

import (
	"context"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// retainEvery is how often what was kept long enough is deleted, in any replica.
const retainEvery = time.Hour

const (
	// The zero company has the lines that concern the whole installation.
	auditedSQL = `select company_id from companies union all select '00000000-0000-0000-0000-000000000000'`

	cutAuditSQL = `select cut_audit_log($1, $2, $3)`

	pruneInvitationsSQL = `delete from invitations where coalesce(accepted_at, revoked_at, expires_at) < $1`
)

// cutBatch keeps each delete short.
const cutBatch = 5000

func (s *Server) retainOnce(ctx context.Context, kept Retention) error {
	now := s.instant()
	companies, err := pg.Rows[id.Company](ctx, s.store.db, pg.AllCompanies(), auditedSQL)
	if err != nil {
		return err
	}
	for _, company := range companies {
		for n := int64(cutBatch); n == cutBatch; {
			err := s.store.inTx(ctx, id.Company{}, func(ctx context.Context, tx *pg.Tx) error {
				return tx.QueryRow(ctx, cutAuditSQL, zeroable(company), now.Add(-kept.Audit), cutBatch).Scan(&n)
			})
			if err != nil {
				return err
			}
		}
	}
	return s.store.inTx(ctx, id.Company{}, func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, pruneInvitationsSQL, now.Add(-kept.Invitations))
		return err
	})
}
