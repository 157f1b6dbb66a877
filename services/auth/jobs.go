package auth

import (
	"context"
	"errors"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// sweepEvery is how often ended sessions, forgotten failures and links of the past
// are deleted. None of them counts before that either.
const sweepEvery = 10 * time.Minute

// sweepOnce deletes what has served its time.
func (s *Server) sweepOnce(ctx context.Context) error {
	now := s.instant()
	return s.store.inTx(ctx, id.Company{}, func(ctx context.Context, tx *pg.Tx) error {
		_, sessions := tx.Exec(ctx, pruneSessionsSQL, now.Add(-s.sessions.idle), now)
		_, failures := tx.Exec(ctx, pruneFailuresSQL, now.Add(-failuresForgotten))
		pendings := s.sweepPendings(ctx, tx, now)
		_, resets := tx.Exec(ctx, pruneResetsSQL, now.Add(-resetKept))
		return errors.Join(sessions, failures, pendings, resets)
	})
}

// sweepBatch is how many abandoned sign-ins are told to the audit log at once.
const sweepBatch = 500

func (s *Server) sweepPendings(ctx context.Context, tx *pg.Tx, now time.Time) error {
	for {
		if n, err := s.store.abandon(ctx, tx, now, prunePendingsSQL, now, sweepBatch); err != nil || n < sweepBatch {
			return err
		}
	}
}

// reseal encrypts the secrets of TOTP anew that were encrypted with a former
// master key, so that the former one can be taken away after a start.
func (s *Server) reseal(ctx context.Context) error {
	for after := (id.UUID{}); ; {
		list, err := pg.Rows[Administrator](ctx, s.store.db, pg.AllCompanies(), sealedTotpSQL, [16]byte(after))
		if err != nil || len(list) == 0 {
			return pg.Fault(err, nil)
		}
		for _, a := range list {
			if err := s.resealOne(ctx, a); err != nil {
				return err
			}
		}
		after = list[len(list)-1].ID.UUID()
	}
}

func (s *Server) resealOne(ctx context.Context, a Administrator) error {
	if !s.sealer.IsStale(a.TotpSecret) {
		return nil
	}
	secret, err := s.sealer.Open(a.TotpSecret, totpContext(a.ID))
	if err != nil {
		// One that cannot be read must not keep everybody from signing in.
		s.log.Error("a TOTP secret cannot be decrypted; reset the administrator's password with TOTP off", "administrator", a.ID.String(), "error", err.Error())
		return nil
	}
	return s.store.inTx(ctx, a.Company, func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, resealTotpSQL, a.Company, a.ID, a.TotpSecret, s.sealer.Seal(secret, totpContext(a.ID)))
		return err
	})
}

// retainEvery is how often what was kept long enough is deleted, in any replica.
const retainEvery = time.Hour

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
