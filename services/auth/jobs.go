package auth

import (
	"context"
	"errors"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// sweepEvery is how often ended sessions, old failures and expired links are deleted. They have no
// effect even before they are deleted.
const sweepEvery = 10 * time.Minute

// sweepOnce deletes everything that has expired.
func (s *Server) sweepOnce(ctx context.Context) error {
	now := s.instant()
	return s.store.Write(ctx, id.Company{}, func(ctx context.Context, tx *pg.Tx) error {
		return errors.Join(
			s.store.pruneSessions(ctx, tx, now.Add(-s.sessions.idle), now),
			s.store.pruneFailures(ctx, tx, now.Add(-failuresForgotten)),
			s.store.prunePublishableKeys(ctx, tx, now.Add(-longestToken-clockSkew)),
			s.sweepPendings(ctx, tx, now),
			s.store.pruneResets(ctx, tx, now.Add(-resetKept)))
	})
}

// sweepBatch is the number of abandoned sign-ins that are added to the audit log at a time.
const sweepBatch = 500

func (s *Server) sweepPendings(ctx context.Context, tx *pg.Tx, now time.Time) error {
	for {
		if n, err := s.store.abandonExpired(ctx, tx, now, sweepBatch); err != nil || n < sweepBatch {
			return err
		}
	}
}

// reseal encrypts the TOTP secrets that are encrypted with a former master key again, with the
// current key. The former key can be removed from the settings after a start.
func (s *Server) reseal(ctx context.Context) error {
	for after := (id.Administrator{}); ; {
		list, err := s.store.sealedAdministrators(ctx, after)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, a := range list {
			if err := s.resealOne(ctx, a); err != nil {
				return err
			}
		}
		after = list[len(list)-1].ID
	}
}

func (s *Server) resealOne(ctx context.Context, a Administrator) error {
	if !s.sealer.IsStale(a.TotpSecret) {
		return nil
	}
	secret, err := s.sealer.Open(a.TotpSecret, totpContext(a.ID))
	if err != nil {
		// A secret that cannot be read must not prevent the start.
		s.log.Error("a TOTP secret cannot be decrypted; reset the administrator's password and turn TOTP off", "administrator", a.ID.String(), "error", err.Error())
		return nil
	}
	return s.store.Write(ctx, a.Company, func(ctx context.Context, tx *pg.Tx) error {
		return s.store.replaceTotpSecret(ctx, tx, a, s.sealer.Seal(secret, totpContext(a.ID)))
	})
}

// retainEvery is how often one of the replicas deletes audit entries, logged requests and invitations
// whose retention is over.
const retainEvery = time.Hour

// retainBatch keeps each delete short.
const retainBatch = 5000

// retainOnce deletes the audit entries, logged requests and invitations whose retention is over.
func (s *Server) retainOnce(ctx context.Context, kept Retention) error {
	now := s.instant()
	return errors.Join(
		s.cutAuditLogs(ctx, now.Add(-kept.Audit), s.store.cutAuditLog),
		s.cutAuditLogs(ctx, now.Add(-kept.Changes), s.store.cutChanges),
		s.inBatches(ctx, func(ctx context.Context, tx *pg.Tx) (int, error) {
			return s.store.pruneRequests(ctx, tx, now.Add(-kept.Requests), retainBatch)
		}),
		s.store.Write(ctx, id.Company{}, func(ctx context.Context, tx *pg.Tx) error {
			return s.store.pruneInvitations(ctx, tx, now.Add(-kept.Invitations))
		}))
}

// cutAuditLogs deletes old entries of every company, at most retainBatch with each call of cut.
func (s *Server) cutAuditLogs(ctx context.Context, before time.Time,
	cut func(ctx context.Context, tx *pg.Tx, company id.Company, before time.Time, limit int) (int, error)) error {
	companies, err := s.store.companiesOfAuditLog(ctx)
	if err != nil {
		return err
	}
	var faults []error
	for _, company := range companies {
		faults = append(faults, s.inBatches(ctx, func(ctx context.Context, tx *pg.Tx) (int, error) {
			return cut(ctx, tx, company, before, retainBatch)
		}))
	}
	return errors.Join(faults...)
}

// inBatches calls remove, each time in a transaction of its own, until it deletes less than a batch.
func (s *Server) inBatches(ctx context.Context, remove func(ctx context.Context, tx *pg.Tx) (int, error)) error {
	for n := retainBatch; n == retainBatch; {
		err := s.store.Write(ctx, id.Company{}, func(ctx context.Context, tx *pg.Tx) (err error) {
			n, err = remove(ctx, tx)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
